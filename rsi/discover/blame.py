"""Whose failure a failed run was. The first rule that applies decides:

| blame | rule |
| --- | --- |
| environment, harness | the run broke, or its last call before the wrong step was refused, in words of one of them |
| harness | a tool that the task expects is not on offer; an answer reached its limit of tokens |
| task | all actions that are expected were done, all was said, the run came to its end, and yet it failed |
| harness | the same, but it was cut off before the end |
| task | no run passed, and what the run used stands in what it saw, but the id or date expected nowhere |
| environment | an action is missing, and the simulated user never said an id that its instruction gives it |
| model | none of these |

The words are those of `signs.blame_of_error`. Where a passed run did something else than expected, what is
expected is no measure, and the passed run is one.
"""

import re
from collections.abc import Sequence

import orjson

from rsi.discover.actions import Action, Mismatch, action_of, done_calls, expected_outputs
from rsi.discover.facts import TraceFacts
from rsi.discover.signs import blame_of_error
from rsi.discover.steps import Steps, leaves
from rsi.discover.window import Siblings
from rsi.records import Blame

_ID = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z_])\w{6,}\b")
"""A word of letters and digits, as ids are."""
_READ = re.compile(r"\d.*[^\d.]|[^\d.].*\d")
"""A value that is read somewhere, as ids and dates are; bare numbers may be reckoned."""
_MODEL = Blame.MODEL, "nothing else is to blame"


def blame(
    facts: TraceFacts,
    steps: Steps,
    siblings: Siblings,
    should: Sequence[Action] | None,
    mismatch: Mismatch,
    message: int | None,
) -> tuple[Blame, str]:
    """Whose failure it was, and why; `message` is the wrong step, where one is known."""
    if facts.error is not None and (whose := blame_of_error(facts.error)) is not Blame.MODEL:
        return whose, f"the run broke: {facts.error[:120]}"
    if facts.cut is not None:
        return Blame.HARNESS, "an answer reached its limit of tokens"
    offered = tools_on_offer(facts)
    for at in mismatch.missing:
        if should and offered and should[at].tool not in offered:
            return Blame.HARNESS, f"{should[at].tool} is expected and not on offer"
    if message is not None and (refused := _refused_before(steps, message)) is not None:
        return refused
    if should and not mismatch.any:
        return _all_done(facts, steps, siblings)
    if should is not None and not siblings.passed and (lie := _not_in_the_world(facts, should, mismatch)):
        return Blame.TASK, lie
    if mismatch.missing and (name := _withheld(facts)) is not None:
        return Blame.ENVIRONMENT, f"the user never says {name}, which the instruction gives"
    return _MODEL


def unsaid(facts: TraceFacts) -> list[str]:
    """What the agent of a failed run was to say and did not; commas in numbers do not count."""
    wanted = expected_outputs(facts)
    if not wanted:
        return []
    said = "\n".join(_plain(turn.text or "") for turn in facts.turns if turn.role == "assistant")
    return [one for one in wanted if _plain(one) not in said]


def _plain(text: str) -> str:
    return text.replace(",", "").lower()


def tools_on_offer(facts: TraceFacts) -> frozenset[str]:
    """Names of the tools on offer; empty where the trace does not say."""
    try:
        found = orjson.loads(facts.offered) if facts.offered else []
    except orjson.JSONDecodeError:
        return frozenset()
    names = (
        (one if isinstance(one, str) else name_of(one) for one in found) if isinstance(found, list) else ()
    )
    return frozenset(name for name in names if name)


def name_of(definition: object) -> str | None:
    """The name in a tool's definition, of any API."""
    if not isinstance(definition, dict):
        return None
    inner = definition.get("function")
    name = inner.get("name") if isinstance(inner, dict) else definition.get("name")
    return name if isinstance(name, str) else None


def _refused_before(steps: Steps, message: int) -> tuple[Blame, str] | None:
    before = [call for call, place in zip(steps.calls, steps.places, strict=True) if place < message]
    if before and before[-1].status == "error":
        text = before[-1].error or ""
        whose = blame_of_error(text)
        if whose is not Blame.MODEL:
            return whose, f"{before[-1].name} was refused: {text[:120]}"
    return None


def _all_done(facts: TraceFacts, steps: Steps, siblings: Siblings) -> tuple[Blame, str]:
    if unsaid(facts):
        return _MODEL
    if not steps.finished:
        return Blame.HARNESS, "all was done and the run was cut off before its end"
    if siblings.contradicted or not steps.agent:
        return _MODEL
    return Blame.TASK, "all that is expected was done and said, and yet it failed"


def _not_in_the_world(facts: TraceFacts, should: Sequence[Action], mismatch: Mismatch) -> str | None:
    """An argument whose expected value nobody said and no tool answered, while the value used was."""
    if not mismatch.wrong:
        return None
    world = "\n".join((turn.text or "").lower() for turn in facts.turns if turn.role != "assistant")
    done = [action_of(call) for call in done_calls(facts)]
    for expected, at, differing in mismatch.wrong:
        for name in differing:
            wanted, used = leaves(should[expected].arguments.get(name)), leaves(done[at].arguments.get(name))
            lost = sorted(one for one in wanted - used if _READ.search(one) and one not in world)
            kept = used - wanted
            if lost and kept and all(one in world for one in kept):
                return f"{name} of {should[expected].tool} is expected to be {lost[0]}, which stands nowhere"
    return None


def _withheld(facts: TraceFacts) -> str | None:
    """An id of the user's instruction that the user never said, where the agent never used it either."""
    if facts.instruction is None or not facts.turns:
        return None
    heard = "\n".join(turn.text or "" for turn in facts.turns if turn.role != "assistant")
    heard += "\n".join(call.arguments or "" for call in facts.calls)
    return next((name for name in _ID.findall(facts.instruction) if name not in heard), None)
