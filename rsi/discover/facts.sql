-- One row a trace: what discover knows of it. Texts are read of failed traces only.
with chosen as materialized (
    select t.*, o.outcome, o.score_name
    from traces_until($until) t
    join outcomes_until($until) o using (trace_uid)
    where list_contains($origins, t.origin)
),
said as (
    select
        trace_uid,
        list({
            'name': name, 'value': value, 'correction': correction, 'source': source, 'basis': basis,
            'ts_ns': ts_ns, 'score_uid': score_uid
        } order by score_uid) as scores
    from scores
    where ordinal <= $until
    group by trace_uid
),
done as (
    select
        trace_uid,
        list({
            'name': name,
            'arguments': arguments,
            'status': status,
            'error': if(status = 'error', left(result, 400), null),
            'call_uid': call_uid,
            'at': (at_ns, seq),
            'state': arguments_state,
            'answer': if(result is null or result = '', null, hash(result)),
            'by_user': requestor = 'user'
        } order by at_ns, seq, call_uid) as calls
    from tool_calls_until($until)
    group by trace_uid
),
heard as (
    select
        trace_uid,
        count(*) as messages,
        arg_max(role, (at_ns, seq)) as last_role,
        arg_min(message_uid, (at_ns, seq)) filter (
            role = 'assistant' and regexp_matches(content, '^\s*(<tool_call>|<function=|<\|python_tag\|>|\[TOOL_CALLS\])')
        ) as leaked
    from messages_until($until)
    group by trace_uid
),
told as (
    select
        trace_uid,
        list({
            'role': m.role, 'at': (m.at_ns, m.seq), 'text': left(m.content, 4000), 'message_uid': m.message_uid
        } order by m.at_ns, m.seq, m.message_uid) as turns
    from messages_until($until) m
    join chosen using (trace_uid)
    where chosen.outcome = 'fail'
    group by trace_uid
),
spent as (
    select
        trace_uid,
        sum(cost_usd) filter (kind = 'llm') as cost_usd,
        sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)) filter (kind = 'llm')::bigint as tokens,
        arg_min(span_uid, (start_ns, span_uid)) filter (
            kind = 'llm' and lower(finish_reason) in ('length', 'max_tokens', 'max_output_tokens', 'model_context_window_exceeded')
        ) as cut,
        list({'name': name, 'seconds': (end_ns - start_ns) / 1e9, 'span_uid': span_uid} order by span_uid) filter (
            kind = 'tool' and end_ns >= start_ns
        ) as tools,
        list({'name': name, 'error': left(error, 400), 'span_uid': span_uid} order by span_uid) filter (
            kind = 'guardrail' and status = 'error'
        ) as stopped
    from spans_until($until)
    group by trace_uid
)
select
    c.trace_uid, c.version, c.route, c.start_ns, c.error, c.expected, c.outcome, c.score_name as decided_by, s.scores,
    d.calls,
    if(c.task_id is null, null, concat_ws('/', c.namespace, c.format, c.task_id)) as task,
    c.trial, c.agent, c.model, c.conversation,
    if(c.end_ns >= c.start_ns, (c.end_ns - c.start_ns) / 1e9, null) as seconds,
    p.cost_usd, nullif(p.tokens, 0) as tokens, coalesce(h.messages, 0) as messages, h.last_role, h.leaked, p.cut,
    p.tools as spans, p.stopped, try_cast(c.metadata as json) -> '$.tools' as offered,
    if(c.outcome = 'fail', try_cast(c.metadata as json) ->> '$.instruction', null) as instruction, u.turns
from chosen c
left join said s using (trace_uid)
left join done d using (trace_uid)
left join heard h using (trace_uid)
left join told u using (trace_uid)
left join spent p using (trace_uid)
