-- What the pages on nights and versions ask the snapshot.

-- name: nights
-- Newest first.
select
    n.night, n.began_at, n.ended_at, n.seconds, n.discover_s, n.expand_s, n.update_s, n.gate_s, n.new_traces, n.new_failures,
    n.modes, coalesce(m.new_modes, 0) as new_modes, n.bank, n.tasks, n.champion, n.candidate, n.verdict, n.judgement, n.reason,
    coalesce(g.role, l.role) as role, l.steps, l.algorithm, g.contract, g.suite, g.items, g.won, g.lost, g.before, g.after,
    g.gain, g.gain_low, g.gain_high, g.not_passed, n.asked_at, n.answered_at, n.decision, n.approver, n.promoted_at
from v_nights n
left join v_gates g on g.verdict = n.verdict
left join version_lineage l on l.version = n.candidate
left join (select night, count(*) filter (status = 'new') as new_modes from failure_modes group by night) m on m.night = n.night
order by n.began_at desc, n.night desc
limit $most

-- name: quality
-- Versions in the order in which they came into service first, on suites as they were pinned last: on the vault where it was
-- asked, else on the gate's items.
with asked as (
    from v_quality where split = (select max(split) from v_quality)
),
came as (
    select version, min(seq) as seq, min(came_at) as came_at from v_service group by version
),
newest as (
    select suite, max_by(pin, coalesce(night, '')) as pin from asked group by suite
)
select
    q.version, c.seq, c.came_at, l.state, l.role, q.suite, q.split, q.is_target, q.items, q.correct, q.night
from asked q
join newest p on p.suite = q.suite and p.pin = q.pin
join came c on c.version = q.version
join version_lineage l on l.version = q.version
order by c.seq, q.suite

-- name: service
select seq, came_at, lead(came_at) over (order by seq) as left_at, kind, version, replaces, verdict, actor, reason
from v_service
order by seq

-- name: clauses
select clause, clause_judgement, clause_text
from v_verdicts
where verdict = $verdict
order by clause_no

-- name: night_modes
select mode_id, title, status, count, opportunities, rate, low, high, rank, tasks
from v_failure_modes
where night = $night
order by rank
limit 8

-- name: versions
-- Youngest first.
select
    version, parent, generation, line, role, adapter, new_harness, night, made_at, bank, tasks, algorithm, steps, verdict,
    judgement, not_passed, decision, approver, served_at, left_at, traces, failures, state
from version_lineage
order by coalesce(made_at, served_at) desc nulls last, generation desc, version
limit $most

-- name: bank_modes
select coalesce(mode_title, 'keeps what works') as mode, mode_id, source, count(*) as tasks
from v_tasks
where bank = $bank
group by all
order by tasks desc, mode
limit 8

-- name: examples
-- Tasks of a bank with the trace that each was made from: of every way of making them a few.
select prompt, expected, source, coalesce(mode_title, 'keeps what works') as mode, trace_uid
from v_tasks
where bank = $bank
qualify row_number() over (partition by source order by trace_uid is null, task_id) <= 3
order by source, task_id
limit 9
