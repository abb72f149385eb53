-- What the pages ask the snapshot. Each page load and each change of a filter asks anew; nothing is kept open.

-- name: options
-- What there is to choose from, most frequent first.
(select 'origin' as field, origin as value, count(*) as traces from traces group by all order by traces desc, value limit 20)
union all
(select 'version', coalesce(version, ''), count(*) as n from traces group by all order by n desc, 2 limit 200)
union all
(select 'agent', coalesce(agent, ''), count(*) as n from traces group by all order by n desc, 2 limit 200)
union all
(select 'tool', name, count(distinct trace_uid) as n from tool_calls group by all order by n desc, 2 limit 200)

-- name: extent
select min(start_ts), max(start_ts), count(*), count(start_ts) from traces

-- name: chosen
-- The traces that the filters leave; an empty list leaves all, '' stands for one that is not known.
create temp table chosen as
select
    t.trace_uid, t.version, t.agent, t.conversation, t.start_ts, o.outcome, o.rule, o.score_name, o.value
from traces t
join v_outcomes o using (trace_uid)
where (len($origins::varchar[]) = 0 or list_contains($origins::varchar[], t.origin))
    and (len($versions::varchar[]) = 0 or list_contains($versions::varchar[], coalesce(t.version, '')))
    and (len($agents::varchar[]) = 0 or list_contains($agents::varchar[], coalesce(t.agent, '')))
    and (len($tools::varchar[]) = 0 or t.trace_uid in (
        select trace_uid from tool_calls where list_contains($tools::varchar[], name)
    ))
    and ($since::date is null or t.start_ts >= $since::date)
    and ($until::date is null or t.start_ts < $until::date + 1)

-- name: chosen_extent
select min(start_ts), max(start_ts) from chosen

-- name: headline
select
    count(*) as traces,
    count(*) filter (outcome <> 'unknown') as judged,
    count(*) filter (outcome = 'fail') as failed,
    count(distinct conversation) as conversations,
    count(distinct conversation) filter (outcome = 'fail') as conversations_failed,
    (select count(*) from tool_calls semi join chosen using (trace_uid)) as calls,
    (select count(*) from tool_calls semi join chosen using (trace_uid) where status = 'error') as calls_failed
from chosen

-- name: over_time
select
    date_trunc($unit, start_ts)::timestamp as moment,
    count(*) filter (outcome = 'fail') as failed,
    count(*) filter (outcome = 'pass') as passed,
    count(*) filter (outcome = 'unknown') as unknown
from chosen
where start_ts is not null
group by all
order by moment

-- name: by_version
select
    coalesce(chosen.version, '') as version,
    count(*) filter (outcome = 'fail') as failed,
    count(*) filter (outcome <> 'unknown') as judged,
    min(start_ts) as first_seen
from chosen
group by chosen.version
having judged > 0
order by chosen.version is null, first_seen nulls last, version
limit 12

-- name: by_rule
select
    rule,
    coalesce(score_name, '') as score,
    count(*) filter (outcome = 'fail') as failed,
    count(*) as judged
from chosen
where outcome <> 'unknown'
group by all
order by failed desc, judged desc, score
limit 12

-- name: by_tool
select
    c.name as tool,
    count(*) as calls,
    count(*) filter (c.status = 'error') as errors,
    count(distinct t.trace_uid) filter (t.outcome <> 'unknown') as judged,
    count(distinct t.trace_uid) filter (t.outcome = 'fail') as failed
from tool_calls c
join chosen t using (trace_uid)
group by all
order by failed desc, calls desc, tool
limit 12

-- name: modes
-- The failure modes of the last night that looked.
select night, mode_id, title, status, count, opportunities, rate, low, high, rank, first_seen, tasks
from v_failure_modes
where is_newest
order by rank
limit 100

-- name: failing
select
    t.start_ts as "when",
    coalesce(c.score_name, 'the run broke') as "decided by",
    c.value,
    t.agent,
    t.version,
    left(t.input_text, 400) as asked,
    left(coalesce(t.error, t.output_text), 400) as answered,
    t.trace_uid
from chosen c
join traces t using (trace_uid)
where c.outcome = 'fail'
    and ($mode::varchar is null or t.trace_uid in (
        select trace_uid from mode_traces where mode_id = $mode
    ))
order by t.start_ts desc nulls last, t.trace_uid
limit $most

-- name: queue
-- Traces for a person to judge: those that nobody judged, those that failed, or all.
select trace_uid
from chosen c
where ($outcome::varchar is null or c.outcome = $outcome)
    and not exists (select 1 from scores s where s.trace_uid = c.trace_uid and s.source in ('human', 'label'))
order by c.start_ts desc nulls last, c.trace_uid
limit $most

-- name: labelled
select count(distinct trace_uid) from scores semi join chosen using (trace_uid) where source in ('human', 'label')

-- name: one
select t.*, o.outcome, o.rule, o.score_name, o.value
from traces t
join v_outcomes o using (trace_uid)
where starts_with(t.trace_uid, $prefix)
limit 2

-- name: conversation
select seq, role, author, content, content_state, reasoning, tool_call_id
from v_conversation
where trace_uid = $uid
order by seq
limit $most

-- name: calls
select name, requestor, status, coalesce(arguments, arguments_raw) as arguments, arguments_state, result, native_id
from tool_calls
where trace_uid = $uid
order by at_ns, seq, call_uid
limit $most

-- name: scores
select name, value, said, correction, source, annotator, basis, comment
from scores
where trace_uid = $uid
order by ts_ns nulls last, name
limit $most

-- name: tree
select span_uid, parent_uid, link_state, kind, name, status, error, start_ts, ms, input_tokens, output_tokens, dup_of
from v_trace_tree
where trace_uid = $uid
order by start_ts nulls last, depth, span_uid
limit $most

-- name: totals
select
    count(*) as files,
    coalesce(sum(read), 0)::bigint as read,
    coalesce(sum(loaded), 0)::bigint as loaded,
    coalesce(sum(duplicates), 0)::bigint as duplicates,
    coalesce(sum(quarantined), 0)::bigint as quarantined,
    coalesce(sum(heldout), 0)::bigint as heldout,
    coalesce(sum(redacted), 0)::bigint as redacted,
    (select count(*) from v_quarantine) as waiting,
    max(ingested_at) as last_ingest
from ingest_files

-- name: reasons
select reason, count(*) as refusals, count(distinct uri) as files, any_value(detail order by quarantine_uid) as example
from v_quarantine
group by all
order by refusals desc, reason
limit 20

-- name: files
select
    uri as file, ingested_at as ingested, read, loaded, duplicates as "known before", heldout as "held out",
    quarantined as refused, refusals as "in quarantine", reasons as why
from v_ingest_health
order by refusals desc, ingested_at desc nulls last, uri
limit $most

-- name: duplicates
select
    dup_rule as rule, name, coalesce(instrumentation, '') as instrumentation, coalesce(kept_instrumentation, '') as kept,
    count(*) as spans, coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0)::bigint as tokens
from v_duplicates
group by all
order by spans desc, name
limit 20
