-- Questions that analysts ask, over the tables of `derived.sql`, in words that DuckDB 1.5 knows as well. Columns are documented in `comments.sql`.

create or replace view v_outcomes as
from outcomes;

create or replace view v_failures as
select
    o.trace_uid, o.rule, o.score_name, o.value, t.origin, t.version, t.route, t.agent, t.task_id, t.trial, t.start_ts,
    t.input_text, t.output_text, t.error
from v_outcomes o
join traces t using (trace_uid)
where o.outcome = 'fail';

-- Calls of models, each once, whoever recorded them.
create or replace view v_llm_calls as
select
    s.span_uid, s.trace_uid, s.name, s.provider, coalesce(s.model, t.model) as model, s.status, s.error, s.finish_reason, s.input_tokens, s.output_tokens,
    s.cache_read_tokens, s.cache_write_tokens, s.reasoning_tokens, s.cost_usd, s.start_ts,
    (s.end_ns - s.start_ns) / 1e6 as ms, s.instrumentation, s.response_id, t.agent, t.version, t.route, t.origin, t.conversation
from spans s
join span_links l on l.span_uid = s.span_uid and l.dup_of is null
left join traces t on t.trace_uid = s.trace_uid
where s.kind = 'llm';

-- Calls of tools, each once: a resumed session tells the calls of the one before it again, under the same ids.
create or replace view v_tool_calls as
with told as (
    from tool_calls
    qualify
        trace_uid = first_value(trace_uid) over (
            partition by
                -- Other producers' ids come again in calls that have nothing to do with each other.
                case when starts_with(native_id, 'toolu_') then native_id else call_uid end, name, arguments
            order by at_ns, trace_uid
        )
)
select
    c.call_uid, c.trace_uid, c.seq, c.name, c.requestor, c.status, c.arguments, c.arguments_state, c.arguments_raw, c.result,
    t.agent, t.version, t.task_id, t.trial, t.start_ts, o.outcome
from told c
left join traces t using (trace_uid)
left join outcomes o using (trace_uid);

-- `seq` counts from 0 in the order in which things were said.
create or replace view v_conversation as
select
    trace_uid, row_number() over (partition by trace_uid order by at_ns, seq, message_uid) - 1 as seq, role, author, content,
    content_state, reasoning, tool_call_id, message_uid
from messages;

create or replace view v_trace_tree as
select
    s.trace_uid, s.span_uid, l.parent_uid, l.depth, l.link_state, s.kind, s.name, s.status, s.error, s.model, s.start_ts,
    (s.end_ns - s.start_ns) / 1e6 as ms, s.input_tokens, s.output_tokens, l.dup_of
from spans s
join span_links l using (span_uid);

-- Tokens and cost by version and day; each call once.
create or replace view v_usage as
select
    version, start_ts::date as day, origin, provider, model, count(*) as calls, count(*) filter (status = 'error') as errors,
    sum(input_tokens)::bigint as input_tokens, sum(output_tokens)::bigint as output_tokens,
    sum(cache_read_tokens)::bigint as cache_read_tokens, sum(reasoning_tokens)::bigint as reasoning_tokens,
    sum(cost_usd) as cost_usd, count(distinct trace_uid) as traces, avg(ms) as mean_ms
from v_llm_calls
group by all;

create or replace view v_feedback as
select
    s.trace_uid, s.name, s.value, s.said, s.correction, s.source, s.annotator, s.basis, s.target, s.comment,
    make_timestamp(s.ts_ns // 1000) as ts, t.version, t.route, t.agent, t.conversation, t.input_text, t.output_text
from scores s
left join traces t using (trace_uid)
where s.source in ('human', 'end_user', 'label');

-- What was recorded more than once, and what is counted in its place.
create or replace view v_duplicates as
select
    l.trace_uid, l.span_uid, l.dup_of, l.dup_rule, s.name, s.instrumentation, k.name as kept_name,
    k.instrumentation as kept_instrumentation, s.input_tokens, s.output_tokens
from span_links l
join spans s using (span_uid)
left join spans k on k.span_uid = l.dup_of
where l.dup_of is not null;

-- What no reader could take and nobody has settled since.
create or replace view v_quarantine as
from quarantine anti join quarantine_settled using (quarantine_uid);

-- One row a file, also for files that could not be opened (their counts are null).
create or replace view v_ingest_health as
with refused as (
    select file_id, any_value(uri) as uri, sum(n)::bigint as refusals, string_agg(reason || ' ' || n, ', ' order by reason) as reasons
    from (select file_id, uri, reason, count(*) as n from v_quarantine group by all)
    group by file_id
)
select
    coalesce(f.uri, r.uri) as uri, f.ingested_at, f.bytes, f.read, f.loaded, f.duplicates, f.quarantined, f.heldout, f.redacted,
    coalesce(r.refusals, 0) as refusals, r.reasons
from ingest_files f
full join refused r using (file_id);
