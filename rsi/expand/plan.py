"""What an expansion would make and cost, without making it: `rsi expand --dry-run`.

Everything that asks no model is done and thrown away; what would be asked is counted up to the deployment's budgets,
and its time told from what calls took: in the journals of earlier nights, or in a few calls made now.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from rsi.context import Context
from rsi.discover.research import hypotheses
from rsi.expand.coverage import spots
from rsi.expand.grow import Grown, grow
from rsi.expand.prepare import Night, prepare
from rsi.records import Modes, Phase, Record, Task
from rsi.registry import versions
from rsi.registry.loaded import engine_with
from rsi.store.journal import Journal
from rsi.tasks.attempt import Attempts, Policy, Rate, cost, rates
from rsi.tasks.prompt import render

MEASURED = 4
"""Tasks of each hop that are asked to measure what a call takes, where no journal tells."""
SAMPLE = 50
"""Prompts that are counted to tell the tokens of a call."""


class Cost(Record):
    """What asking for one purpose takes."""

    purpose: str
    """difficulty, research or generator."""
    hop: str
    calls: int
    prompt_tokens: int
    """Of all calls, from a sample of the prompts."""
    seconds: float | None
    """Null where no call of the kind could be timed: a generator's server is not asked for the sake of an estimate."""


class Plan(Record):
    """What would be made and what it costs."""

    tasks: int
    by_source: dict[str, int]
    by_mode: dict[str, int]
    by_cell: dict[str, int]
    """`mode/dimension/value` -> tasks, of every cell that is asked for."""
    refused: dict[str, int]
    phases: tuple[Phase, ...]
    costs: tuple[Cost, ...]
    measured: dict[str, Rate]
    """Hop -> the calls that the seconds are told from."""


def plan(context: Context, modes: Modes) -> Plan:
    """The plan of a night; writes nothing."""
    night = prepare(context, modes)
    grown = grow(night, None)
    asked = _asked(night, grown)
    measured = _measured(night, grown.tasks, {hop for _, hop, calls, _ in asked if calls})
    return Plan(
        tasks=len(grown.tasks),
        by_source=dict(sorted(Counter(one.source for one in grown.tasks).items())),
        by_mode=dict(sorted(Counter(one.mode_id or "keeps" for one in grown.tasks).items())),
        by_cell=_by_cell(night, grown.tasks),
        refused=dict(grown.account.rejected),
        phases=grown.account.phases,
        costs=tuple(
            Cost(
                purpose=purpose,
                hop=hop,
                calls=calls,
                prompt_tokens=round(tokens * calls),
                seconds=round(measured[hop].seconds * calls, 1) if hop in measured else None,
            )
            for purpose, hop, calls, tokens in asked
            if calls
        ),
        measured=dict(measured),
    )


def _by_cell(night: Night, tasks: Sequence[Task]) -> dict[str, int]:
    counts = Counter(str(spot) for one in tasks for spot in spots(one))
    return {str(spot): counts[str(spot)] for spot in sorted(night.wanted)}


def _asked(night: Night, grown: Grown) -> list[tuple[str, str, int, float]]:
    """(purpose, hop, calls, tokens of a prompt) of everything that would be asked."""
    deployment = night.context.deployment
    rules, research = deployment.expand, deployment.research
    found = []
    asked = [one for one in grown.tasks[: grown.new] if not one.world]
    unknown = sorted(asked, key=lambda one: one.mode_id is None)
    found += _paid("difficulty", night, unknown, rules.samples, rules.calls)
    if research.calls:
        probes = [
            probe for *_, probe in hypotheses([one for one in unknown if not one.generator], research.seed)
        ]
        found += _paid("research", night, probes, research.samples, research.calls)
    if rules.generator.url:
        found.append(("generator", "generator", min(rules.generator.calls, len(grown.account.empty)), 0.0))
    return found


def _paid(
    purpose: str, night: Night, tasks: Sequence[Task], samples: int, budget: int
) -> list[tuple[str, str, int, float]]:
    """What asking these tasks in their order takes, by hop, as far as the budget goes."""
    calls: Counter[str] = Counter()
    for one in tasks:
        if calls.total() + cost(one, samples) > budget:
            break
        calls[one.hop] += cost(one, samples)
    return [
        (purpose, hop, count, _tokens(night, [one for one in tasks if one.hop == hop]))
        for hop, count in sorted(calls.items())
    ]


def _tokens(night: Night, tasks: Sequence[Task]) -> float:
    """Mean tokens of a prompt, of a sample."""
    from transformers import AutoTokenizer

    from rsi.engine.chat import tokens

    tokenizer = AutoTokenizer.from_pretrained(night.context.world.base().folder)
    sample = tasks[:: max(1, len(tasks) // SAMPLE)][:SAMPLE]
    counts = [len(tokens(tokenizer, render(one, night.harness))) for one in sample]
    return sum(counts) / max(1, len(counts))


def _measured(night: Night, tasks: Sequence[Task], hops: set[str]) -> Mapping[str, Rate]:
    """Hop -> what a call takes: from journals, else from a few calls whose answers nobody keeps."""
    context = night.context
    known = rates([Journal(path) for path in sorted(context.home.journals.glob("attempts-*.ndjson"))])
    version = versions.load(context.home, context.start.champion)
    policy = Policy(context.start.champion, version.adapters, night.harness)
    for hop in sorted(hops - known.keys()):
        asked = [one for one in tasks if one.hop == hop][:MEASURED]
        if asked:
            journal = Journal(None)
            attempts = Attempts(lambda: engine_with(context, [version]), policy, journal, MEASURED + 1)
            # The first call loads the model and is thrown away.
            attempts.ask(asked[:1], 1)
            fresh = Journal(None)
            Attempts(attempts.engine, policy, fresh, MEASURED).ask(asked, 1)
            known |= rates([fresh])
    return known
