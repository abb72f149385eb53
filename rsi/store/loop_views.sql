-- The loop beside the traces: what nights found, made, tested and put into service. `ledger` is a copy of the
-- ledger file; `banks`, `verdicts` and `versions` are copies of what the home keeps under their digests.

create or replace view v_failure_modes as
select
    m.night,
    dense_rank() over (order by m.night[:10] desc, coalesce(try_cast(split_part(m.night, '.', 2) as int), 1) desc) = 1 as is_newest,
    m.rank, m.mode_id, m.title, m.signature, m.kind, m.status, m.count, m.opportunities, m.rate, m.low, m.high, m.priority,
    m.frequency, m.severity, m.recency, m.learnability, m.standing, m.blame, m.wont_fix, m.first_seen, m.by_version,
    m.topics, coalesce(k.tasks, 0) as tasks, m.examples, e.trace_uid as example_uid,
    e.input_text as example_input, e.output_text as example_output, e.route as example_route, o.outcome as example_outcome
from failure_modes m
left join (select night, mode_id, count(*) as tasks from tasks group by all) k using (night, mode_id)
left join traces e on e.trace_uid = m.examples[1]
left join outcomes o on o.trace_uid = e.trace_uid;

-- Of the last night that looked, all traces; of a night before it, the examples that it kept.
create or replace view v_mode_traces as
with shown as (
    select night, mode_id, trace_uid from mode_traces
    union
    select night, mode_id, unnest(examples) as trace_uid from failure_modes
)
select
    m.night, m.mode_id, m.signature, m.title, m.status, s.trace_uid, list_contains(m.examples, s.trace_uid) as is_example,
    t.origin, t.version, t.route, t.agent, t.start_ts, o.outcome, t.input_text, t.output_text, t.error
from shown s
join failure_modes m using (night, mode_id)
left join traces t on t.trace_uid = s.trace_uid
left join outcomes o on o.trace_uid = s.trace_uid;

-- A mode's counts by version and by the night that was the first to read the traces, as the night in `night` had them.
create or replace view v_mode_history as
select
    m.night, m.mode_id, m.title, m.status, c.cell ->> '$[0]' as version, c.cell ->> '$[1]' as arrived,
    (c.cell ->> '$[2]')::bigint as count, (c.cell ->> '$[3]')::bigint as opportunities,
    (c.cell ->> '$[2]')::bigint / nullif((c.cell ->> '$[3]')::bigint, 0) as rate
from failure_modes m, unnest(m.history::json[]) as c (cell);

create or replace view v_tasks as
with made as (
    select night, max_by(output, seq) as bank from ledger where kind = 'stage' and stage = 'expand' group by night
)
select
    t.night, b.bank, t.task_id, t.hop, t.messages ->> '$[#-1].content' as prompt, t.messages, t.verifier, t.expected, t.source,
    t.mode_id, m.signature as mode, m.title as mode_title, t.generator, t.passed, t.samples, t.licence, t.traces, s.trace_uid, s.version, s.route, s.agent, s.start_ts, o.outcome
from tasks t
left join made b using (night)
left join failure_modes m on m.night = t.night and m.mode_id = t.mode_id
left join traces s on s.trace_uid = t.traces[1]
left join outcomes o on o.trace_uid = s.trace_uid;

-- What became of the proposals for a bank.
create or replace view v_screens as
with counted as (
    select bank, night, 'passed' as decision, tasks, held_out
    from banks
    union all
    select b.bank, b.night, r.entry.key as decision, r.entry.value as tasks, b.held_out
    from banks b, unnest(map_entries(b.rejected::json::map(varchar, bigint))) as r (entry)
)
select
    bank, night, decision, tasks, tasks / nullif(sum(tasks) over (partition by bank), 0) as share, held_out
from counted;

-- The table of an expansion: what each source was worth in each phase, and how much of the grid was covered by then.
create or replace view v_expansion as
with told as (
    select bank, night, unnest(phases::json[]) as phase, generate_subscripts(phases::json[], 1) as place, json_array_length(asked) as asked
    from banks
)
select
    bank, night, min(place) as place, phase ->> 'phase' as phase, phase ->> 'source' as source, count(*) as rounds,
    sum((phase ->> 'attempts')::bigint)::bigint as attempts, sum((phase ->> 'passes')::bigint)::bigint as passes,
    sum((phase ->> 'passes')::bigint) / nullif(sum((phase ->> 'attempts')::bigint), 0) as yield,
    max_by((phase ->> 'filled')::bigint, place) as filled, any_value(asked) as asked,
    sum((phase ->> 'calls')::bigint)::bigint as calls
from told
group by bank, night, phase ->> 'phase', phase ->> 'source';

create or replace view v_coverage as
with told as (
    select bank, night, unnest(asked::json::varchar[]) as cell, empty::json::varchar[] as lacking
    from banks
)
select
    t.bank, t.night, split_part(t.cell, '/', 1) as mode_id, split_part(t.cell, '/', 2) as dimension,
    regexp_replace(t.cell, '^[^/]*/[^/]*/', '') as value, not list_contains(t.lacking, t.cell) as filled,
    m.signature as mode, m.title as mode_title
from told t
left join failure_modes m on m.night = t.night and m.mode_id = split_part(t.cell, '/', 1);

-- Seconds of a stage run from the record before its own: a night that was killed and resumed counts its pause.
create or replace view v_nights as
with timed as (
    select
        *,
        epoch(recorded_at) - epoch(lag(recorded_at) over (partition by night order by seq)) as seconds
    from ledger
    where kind in ('night', 'stage', 'end') and night is not null
),
told as (
    select
        night,
        min(recorded_at) filter (kind = 'night') as began_at,
        max(recorded_at) filter (kind = 'end') as ended_at,
        any_value(body ->> 'champion') filter (kind = 'night') as champion,
        any_value((body ->> 'ordinal')::bigint) filter (kind = 'night') as ordinal,
        list(stage order by seq) filter (kind = 'stage') as stages,
        sum(seconds) filter (stage = 'discover') as discover_s,
        sum(seconds) filter (stage = 'expand') as expand_s,
        sum(seconds) filter (stage = 'update') as update_s,
        sum(seconds) filter (stage = 'gate') as gate_s,
        max_by(output, seq) filter (stage = 'expand') as bank,
        max_by(output, seq) filter (stage = 'update') as candidate,
        max_by(output, seq) filter (stage = 'gate') as verdict,
        max_by(body ->> 'judgement', seq) filter (kind = 'end') as judgement,
        max_by(body ->> 'reason', seq) filter (kind = 'end') as reason
    from timed
    group by night
    having count(*) filter (kind = 'night') > 0
),
-- A night reads what came after the night before it, up to its ordinal.
came as (
    select n.ordinal, sum(c.traces)::bigint as new_traces, sum(c.failures)::bigint as new_failures
    from (
        select t.ordinal, count(*) as traces, count(*) filter (o.outcome = 'fail') as failures
        from traces t
        join outcomes o using (trace_uid)
        group by t.ordinal
    ) c
    asof join (select distinct ordinal from told) n on c.ordinal <= n.ordinal
    group by n.ordinal
),
answered as (
    select
        input as verdict,
        min(recorded_at) filter (kind = 'request') as asked_at,
        min(recorded_at) filter (kind = 'approval') as answered_at,
        any_value(body ->> 'decision' order by seq) filter (kind = 'approval') as decision,
        any_value(body ->> 'approver' order by seq) filter (kind = 'approval') as approver,
        min(recorded_at) filter (kind = 'promotion') as promoted_at
    from ledger
    where kind in ('request', 'approval', 'promotion')
    group by input
)
select
    t.night, t.began_at, t.ended_at, epoch(t.ended_at) - epoch(t.began_at) as seconds, coalesce(t.stages, []) as stages,
    t.discover_s, t.expand_s, t.update_s, t.gate_s, t.champion, t.ordinal, coalesce(c.new_traces, 0) as new_traces,
    coalesce(c.new_failures, 0) as new_failures, coalesce(m.modes, 0) as modes, t.bank, b.tasks, t.candidate, t.verdict,
    t.judgement, t.reason, a.asked_at, a.answered_at, a.decision, a.approver, a.promoted_at
from told t
left join came c using (ordinal)
left join (select night, count(*) as modes from failure_modes group by night) m using (night)
left join banks b on b.bank = t.bank
left join answered a on a.verdict = t.verdict;

-- One row a clause.
create or replace view v_verdicts as
with answered as (
    select
        input as verdict,
        any_value(body ->> 'decision' order by seq) filter (kind = 'approval') as decision,
        any_value(body ->> 'approver' order by seq) filter (kind = 'approval') as approver,
        min(recorded_at) filter (kind = 'promotion') as promoted_at
    from ledger
    where kind in ('approval', 'promotion')
    group by input
),
told as (
    select verdicts.*, unnest(clauses::json[]) as clause, generate_subscripts(clauses::json[], 1) as place
    from verdicts
)
select
    v.verdict, v.night, v.champion, v.candidate, v.role, v.contract, v.judgement, v.place as clause_no, v.clause ->> 'name' as clause,
    v.clause ->> 'judgement' as clause_judgement, v.clause ->> 'text' as clause_text, (v.clause -> 'numbers')::varchar as numbers,
    a.decision, a.approver, a.promoted_at
from told v
left join answered a on a.verdict = v.verdict;

create or replace view v_versions as
with recursive aged as (
    select version, 0 as generation from versions where parent is null
    union
    select v.version, a.generation + 1 from aged a join versions v on v.parent = a.version
),
moves as (
    select output as version, kind, input as verdict, recorded_at, seq, lead(recorded_at) over (order by seq) as left_at
    from ledger
    where kind in ('genesis', 'promotion', 'rollback')
),
served as (
    select
        version, min(recorded_at) as served_at, count(*) as times_served,
        max(seq) = (select max(seq) from moves) as in_service,
        case when max(seq) < (select max(seq) from moves) then max(left_at) end as left_at,
        any_value(verdict order by seq) filter (kind = 'promotion') as verdict
    from moves
    group by version
),
used as (
    select t.version, count(*) as traces, count(*) filter (o.outcome = 'fail') as failures
    from traces t
    join outcomes o using (trace_uid)
    where t.version is not null
    group by t.version
),
made as (
    select output as version, any_value(night order by seq) as night, any_value(input order by seq) as bank
    from ledger
    where kind = 'stage' and stage = 'update'
    group by output
),
judged as (
    -- A verdict without suites is about the version in service: its candidate is the one to go back to.
    select candidate as version, max_by(verdict, night) as verdict from verdicts where suites <> '{}' group by candidate
)
select
    v.version, v.parent, a.generation, v.base, v.harness, v.adapters, m.night, m.bank, b.tasks,
    coalesce(s.verdict, j.verdict) as verdict, d.judgement, p.body ->> 'approver' as approver,
    coalesce(s.in_service, false) as in_service, coalesce(s.times_served, 0) as times_served, s.served_at, s.left_at,
    coalesce(u.traces, 0) as traces, coalesce(u.failures, 0) as failures
from versions v
left join aged a on a.version = v.version
left join served s on s.version = v.version
left join made m on m.version = v.version
left join banks b on b.bank = m.bank
left join judged j on j.version = v.version
left join verdicts d on d.verdict = coalesce(s.verdict, j.verdict)
left join ledger p on p.kind = 'approval' and p.input = d.verdict
left join used u on u.version = v.version;

-- Looks at live failures after a promotion, each against the version before.
create or replace view v_watch as
with decided as (
    select
        input as verdict, any_value(body ->> 'decision' order by seq) as decision,
        any_value(body ->> 'approver' order by seq) as approver
    from ledger
    where kind = 'approval'
    group by input
)
select
    l.seq, l.recorded_at, l.night, l.body ->> '$.now.version' as version, l.body ->> '$.before.version' as version_before,
    l.body ->> 'contract' as contract, (l.body ->> 'look')::bigint as look, (l.body ->> 'looks')::bigint as looks,
    (l.body ->> '$.now.conversations')::bigint as conversations, (l.body ->> '$.now.counted')::bigint as counted,
    (l.body ->> '$.now.failed')::bigint as failed,
    (l.body ->> '$.now.failed')::bigint / nullif((l.body ->> '$.now.counted')::bigint, 0) as rate,
    (l.body ->> '$.before.counted')::bigint as counted_before, (l.body ->> '$.before.failed')::bigint as failed_before,
    (l.body ->> '$.before.failed')::bigint / nullif((l.body ->> '$.before.counted')::bigint, 0) as rate_before,
    (l.body ->> 'low')::double as low, (l.body ->> 'high')::double as high, (l.body ->> 'p')::double as p,
    (l.body ->> 'alpha')::double as alpha, l.output is not null as is_worse, l.output as verdict, d.decision, d.approver,
    b.recorded_at as rolled_back_at, b.body ->> 'actor' as actor
from ledger l
left join decided d on d.verdict = l.output
left join ledger b on b.kind = 'rollback' and b.input = l.output
where l.kind = 'watch';

-- How a candidate did on the suite that it had to be better on. The target is the suite that has no clauses of a guard;
-- verdicts over live failures have no suite, and no row here.
create or replace view v_gates as
with targets as (
    select s.verdict, any_value(s.suite) as suite
    from (select verdict, unnest(json_keys(suites::json)) as suite from verdicts) s
    anti join v_verdicts g on g.verdict = s.verdict and g.clause = 'guard_' || split_part(s.suite, '/', 1) || '_size'
    group by s.verdict
),
told as (
    select
        verdict, night, champion, candidate, role, contract, judgement, decision, approver, promoted_at,
        list(clause order by clause_no) filter (clause_judgement <> 'pass') as not_passed,
        any_value(numbers::json) filter (clause = 'target_gain') as gain
    from v_verdicts
    group by all
)
select
    t.verdict, t.night, t.champion, t.candidate, t.role, t.contract, t.judgement, coalesce(t.not_passed, []) as not_passed,
    s.suite, (t.gain ->> 'n')::bigint as items, (t.gain ->> 'b')::bigint as won, (t.gain ->> 'c')::bigint as lost,
    (t.gain ->> 'before')::double as before, (t.gain ->> 'after')::double as after,
    (t.gain ->> 'difference')::double as gain, (t.gain ->> 'low')::double as gain_low,
    (t.gain ->> 'high')::double as gain_high, t.decision, t.approver, t.promoted_at
from told t
join targets s using (verdict);

-- What versions got right of held-out items: of the gate's, as the last verdict about them counted, and of the vault.
-- Counts of a verdict with answers missing are left out: it counts them against the candidate.
create or replace view v_quality as
with asked as (
    select v.verdict, v.night, v.champion, v.candidate, v.suite, v.suites ->> ('$."' || v.suite || '"') as pin
    from (select *, unnest(json_keys(suites::json)) as suite from verdicts) v
    semi join v_verdicts c on c.verdict = v.verdict and c.clause = 'completeness' and c.clause_judgement = 'pass'
),
counted as (
    select a.*, g.clause is null as is_target, coalesce(g.numbers, t.numbers)::json as numbers
    from asked a
    left join v_verdicts g
        on g.verdict = a.verdict and g.clause = 'guard_' || split_part(a.suite, '/', 1) || '_noninferior'
    left join v_verdicts t on t.verdict = a.verdict and t.clause = 'target_gain'
),
measured as (
    select candidate as version, *, (numbers ->> 'after')::double as rate from counted
    union all
    select champion as version, *, (numbers ->> 'before')::double as rate from counted
),
gated as (
    select
        version, suite, pin, is_target, verdict, night, (numbers ->> 'n')::bigint as items,
        round(rate * (numbers ->> 'n')::bigint)::bigint as correct, rate
    from measured
    where (numbers ->> 'n')::bigint > 0
    qualify row_number() over (partition by version, suite, pin order by night desc, verdict) = 1
),
audited as (
    select
        p.point ->> 'version' as version, p.point ->> 'suite' as suite, 'vault, ' || (l.body ->> 'drawn') as pin,
        (p.point ->> 'items')::bigint as items, (p.point ->> 'right')::bigint as correct
    from ledger l, unnest((l.body -> 'points')::json[]) as p (point)
    where l.kind = 'audit'
    qualify row_number() over (partition by p.point ->> 'version', p.point ->> 'suite', l.body ->> 'drawn' order by l.seq desc) = 1
)
select version, suite, pin, 'gate' as split, is_target, verdict, night, items, correct, rate
from gated
union all
select version, suite, pin, 'vault', true, null, null, items, correct, correct / items
from audited
where items > 0;

-- Every time that a version came into service.
create or replace view v_service as
select
    m.seq, m.recorded_at as came_at, m.kind, m.output as version, m.body ->> 'replaces' as replaces, m.input as verdict,
    coalesce(a.body ->> 'approver', m.body ->> 'actor') as actor, coalesce(a.body ->> 'reason', m.body ->> 'reason') as reason
from ledger m
left join ledger a on m.kind = 'promotion' and a.kind = 'approval' and a.input = m.input
where m.kind in ('genesis', 'promotion', 'rollback');

-- Where versions come from: what each changed in its parent, what it was trained on, and what became of it.
create or replace view version_lineage as
with recursive grown as (
    select version, [version] as line from versions where parent is null
    union all
    select v.version, list_append(g.line, v.version) from grown g join versions v on v.parent = g.version
),
changed as (
    select v.version, any_value(v.role order by v.role) as role
    from (select *, unnest(json_keys(adapters::json)) as role from versions) v
    left join versions p on p.version = v.parent
    where v.adapters ->> ('$."' || v.role || '"') is distinct from p.adapters ->> ('$."' || v.role || '"')
    group by v.version
),
made as (
    select output as version, min(recorded_at) as made_at from ledger where kind in ('stage', 'genesis') group by output
),
trained as (
    select c.version, c.role, v.adapters ->> ('$."' || c.role || '"') as adapter
    from changed c
    join versions v using (version)
),
jobs_of as (
    select adapter, max_by(job, steps) as job, max(steps) as steps, any_value(algorithm) as algorithm
    from jobs
    where adapter is not null
    group by adapter
)
select
    v.version, v.parent, v.generation, g.line, t.role, t.adapter, v.harness is distinct from p.harness as new_harness,
    v.night, m.made_at, v.bank, v.tasks, j.job, j.algorithm, j.steps, v.verdict, d.judgement, d.not_passed, d.decision,
    d.approver, v.served_at, v.left_at, v.traces, v.failures,
    case
        when v.in_service then 'in service'
        when v.times_served > 0 then 'was in service'
        when d.decision = 'reject' then 'rejected'
        when d.judgement = 'pass' then 'passed'
        when d.judgement is not null then 'refused'
        else 'untested'
    end as state
from v_versions v
left join versions p on p.version = v.parent
left join grown g on g.version = v.version
left join trained t on t.version = v.version
left join made m on m.version = v.version
left join jobs_of j on j.adapter = t.adapter
left join v_gates d on d.verdict = v.verdict;

-- What came of what, one row a link: from a version through adapter, harness, bank and mode to the traces, and to what
-- the gate and people said. A mode's name comes again in every night, so that its links name the bank's.
create or replace view v_lineage as
with trained as (
    select distinct output as version, input as bank from ledger where kind = 'stage' and stage = 'update' and input is not null
),
made as (
    select night, max_by(output, seq) as bank from ledger where kind = 'stage' and stage = 'expand' group by night
),
about as (
    select distinct t.night, m.bank, coalesce(t.mode_id, 'none') as mode_id, unnest(t.traces) as trace_uid
    from tasks t
    join made m using (night)
)
select 'version' as kind, version as name, 'parent' as link, 'version' as source_kind, parent as source, null::varchar as night
from versions
where parent is not null
union all
select 'version', version, 'harness', 'harness', harness, null from versions
union all
select 'version', v.version, r.role, 'adapter', v.adapters ->> ('$."' || r.role || '"'), null
from versions v, unnest(json_keys(v.adapters::json)) as r (role)
union all
select 'version', t.version, 'trained on', 'bank', t.bank, m.night from trained t left join made m using (bank)
union all
select distinct 'bank', bank, 'made for', 'mode', mode_id, night from about
union all
select 'mode', mode_id, 'seen in', 'trace', trace_uid, night from about
union all
select 'verdict', verdict, case when suites = '{}' then 'goes back to' else 'judged' end, 'version', candidate, night from verdicts
union all
select 'verdict', verdict, case when suites = '{}' then 'away from' else 'against' end, 'version', champion, night from verdicts
union all
select kind, seq::varchar, 'about', 'verdict', input, night
from ledger
where kind in ('request', 'approval', 'refusal', 'promotion', 'rollback') and input is not null
union all
select kind, seq::varchar, 'put into service', 'version', output, night
from ledger
where kind in ('genesis', 'promotion', 'rollback');
