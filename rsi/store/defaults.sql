-- What columns and tables hold that an older store (`old`) did not have.

-- name: message_parts__said
-- As `rsi.traces.said` ranks texts, but for the part that tells texts of one length apart: what comes again is kept twice.
(least(length(coalesce(content, '')), 134217728)::bigint << 35)
    | case content_state when 'full' then 4 when 'cut' then 3 when 'empty' then 2 when 'redacted' then 1 else 0 end

-- name: message_parts__thought
least(length(coalesce(reasoning, '')), 134217728)::bigint << 32

-- name: failure_modes__history
'[]'

-- name: failure_modes__frequency
count::double

-- name: failure_modes__severity
1.0

-- name: failure_modes__recency
1.0

-- name: failure_modes__learnability
0.0

-- name: failure_modes__standing
1.0

-- name: failure_modes__blame
'model'

-- name: failure_modes__topics
'[]'

-- name: tasks__tools
''

-- name: tasks__world
''

-- name: tasks__generator
''

-- name: tasks__prompt
''

-- name: tasks__screens
[]::varchar[]

-- name: tasks__facets
'{}'

-- name: tasks__passed
0

-- name: tasks__samples
0

-- name: tasks__licence
'deployment'

-- name: trace_sides
-- Of the least weight: whatever is said of a side from now on counts for more.
select trace_uid, any_value(split) as split, any_value(split) as said, 0 as weight
from (
    select trace_uid, split from old.trace_parts
    union all
    select trace_uid, split from old.heldout_traces
)
group by trace_uid

-- name: trace_texts
select p.trace_uid, p.file_id, p.line, p.byte_offset, 'raw' as place, any_value(t.origin) as origin
from (
    select trace_uid, file_id, line, byte_offset from old.trace_parts
    union
    select trace_uid, file_id, line, byte_offset from old.span_parts
    union
    select trace_uid, file_id, line, byte_offset from old.message_parts
    union
    select trace_uid, file_id, line, byte_offset from old.tool_call_parts
) p
left join (select trace_uid, any_value(origin) as origin from old.trace_parts group by trace_uid) t using (trace_uid)
group by all
