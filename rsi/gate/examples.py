"""Examples for the person who answers: requests of the dev side, routed by both versions, losses first.

From the deployment's own labelled traces that the split set aside for looking (`Split.DEV`); nothing of what the gate
asks is here, and nothing here weighs in the verdict.
"""

from collections.abc import Sequence

from rsi.context import Context
from rsi.gate.bench import Bench
from rsi.gate.questions import Question
from rsi.harness import hcp
from rsi.ports import Engine
from rsi.records import ChatMessage, Split, Version
from rsi.report.evidence import Example
from rsi.store.database import store_batch

MOST_ASKED = 48
"""Requests that both versions are asked."""
MOST_SHOWN = 3
_LABELLED = """
select t.input_text, max(s.correction) as correction
from traces t
join scores s using (trace_uid)
join trace_sides d using (trace_uid)
where d.split = $split and s.name = 'route' and s.correction is not null and t.input_text is not null
  and list_contains($origins, t.origin) and ($until = 0 or (t.ordinal <= $until and s.ordinal <= $until))
group by t.input_text
having count(distinct s.correction) = 1
order by md5(t.input_text)
limit $most
"""


def examples(context: Context, before: Version, after: Version, engine: Engine) -> tuple[Example, ...]:
    """Requests with both versions' routes; none where both route by the same adapter and text."""
    sides = [(one, hcp.load(context.home.harnesses, one.harness)) for one in (before, after)]
    known = sides[0][1].roles
    if len({_router(*side) for side in sides}) == 1:
        return ()
    labelled = [(text, role) for text, role in _labelled(context) if role in known]
    bench, routed = Bench(engine), list[list[str]]()
    for version, harness in sides:
        adapter = version.adapters.get(harness.router)
        prompts = [harness.route_prompt((ChatMessage(role="user", content=text),)) for text, _ in labelled]
        replies = bench.ask([Question(adapter, prompt, harness.words) for prompt in prompts])
        routed.append([harness.labels.get(reply.text, harness.router) for reply in replies])
    return tuple(Example(text, role, *both) for (text, role), *both in zip(labelled, *routed, strict=True))


def worth_showing(found: Sequence[Example]) -> tuple[Example, ...]:
    """Up to three that the versions route differently, losses first."""
    changed = [one for one in found if one.before != one.after]
    return tuple(sorted(changed, key=_doubt)[:MOST_SHOWN])


def _router(version: Version, harness: hcp.Harness) -> tuple[str | None, str, tuple[str, ...]]:
    """All that decides a route."""
    return version.adapters.get(harness.router), harness.prompts.route, harness.words


def _doubt(one: Example) -> int:
    """Losses, then what is wrong both times, then gains."""
    return 0 if one.before == one.expected else 2 if one.after == one.expected else 1


def _labelled(context: Context) -> list[tuple[str, str]]:
    """(request, role that is right), in an order that has nothing to do with either."""
    asked = {
        "split": Split.DEV.value,
        "origins": [one.value for one in context.deployment.traces.origins],
        "until": context.start.ordinal,
        "most": MOST_ASKED,
    }
    with store_batch(context.home, context.world.clock, "examples") as connection:
        return [(str(text), str(role)) for text, role in connection.execute(_LABELLED, asked).fetchall()]
