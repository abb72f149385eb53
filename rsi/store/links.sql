-- Where each span hangs, and whether it tells what another span tells already.
-- link_state: root, linked, orphan (its parent never came) or cycle (its ancestors never reach a root).
-- dup_of: the span that is counted in its place. A call of a model is told again by a span below it (rule nested)
-- unless their output tokens differ (where only the one below knows them, that is the one counted), by another with the same response id (rule response), or by another library
-- at the same time with the same model and tokens (rule overlap).
create or replace view span_links as
with recursive near as (
    select
        s.span_uid, s.trace_uid, s.native_parent_id, s.kind, s.start_ns, s.end_ns, s.model, s.response_id,
        s.instrumentation, s.input_tokens, s.output_tokens, p.span_uid as parent_uid
    from spans s
    left join spans p on p.trace_uid = s.trace_uid and p.native_id = s.native_parent_id
),
tree as (
    select span_uid, 0 as depth, if(kind = 'llm', span_uid, null) as top, output_tokens as top_tokens, null::varchar as over
    from near
    where parent_uid is null
    union all
    select
        n.span_uid,
        t.depth + 1,
        case
            when n.kind in ('tool', 'agent') then null
            when n.kind = 'llm' and (t.top is null or (t.top_tokens is null and n.output_tokens is not null)) then n.span_uid
            else t.top
        end,
        if(n.kind = 'llm' and (t.top is null or t.top_tokens is null), n.output_tokens, t.top_tokens),
        if(n.kind = 'llm' and t.top_tokens is null and n.output_tokens is not null, t.top, null)
    from tree t
    join near n on n.parent_uid = t.span_uid
),
inner_calls as (
    select over as span_uid, arg_min(span_uid, {'at': start_ns, 'uid': span_uid}) as inner_uid
    from tree
    join near using (span_uid)
    where over is not null
    group by over
),
calls as (
    select n.*, if(t.top <> n.span_uid and coalesce(t.top_tokens = n.output_tokens, true), t.top, i.inner_uid) as nested
    from near n
    left join tree t using (span_uid)
    left join inner_calls i using (span_uid)
    where n.kind = 'llm'
),
told as (
    select
        span_uid,
        nested,
        if(
            response_id is null, null,
            first_value(span_uid) over (partition by response_id, output_tokens order by nested is not null, start_ns, span_uid)
        ) as same_response,
        if(
            input_tokens is null or output_tokens is null
                or lag(end_ns) over same < start_ns or lag(instrumentation) over same is not distinct from instrumentation,
            null,
            lag(span_uid) over same
        ) as overlapped
    from calls
    window same as (partition by trace_uid, model, input_tokens, output_tokens order by nested is not null, start_ns, span_uid)
)
select
    n.span_uid,
    n.trace_uid,
    n.parent_uid,
    t.depth,
    case
        when n.native_parent_id is null then 'root'
        when n.parent_uid is null then 'orphan'
        when t.depth is null then 'cycle'
        else 'linked'
    end as link_state,
    coalesce(d.nested, nullif(d.same_response, n.span_uid), d.overlapped) as dup_of,
    case
        when d.nested is not null then 'nested'
        when d.same_response <> n.span_uid then 'response'
        when d.overlapped is not null then 'overlap'
    end as dup_rule
from near n
left join tree t using (span_uid)
left join told d using (span_uid);
