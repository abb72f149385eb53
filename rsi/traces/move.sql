-- Traces that go to another side of the held-out split. Text of a trace lies in the right place when `trace_texts.place`
-- is what the trace's side says: raw for train and dev, else the side itself.

-- name: unsettled
select
    exists (from moving_traces)
    or exists (
        from trace_sides s
        anti join split_moves m on m.trace_uid = s.trace_uid and m.to_split = s.said and m.fate = 'read_by_night'
        where s.said <> s.split
    )

-- name: wanted
-- A night reads what came up to the batch that it fixed; a score alone is not read before its trace is there.
create or replace temp table wanted as
with moving as (
    select s.trace_uid, s.split as from_split, s.said as to_split
    from trace_sides s
    anti join split_moves m on m.trace_uid = s.trace_uid and m.to_split = s.said and m.fate = 'read_by_night'
    anti join deleted_traces d on d.trace_uid = s.trace_uid
    where s.said <> s.split
), loaded as (
    select trace_uid, min(ordinal) as ordinal
    from (
        select trace_uid, ordinal from trace_parts semi join moving using (trace_uid)
        union all
        select trace_uid, ordinal from span_parts semi join moving using (trace_uid)
        union all
        select trace_uid, ordinal from message_parts semi join moving using (trace_uid)
        union all
        select trace_uid, ordinal from tool_call_parts semi join moving using (trace_uid)
    )
    group by trace_uid
)
select
    trace_uid, from_split, to_split,
    case
        when from_split in ('train', 'dev') and l.ordinal <= $fixed then 'read_by_night'
        else 'moved'
    end as fate
from moving left join loaded l using (trace_uid)

-- name: tell
insert into split_moves select trace_uid, from_split, to_split, fate, $at::timestamp from wanted

-- name: turn
update trace_sides s set split = w.to_split from wanted w where w.trace_uid = s.trace_uid and w.fate = 'moved'

-- name: turn_parts
update trace_parts p set split = w.to_split from wanted w where w.trace_uid = p.trace_uid and w.fate = 'moved'

-- name: begin
insert into moving_traces
select trace_uid from wanted where fate = 'moved' and (from_split in ('gate', 'vault') or to_split in ('gate', 'vault'))

-- name: rows
delete from {table}
where trace_uid in (select trace_uid from wanted where fate = 'moved' and to_split in ('gate', 'vault'))

-- name: counts
select count(*) filter (fate = 'moved'), count(*) filter (fate = 'read_by_night') from wanted

-- name: behind
insert into moving_traces
select distinct t.trace_uid
from trace_texts t
join trace_sides s using (trace_uid)
where t.place = 'raw' and s.split in ('gate', 'vault')

-- name: texts
-- Of each text in the wrong place: its file, where it goes, and whether all of its record is about its trace.
with moving as (
    select t.*, case when s.split in ('gate', 'vault') then s.split else 'raw' end as goes
    from trace_texts t
    join trace_sides s using (trace_uid)
    where t.trace_uid in (from moving_traces)
), wrong as (
    from moving where place <> goes
), shared as (
    select file_id, byte_offset
    from (
        select file_id, byte_offset, trace_uid from trace_texts semi join wrong using (file_id, byte_offset)
        union all
        select file_id, byte_offset, quarantine_uid from quarantine semi join wrong using (file_id, byte_offset)
    )
    group by all
    having count(distinct trace_uid) > 1
), files as (
    select file_id, any_value(uri) as uri, any_value(namespace) as namespace
    from (select file_id, uri, namespace from ingest_files union all select file_id, uri, namespace from quarantine)
    group by file_id
)
select
    w.file_id, f.uri, f.namespace, w.trace_uid, w.line, w.byte_offset, w.place, w.goes, w.origin, p.file_id is null as whole
from wrong w
left join files f using (file_id)
left join shared p on p.file_id = w.file_id and p.byte_offset = w.byte_offset
order by w.file_id, w.trace_uid, w.byte_offset

-- name: lies
update trace_texts t
set place = case when s.split in ('gate', 'vault') then s.split else 'raw' end
from trace_sides s
where s.trace_uid = t.trace_uid and t.file_id = $file_id and list_contains($uids, t.trace_uid)

-- name: held_out
select exists (from moving_traces semi join (from trace_sides where split in ('gate', 'vault')) using (trace_uid))

-- name: finish
delete from moving_traces
