-- One batch of columns into the store. Registered by the caller: batch_units, batch_records, and batch_rows for each
-- table. `{…}` are names of tables and columns from `rsi.traces.batch`, never text of anybody.

-- name: sided
-- What is said of the side of each trace: by the batch, and by all that came before. Deleted traces have none.
create or replace temp table sided as
with told as (
    select trace_uid, max(weight) as weight, arg_max(side, weight) as said
    from batch_units
    where trace_uid is not null
    group by trace_uid
)
select
    t.trace_uid, k.split is null as is_new, coalesce(t.weight > k.weight, false) as is_moved, t.weight, t.said,
    coalesce(k.split, t.said) as split
from told t
left join (from trace_sides semi join told using (trace_uid)) k using (trace_uid)
anti join deleted_traces d on d.trace_uid = t.trace_uid;

-- name: placed
-- Where a trace has a side it stays there for now (`rsi.traces.move`), where it was deleted it stays away.
create or replace temp table placed as
select
    u.unit, u.file, u.record, u.trace_uid, u.quarantine_uid, u.reason, u.detail, u.excerpt, coalesce(s.split, u.side) as side,
    u.trace_uid is not null and s.trace_uid is null as deleted, r.line, r.byte_offset
from batch_units u
join batch_records r using (record)
left join sided s using (trace_uid);

-- name: new_sides
insert into trace_sides select trace_uid, split, said, weight from sided where is_new;

-- name: said_sides
update trace_sides t set said = s.said, weight = s.weight
from sided s
where s.trace_uid = t.trace_uid and s.is_moved;

-- name: texts
-- $place: where the texts lie, if not where their traces' sides say.
insert into trace_texts by name
with there as materialized (
    from trace_texts semi join sided using (trace_uid)
)
select distinct
    p.trace_uid, f.file_id, p.line, p.byte_offset, f.origin,
    coalesce($place::varchar, case when p.side in ('gate', 'vault') then p.side else 'raw' end) as place
from placed p
join batch_files f using (file)
anti join there t on t.trace_uid = p.trace_uid and t.file_id = f.file_id and t.byte_offset = p.byte_offset
where p.trace_uid is not null and not p.deleted;

-- name: fresh
-- Which rows are new: what is there under the same name is found first, which is one walk through a column of the table.
create or replace temp table fresh as
with there as materialized (
    select {known} from {table} semi join batch_rows using ({key})
)
select b.row, b.unit
from batch_rows b
join placed p using (unit)
anti join there t on {same}
where not p.deleted and p.side not in ('gate', 'vault')
qualify row_number() over (partition by {parts} order by b.unit) = 1;

-- name: insert
insert into {table} by name
select b.* exclude (row, unit), {split} $ordinal::bigint as ordinal, f.file_id, p.line, p.byte_offset
from batch_rows b
semi join fresh using (row)
join placed p using (unit)
join batch_files f using (file);

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

-- name: insert_refused
insert into quarantine by name select * exclude (unit) from fresh;

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
