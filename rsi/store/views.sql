-- What analysts and stages read. `…_until(n)` sees only what was ingested up to batch n: a night's input.

create or replace macro traces_until(n) as table
select
    trace_uid,
    any_value(namespace order by part_uid) as namespace,
    any_value(format order by part_uid) as format,
    any_value(native_id order by part_uid) as native_id,
    any_value(conversation order by start_ns, part_uid) as conversation,
    any_value(task_id order by part_uid) as task_id,
    any_value(trial order by part_uid) as trial,
    any_value(agent order by start_ns, part_uid) as agent,
    any_value(model order by start_ns, part_uid) as model,
    any_value(version order by start_ns, part_uid) as version,
    any_value(route order by start_ns, part_uid) as route,
    any_value(origin order by part_uid) as origin,
    min(start_ns) as start_ns,
    max(end_ns) as end_ns,
    make_timestamp(min(start_ns) // 1000) as start_ts,
    make_timestamp(max(end_ns) // 1000) as end_ts,
    any_value(time_state order by start_ns is null, part_uid) as time_state,
    any_value(input_text order by start_ns, part_uid) as input_text,
    any_value(output_text order by coalesce(end_ns, start_ns) desc, part_uid) as output_text,
    any_value(error order by part_uid) as error,
    any_value(expected order by part_uid) as expected,
    any_value(metadata order by part_uid) as metadata,
    any_value(split order by ordinal, part_uid) as split,
    count(*) as parts,
    min(ordinal) as ordinal,
    any_value(file_id order by ordinal, part_uid) as file_id,
    any_value(line order by ordinal, part_uid) as line,
    any_value(byte_offset order by ordinal, part_uid) as byte_offset
from trace_parts
where ordinal <= n
group by trace_uid;

create or replace view traces as
from traces_until(9223372036854775807);

-- A part with a result is preferred over one without, one with arguments over one without.
create or replace macro tool_calls_until(n) as table
select
    call_uid,
    any_value(trace_uid order by part_uid) as trace_uid,
    min(seq) as seq,
    any_value(native_id order by part_uid) as native_id,
    any_value(name order by part_uid) as name,
    any_value(arguments order by part_uid) as arguments,
    any_value(arguments_state order by arguments is null, part_uid) as arguments_state,
    any_value(result order by status = 'no_result', status = 'ok', part_uid) as result,
    any_value(status order by status = 'no_result', status = 'ok', part_uid) as status,
    min(ordinal) as ordinal,
    any_value(file_id order by ordinal, part_uid) as file_id,
    any_value(line order by ordinal, part_uid) as line,
    any_value(byte_offset order by ordinal, part_uid) as byte_offset
from tool_call_parts
where ordinal <= n
group by call_uid;

create or replace view tool_calls as
from tool_calls_until(9223372036854775807);

-- One row a trace. The first rule that has something to say decides: a reward (the whole of it), the route
-- (its score, else its correction against the route taken), feedback, any other score, an error of the run.
-- Several scores under one rule: the lowest stands.
create or replace macro outcomes_until(n) as table
with judged as (
    select
        s.trace_uid,
        case
            when s.name = 'reward' or suffix(s.name, '_reward') then 1
            when s.name = 'route' then 2
            when s.name = 'feedback' then 3
            else 4
        end as place,
        s.name as score_name,
        coalesce(
            s.value,
            case when s.name = 'route' then (s.correction = coalesce(t.route, 'none'))::int end
        ) as value
    from scores s
    join traces_until(n) t using (trace_uid)
    where s.ordinal <= n
),
decided as (
    select
        trace_uid,
        min(place) as place,
        arg_min({'score_name': score_name, 'value': value}, (place, value, score_name)) as said
    from judged
    where value is not null
    group by trace_uid
)
select
    t.trace_uid,
    case
        when d.place = 1 then if(d.said.value >= 0.999, 'pass', 'fail')
        when d.place is not null then if(d.said.value >= 0.5, 'pass', 'fail')
        when t.error is not null then 'fail'
        else 'unknown'
    end as outcome,
    case
        when d.place = 1 then 'reward score'
        when d.place = 2 then 'route score'
        when d.place = 3 then 'feedback score'
        when d.place = 4 then 'other score'
        when t.error is not null then 'error'
    end as rule,
    d.said.score_name as score_name,
    d.said.value as value
from traces_until(n) t
left join decided d using (trace_uid);

create or replace view v_outcomes as
from outcomes_until(9223372036854775807);

create or replace view v_failures as
select
    o.trace_uid, o.rule, o.score_name, o.value, t.origin, t.version, t.route, t.agent, t.task_id, t.trial, t.start_ts,
    t.input_text, t.output_text, t.error
from v_outcomes o
join traces t using (trace_uid)
where o.outcome = 'fail';

create or replace view v_llm_calls as
select
    s.span_uid, s.trace_uid, s.seq, s.name, s.model, s.status, s.error, s.input_tokens, s.output_tokens, s.start_ts,
    (s.end_ns - s.start_ns) / 1e6 as ms, t.agent, t.version, t.origin
from spans s
left join traces t using (trace_uid)
where s.kind = 'llm';

create or replace view v_tool_calls as
select
    c.call_uid, c.trace_uid, c.seq, c.name, c.status, c.arguments, c.arguments_state, c.result, t.agent, t.version,
    t.task_id, t.trial, o.outcome
from tool_calls c
left join traces t using (trace_uid)
left join v_outcomes o using (trace_uid);

create or replace view v_conversation as
select trace_uid, seq, role, content, content_state, tool_call_id
from messages
order by trace_uid, seq, message_uid;

-- One row a file, also for files that could not be opened (their counts are null).
create or replace view v_ingest_health as
with refused as (
    select file_id, any_value(uri) as uri, sum(n)::bigint as refusals, string_agg(reason || ' ' || n, ', ' order by reason) as reasons
    from (select file_id, uri, reason, count(*) as n from quarantine group by all)
    group by file_id
)
select
    coalesce(f.uri, r.uri) as uri, f.ingested_at, f.bytes, f.read, f.loaded, f.duplicates, f.quarantined, f.heldout,
    coalesce(r.refusals, 0) as refusals, r.reasons
from ingest_files f
full join refused r using (file_id);
