-- Deleting traces. Registered by the caller: gone (trace_uid), places (file_id, byte_offset), rows_read, scores_read.

-- name: chosen
-- Feedback about a trace that never came has a time, but neither a user nor a conversation.
select trace_uid
from trace_parts
where list_contains($users, user_ref) or list_contains($conversations, conversation)
union
select trace_uid
from trace_parts
group by trace_uid
having min(start_ns) < $before
union
select trace_uid
from scores
where ts_ns < $before and trace_uid not in (select trace_uid from trace_parts)

-- name: heldout
create table trace_parts (trace_uid varchar, user_ref varchar, conversation varchar, start_ns bigint);
create table scores (trace_uid varchar, ts_ns bigint);

-- name: trace_parts
insert into trace_parts select trace_uid, user_ref, conversation, start_ns from rows_read

-- name: scores
insert into scores select trace_uid, ts_ns from rows_read

-- name: pending
select count(*) from meta where key = 'deletion'

-- name: remember
insert into deleted_traces select distinct trace_uid, $at::timestamp from gone anti join deleted_traces using (trace_uid)

-- name: begin
insert into meta values ('deletion', 'begun')

-- name: finish
delete from meta where key = 'deletion'

-- name: remembered
select distinct trace_uid from deleted_traces

-- name: uris
select file_id, any_value(uri), any_value(namespace)
from (select file_id, uri, namespace from ingest_files union all select file_id, uri, namespace from quarantine)
group by file_id

-- name: ingested
select any_value(uri), namespace from ingest_files where sha256 = $sha256 group by namespace

-- name: known
insert into ingest_files by name
select
    $file_id as file_id, $uri as uri, $sha256 as sha256, $namespace as namespace, $bytes as bytes, $at as ingested_at,
    $records as read, 0 as loaded, $records as duplicates, 0 as quarantined, 0 as heldout, 0 as redacted
where $file_id not in (select file_id from ingest_files)

-- name: counts
select
    (
        select count(distinct trace_uid)
        from (
            select trace_uid from trace_parts
            union all
            select trace_uid from scores
            union all
            select trace_uid from heldout_traces
        ) semi join gone using (trace_uid)
    ) as traces,
    (select count(distinct trace_uid) from heldout_traces semi join gone using (trace_uid)) as heldout,
    (select count(distinct span_uid) from span_parts semi join gone using (trace_uid)) as spans,
    (select count(distinct message_uid) from message_parts semi join gone using (trace_uid)) as messages,
    (select count(distinct call_uid) from tool_call_parts semi join gone using (trace_uid)) as tool_calls,
    (select count(*) from scores semi join gone using (trace_uid)) as scores

-- name: quarantine
-- A refusal of a part of a record that told of a deleted trace has its excerpt from there.
delete from quarantine
where (file_id, byte_offset) in (
    select file_id, byte_offset from places
    union
    select file_id, byte_offset from trace_parts semi join gone using (trace_uid)
    union
    select file_id, byte_offset from span_parts semi join gone using (trace_uid)
    union
    select file_id, byte_offset from scores semi join gone using (trace_uid)
)
returning quarantine_uid

-- name: rows
delete from {table} where trace_uid in (select trace_uid from gone)

-- name: modes
update failure_modes
set examples = list_filter(examples, lambda one: not list_contains(g.uids, one))
from (select list(trace_uid) as uids from gone) g
where list_has_any(examples, g.uids)

-- name: refusals
delete from refusals
using (select list(trace_uid) as uids from gone) g
where list_has_any(traces, g.uids)
returning task_id

-- name: tasks
delete from tasks
using (select list(trace_uid) as uids from gone) g
where list_has_any(traces, g.uids) and not list_contains($banked, task_id)
returning task_id
