"""What was done against what was expected, on runs that did not pass, of traces that say what was expected."""

from rsi.discover.actions import Mismatch, action_of, compare, done_calls, expected_actions
from rsi.discover.blame import unsaid
from rsi.discover.facts import TraceFacts
from rsi.discover.localise import Localisation
from rsi.discover.signs import Chance, Found, Kind, Sign
from rsi.discover.window import Window
from rsi.records import Blame, Evidence


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
    found = compare(expected, [action_of(call) for call in calls], window.deciding)
    return _signs(facts, found, where), chances


def _signs(facts: TraceFacts, found: Mismatch, where: Localisation | None) -> list[Sign]:
    expected, calls = expected_actions(facts) or [], done_calls(facts)
    blame = where.blame if where else Blame.MODEL
    signs = []
    for at in found.missing:
        tool = expected[at].tool
        seen = Evidence(trace_uid=facts.trace_uid, says=f"{tool} was never done")
        if where is not None and where.message is not None:
            seen = where.evidence(facts.trace_uid)
        signs.append(Sign(Kind.MISSING_ACTION, tool, "", Chance("expecting", tool), blame, (seen,)))
    for pair, at, differing in found.wrong:
        tool = expected[pair].tool
        for name in differing:
            seen = Evidence(
                trace_uid=facts.trace_uid, call_uid=calls[at].call_uid or None, says=f"another {name}"
            )
            signs.append(Sign(Kind.WRONG_ARGUMENTS, tool, name, Chance("expecting", tool), blame, (seen,)))
    for at in found.unexpected:
        call = calls[at]
        seen = Evidence(
            trace_uid=facts.trace_uid, call_uid=call.call_uid or None, says=f"{call.name} was done"
        )
        chance = Chance("called against expectations", call.name)
        signs.append(Sign(Kind.UNEXPECTED_ACTION, call.name, "", chance, blame, (seen,)))
    return signs


def outputs(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """What was to be said word for word and was not."""
    chance = Chance("expecting words")
    if facts.expected is None or '"outputs":[]' in facts.expected or '"outputs"' not in facts.expected:
        return [], set()
    if facts.outcome != "fail" or not unsaid(facts):
        return [], {chance}
    last = next((turn for turn in reversed(facts.turns) if turn.role == "assistant"), None)
    seen = Evidence(
        trace_uid=facts.trace_uid, message_uid=last.message_uid if last else None, says="not said up to here"
    )
    blame = where.blame if where else Blame.MODEL
    return [Sign(Kind.MISSING_OUTPUT, "words", "", chance, blame, (seen,))], {chance}
