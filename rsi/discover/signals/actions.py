"""What was done against what was expected, on runs that did not pass, of traces that say what was expected."""

from collections.abc import Sequence

from rsi.discover.actions import (
    Action,
    Mismatch,
    action_of,
    compare,
    done_calls,
    expected_actions,
    expected_outputs,
)
from rsi.discover.blame import unsaid
from rsi.discover.evidence import last_answer, of_call, of_message, of_trace
from rsi.discover.facts import TraceFacts
from rsi.discover.localise import Localisation
from rsi.discover.signs import Chance, Found, Kind, Sign
from rsi.discover.window import Window
from rsi.records import Blame


def actions(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """Missing, done otherwise, done without need."""
    expected = expected_actions(facts)
    if expected is None:
        return [], set()
    calls = done_calls(facts)
    chances = {Chance("expecting", one.tool) for one in expected}
    chances |= {Chance("called against expectations", call.name) for call in calls}
    if facts.outcome == "pass":
        return [], chances
    if where is not None:
        return _signs(facts, where.should, where.mismatch, where), chances
    found = compare(expected, [action_of(call) for call in calls], window.deciding)
    return _signs(facts, expected, found, None), chances


def _signs(
    facts: TraceFacts, expected: Sequence[Action], found: Mismatch, where: Localisation | None
) -> list[Sign]:
    """`expected` are the actions of a passed run where that did something else than the task says."""
    calls, blame = done_calls(facts), where.blame if where else Blame.MODEL
    signs = []
    for at in found.missing:
        tool = expected[at].tool
        seen = of_trace(facts, f"{tool} was never done")
        if where is not None and where.message is not None:
            seen = where.evidence(facts.trace_uid)
        signs.append(Sign(Kind.MISSING_ACTION, tool, "", Chance("expecting", tool), blame, (seen,)))
    for pair, at, differing in found.wrong:
        tool = expected[pair].tool
        for name in differing:
            seen = of_call(facts, calls[at], f"another {name}")
            signs.append(Sign(Kind.WRONG_ARGUMENTS, tool, name, Chance("expecting", tool), blame, (seen,)))
    for at in found.unexpected:
        call = calls[at]
        seen = of_call(facts, call, f"{call.name} was done")
        chance = Chance("called against expectations", call.name)
        signs.append(Sign(Kind.UNEXPECTED_ACTION, call.name, "", chance, blame, (seen,)))
    return signs


def outputs(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """What was to be said word for word and was not."""
    chance = Chance("expecting words")
    if not expected_outputs(facts):
        return [], set()
    if facts.outcome != "fail" or not unsaid(facts):
        return [], {chance}
    seen = of_message(facts, last_answer(facts), "not said up to here")
    blame = where.blame if where else Blame.MODEL
    return [Sign(Kind.MISSING_OUTPUT, "words", "", chance, blame, (seen,))], {chance}
