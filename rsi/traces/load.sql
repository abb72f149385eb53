-- One batch of columns into the store. Registered by the caller: batch_units, batch_records, and batch_rows for each
-- table. `{…}` are names of tables and columns from `rsi.traces.batch`, never text of anybody.

-- name: placed
-- Where a trace has a side it stays there, where it was deleted it stays away; else its session decides.
create or replace temp table placed as
with known as (
    select trace_uid, any_value(split) as split
    from (
        select trace_uid, split from heldout_traces semi join batch_units using (trace_uid)
        union all
        select trace_uid, split from trace_parts semi join batch_units using (trace_uid)
    )
    group by trace_uid
)
select
    u.unit, u.file, u.record, u.trace_uid, u.is_trace, u.quarantine_uid, u.reason, u.detail, u.excerpt,
    coalesce(k.split, u.side) as side, k.trace_uid is not null or t.trace_uid is not null as is_known, d.trace_uid is not null as deleted, r.line, r.byte_offset
from batch_units u
join batch_records r using (record)
left join known k on k.trace_uid = u.trace_uid
left join (select distinct trace_uid from batch_units where is_trace) t on t.trace_uid = u.trace_uid
left join (select distinct trace_uid from deleted_traces) d on d.trace_uid = u.trace_uid;

-- name: fresh
-- Rows that are there under the same name are found first, which is one walk through a column of the table.
create or replace temp table fresh as
with there as materialized (
    select {known} from {table} semi join batch_rows using ({key})
)
select b.*, p.side as split, $ordinal::bigint as ordinal, f.file_id, p.line, p.byte_offset
from batch_rows b
join placed p using (unit)
join batch_files f using (file)
anti join there t on {same}
where not p.deleted and p.side not in ('gate', 'vault')
qualify row_number() over (partition by {parts} order by b.unit) = 1;

-- name: insert
insert into {table} by name select * exclude ({left_out}) from fresh;

-- name: refuse
create or replace temp table fresh as
select
    p.unit, p.quarantine_uid, f.file_id, f.uri, f.namespace, f.origin, p.line, p.byte_offset, p.reason, p.detail, p.excerpt,
    $ordinal::bigint as ordinal
from placed p
join batch_files f using (file)
anti join quarantine q on q.quarantine_uid = p.quarantine_uid
where p.quarantine_uid is not null
qualify row_number() over (partition by p.quarantine_uid order by p.unit) = 1;

-- name: hold_out
insert into heldout_traces
select distinct trace_uid, side
from placed anti join heldout_traces using (trace_uid)
where side in ('gate', 'vault') and is_trace;

-- name: wait
insert into waiting_scores by name
select b.* exclude (unit), $ordinal::bigint as ordinal, f.file_id, p.line, p.byte_offset
from batch_rows b
join placed p using (unit)
join batch_files f using (file)
anti join waiting_scores w on w.score_uid = b.score_uid
where p.side in ('gate', 'vault') and not p.is_known and not p.deleted
qualify row_number() over (partition by b.score_uid order by b.unit) = 1;

-- name: arrived
-- The side of a trace is only known when it comes: scores that came before it go where it goes.
insert into scores by name
select w.* replace ($ordinal::bigint as ordinal)
from waiting_scores w
semi join (from placed where is_trace and not deleted and side not in ('gate', 'vault')) using (trace_uid)
anti join scores s on s.score_uid = w.score_uid;

-- name: waited
delete from waiting_scores where trace_uid in (select trace_uid from placed where is_trace);

-- name: left
delete from scores where trace_uid in (select trace_uid from placed where is_trace and side in ('gate', 'vault'));

-- name: fates
select
    file, record, unit, side,
    case
        when side in ('gate', 'vault') then 'heldout'
        when unit not in (select unit from brought) then 'duplicate'
        when quarantine_uid is null then 'loaded'
        else 'quarantined'
    end as fate,
    deleted
from placed
order by unit;
