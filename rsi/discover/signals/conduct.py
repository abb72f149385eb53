"""How a run went: retries, loops, giving up, markup in place of calls, answers cut off."""

from collections import Counter
from collections.abc import Sequence

from rsi.discover.actions import expected_actions
from rsi.discover.evidence import of_call, of_message, of_span
from rsi.discover.facts import CallFact, TraceFacts
from rsi.discover.localise import Localisation
from rsi.discover.signs import Chance, Found, Kind, Sign, blame_of_error
from rsi.discover.steps import hands_over
from rsi.discover.window import Window
from rsi.records import Blame
from rsi.tasks.manner import refuses

_LONGEST = 4
"""Calls in a cycle."""
_ROUNDS = 3
"""Times that a cycle is run through before it is a loop."""
_AGAIN = 4
"""Equal calls with equal answers anywhere in a run that are a loop."""
_Key = tuple[str, str | None, int | None]


def retries(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """The same call again right behind its own error, where the error is not of reaching something."""
    signs = []
    for one, other in zip(facts.calls, facts.calls[1:], strict=False):
        if (
            one.status == other.status == "error"
            and (one.name, one.arguments) == (other.name, other.arguments)
            and blame_of_error(one.error or "") is not Blame.ENVIRONMENT
        ):
            signs.append(
                _call_sign(facts, Kind.RETRY, one.name, other, "the same call again, behind its error")
            )
    return signs, set()


def loops(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """Up to four calls three times in a row, or one call four times anywhere: equal arguments and answers."""
    calls = [call for call in facts.calls if not call.by_user and call.arguments is not None]
    keys: list[_Key] = [(call.name, call.arguments, call.answer) for call in calls]
    signs = []
    for length in range(1, _LONGEST + 1):
        at = _cycle(keys, length)
        if at is not None:
            names = "+".join(dict.fromkeys(call.name for call in calls[at : at + length]))
            last = calls[at + _ROUNDS * length - 1]
            signs.append(
                _call_sign(facts, Kind.LOOP, names, last, f"{length} equal calls for the third time")
            )
            break
    counts = Counter(key for key in keys if key[2] is not None)
    for key in [key for key, count in counts.items() if count >= _AGAIN] if not signs else ():
        last = next(call for call, own in zip(reversed(calls), reversed(keys), strict=True) if own == key)
        signs.append(_call_sign(facts, Kind.LOOP, key[0], last, f"the same call {counts[key]} times"))
    return signs, set()


def _cycle(keys: Sequence[_Key], length: int) -> int | None:
    """Where a cycle of that many calls begins that is run through three times."""
    needed, run = (_ROUNDS - 1) * length, 0
    for at in range(length, len(keys)):
        run = run + 1 if keys[at] == keys[at - length] else 0
        if run == needed:
            return at - needed - length + 1
    return None


def _call_sign(facts: TraceFacts, kind: Kind, subject: str, call: CallFact, says: str) -> Sign:
    seen = of_call(facts, call, says)
    return Sign(kind, subject, "", Chance("called", call.name), evidence=(seen,))


def give_ups(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """Handed over to a person without need, on a run that did not pass; or a failed run's last word is a refusal."""
    if facts.outcome == "pass":
        return [], set()
    needed = {one.tool for one in expected_actions(facts) or ()}
    blame = where.blame if where else Blame.MODEL
    for call in facts.calls:
        if hands_over(call.name) and call.name not in needed and not call.by_user:
            seen = of_call(facts, call, "handed over")
            return [Sign(Kind.GIVE_UP, call.name, "", Chance("trace"), blame, (seen,))], set()
    last = next((turn for turn in reversed(facts.turns) if turn.role == "assistant" and turn.text), None)
    if facts.outcome == "fail" and last is not None and refuses(last.text or ""):
        seen = of_message(facts, last.message_uid, "the last word is a refusal")
        return [Sign(Kind.GIVE_UP, "refusal", "", Chance("trace"), blame, (seen,))], set()
    return [], set()


def forms(facts: TraceFacts, window: Window, where: Localisation | None) -> Found:
    """An answer that is the markup of a tool call, which nothing read; an answer that reached its limit of tokens."""
    signs = []
    if facts.leaked is not None:
        seen = of_message(facts, facts.leaked, "the text is a tool call's markup")
        signs.append(Sign(Kind.FORMAT, "tool call in text", "", Chance("trace"), evidence=(seen,)))
    if facts.cut is not None:
        seen = of_span(facts, facts.cut, "the answer reached its limit of tokens")
        signs.append(Sign(Kind.CUT, "answer", "", Chance("trace"), Blame.HARNESS, (seen,)))
    return signs, set()
