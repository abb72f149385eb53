-- The trace tables as stages and analysts see them. A thing that came in one part is that part; of several parts
-- each column is taken from the first that knows it. `…_until(n)` sees only what was ingested up to batch n: a
-- night's input. The snapshot holds the views of this file as tables.

create or replace macro traces_until(n) as table
with several as (
    select trace_uid from trace_parts where ordinal <= n group by trace_uid having count(*) > 1
)
select
    trace_uid,
    namespace,
    format,
    native_id,
    conversation,
    user_ref,
    task_id,
    trial,
    agent,
    model,
    version,
    route,
    release,
    environment,
    origin,
    start_ns,
    end_ns,
    time_state,
    input_text,
    output_text,
    error,
    expected,
    metadata,
    split,
    make_timestamp(start_ns // 1000) as start_ts,
    make_timestamp(end_ns // 1000) as end_ts,
    1 as parts,
    ordinal,
    file_id,
    line,
    byte_offset
from trace_parts anti join several using (trace_uid)
where ordinal <= n
union all by name
select
    trace_uid,
    make_timestamp(min(start_ns) // 1000) as start_ts,
    make_timestamp(max(end_ns) // 1000) as end_ts,
    any_value(namespace order by part_uid) as namespace,
    any_value(format order by part_uid) as format,
    any_value(native_id order by part_uid) as native_id,
    any_value(conversation order by start_ns, part_uid) as conversation,
    any_value(user_ref order by start_ns, part_uid) as user_ref,
    any_value(task_id order by part_uid) as task_id,
    any_value(trial order by part_uid) as trial,
    any_value(agent order by start_ns, part_uid) as agent,
    any_value(model order by start_ns, part_uid) as model,
    any_value(version order by start_ns, part_uid) as version,
    any_value(route order by start_ns, part_uid) as route,
    any_value(release order by start_ns, part_uid) as release,
    any_value(environment order by start_ns, part_uid) as environment,
    any_value(origin order by ordinal, part_uid) as origin,
    min(start_ns) as start_ns,
    max(end_ns) as end_ns,
    any_value(time_state order by start_ns is null, part_uid) as time_state,
    any_value(input_text order by start_ns, part_uid) as input_text,
    any_value(output_text order by coalesce(end_ns, start_ns) desc, part_uid) as output_text,
    any_value(error order by part_uid) as error,
    any_value(expected order by part_uid) as expected,
    any_value(metadata order by length(metadata) desc, part_uid) as metadata,
    any_value(split order by ordinal, part_uid) as split,
    count(*) as parts,
    min(ordinal) as ordinal,
    any_value(file_id order by ordinal, part_uid) as file_id,
    any_value(line order by ordinal, part_uid) as line,
    any_value(byte_offset order by ordinal, part_uid) as byte_offset
from trace_parts semi join several using (trace_uid)
where ordinal <= n
group by trace_uid;

create or replace view traces as
from traces_until(9223372036854775807);

-- Streamed snapshots of one call share its id: the largest counts are those of the last.
create or replace macro spans_until(n) as table
with several as (
    select span_uid from span_parts where ordinal <= n group by span_uid having count(*) > 1
)
select
    span_uid,
    trace_uid,
    native_id,
    native_parent_id,
    kind,
    name,
    instrumentation,
    start_ns,
    end_ns,
    time_state,
    status,
    error,
    provider,
    model,
    response_id,
    finish_reason,
    input_tokens,
    output_tokens,
    cache_read_tokens,
    cache_write_tokens,
    reasoning_tokens,
    cost_usd,
    input_messages,
    output_messages,
    attributes,
    make_timestamp(start_ns // 1000) as start_ts,
    make_timestamp(end_ns // 1000) as end_ts,
    ordinal,
    file_id,
    line,
    byte_offset
from span_parts anti join several using (span_uid)
where ordinal <= n
union all by name
select
    span_uid,
    make_timestamp(min(start_ns) // 1000) as start_ts,
    make_timestamp(max(end_ns) // 1000) as end_ts,
    any_value(trace_uid order by start_ns, trace_uid) as trace_uid,
    any_value(native_id order by part_uid) as native_id,
    any_value(native_parent_id order by part_uid) as native_parent_id,
    any_value(kind order by kind = 'other', start_ns is null, part_uid) as kind,
    any_value(name order by name = kind, part_uid) as name,
    any_value(instrumentation order by part_uid) as instrumentation,
    min(start_ns) as start_ns,
    max(end_ns) as end_ns,
    any_value(time_state order by start_ns is null, part_uid) as time_state,
    any_value(status order by status = 'unset', status = 'ok', part_uid) as status,
    any_value(error order by part_uid) as error,
    any_value(provider order by part_uid) as provider,
    any_value(model order by part_uid) as model,
    any_value(response_id order by part_uid) as response_id,
    any_value(finish_reason order by end_ns desc, part_uid) as finish_reason,
    max(input_tokens) as input_tokens,
    max(output_tokens) as output_tokens,
    max(cache_read_tokens) as cache_read_tokens,
    max(cache_write_tokens) as cache_write_tokens,
    max(reasoning_tokens) as reasoning_tokens,
    max(cost_usd) as cost_usd,
    any_value(input_messages order by length(input_messages) desc, part_uid) as input_messages,
    any_value(output_messages order by length(output_messages) desc, part_uid) as output_messages,
    any_value(attributes order by length(attributes) desc, part_uid) as attributes,
    min(ordinal) as ordinal,
    any_value(file_id order by ordinal, part_uid) as file_id,
    any_value(line order by ordinal, part_uid) as line,
    any_value(byte_offset order by ordinal, part_uid) as byte_offset
from span_parts semi join several using (span_uid)
where ordinal <= n
group by span_uid;

create or replace view spans as
from spans_until(9223372036854775807);

-- The earliest place, the longest text and thought; what is equal in that is told apart by its content (`said`).
create or replace macro messages_until(n) as table
with several as (
    select message_uid from message_parts where ordinal <= n group by message_uid having count(*) > 1
)
select
    message_uid,
    trace_uid,
    at_ns,
    seq,
    role,
    author,
    content,
    content_state,
    reasoning,
    tool_call_id,
    ordinal,
    file_id,
    line,
    byte_offset
from message_parts anti join several using (message_uid)
where ordinal <= n
union all by name
select
    message_uid,
    min(trace_uid) as trace_uid,
    min(at_ns) as at_ns,
    min({'at_ns': at_ns, 'seq': seq}).seq as seq,
    min(role) as role,
    min(author) as author,
    arg_max(content, said) as content,
    arg_max(content_state, said) as content_state,
    arg_max(reasoning, thought) as reasoning,
    min(tool_call_id) as tool_call_id,
    min(ordinal) as ordinal,
    any_value(file_id order by ordinal, part_uid) as file_id,
    any_value(line order by ordinal, part_uid) as line,
    any_value(byte_offset order by ordinal, part_uid) as byte_offset
from message_parts semi join several using (message_uid)
where ordinal <= n
group by message_uid;

create or replace view messages as
from messages_until(9223372036854775807);

-- A part with a result is preferred over one without, one with arguments over one without.
create or replace macro tool_calls_until(n) as table
with several as (
    select call_uid from tool_call_parts where ordinal <= n group by call_uid having count(*) > 1
)
select
    call_uid,
    trace_uid,
    at_ns,
    seq,
    native_id,
    name,
    requestor,
    arguments,
    arguments_state,
    arguments_raw,
    result,
    status,
    ordinal,
    file_id,
    line,
    byte_offset
from tool_call_parts anti join several using (call_uid)
where ordinal <= n
union all by name
select
    call_uid,
    any_value(trace_uid order by part_uid) as trace_uid,
    min(at_ns) as at_ns,
    min({'at_ns': at_ns, 'seq': seq}).seq as seq,
    any_value(native_id order by part_uid) as native_id,
    any_value(name order by name = 'unnamed', part_uid) as name,
    any_value(requestor order by requestor = 'assistant', part_uid) as requestor,
    any_value(arguments order by part_uid) as arguments,
    any_value(arguments_state order by arguments is null, part_uid) as arguments_state,
    if(any_value(arguments order by part_uid) is null, any_value(arguments_raw order by part_uid), null) as arguments_raw,
    any_value(result order by status = 'no_result', status = 'ok', part_uid) as result,
    any_value(status order by status = 'no_result', status = 'ok', part_uid) as status,
    min(ordinal) as ordinal,
    any_value(file_id order by ordinal, part_uid) as file_id,
    any_value(line order by ordinal, part_uid) as line,
    any_value(byte_offset order by ordinal, part_uid) as byte_offset
from tool_call_parts semi join several using (call_uid)
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
    -- A person who labels again takes back what that person said before.
    qualify s.source <> 'human' or s.annotator is null or row_number() over (
        partition by s.trace_uid, s.name, s.target, s.source, s.annotator order by s.ts_ns desc nulls last, s.score_uid
    ) = 1
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

create or replace view outcomes as
from outcomes_until(9223372036854775807);
