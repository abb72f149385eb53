"""Where a failed run first went wrong, and whose failure it was. Pure: facts and the other runs in, a step out.

What a run should have done is what its task expects; where a run of the same task passed with other actions, it
is what that run did. The earliest of these steps counts:

| method | the step | confidence |
| --- | --- | --- |
| action | proposes or does an action otherwise than it should be, or one that should not be | 0.9 |
| refusal | refuses, in words or by handing over, before an action that was never done | 0.7 |
| cut | is the last one of a run that ends on a tool's word | 0.6 |
| sibling | does not do the first look-up or action of a sibling that this run never did | 0.5 |
| reply | is the first reply behind the last call that prepares an action never done | 0.4 |
| output | is the last answer, where it does not say what was to be said | 0.5 |
| only | is the only one | 0.9 |

An action is proposed in the first message behind the last look-up that names at least half of its values; one
that was refused and tried again counts from the first try. Refusals are told by a closed list of English words.
The confidences are an order, not measured shares.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rsi.discover.actions import (
    Action,
    Mismatch,
    action_of,
    compare,
    done_calls,
    expected_actions,
)
from rsi.discover.blame import blame, unsaid
from rsi.discover.facts import CallFact, TraceFacts
from rsi.discover.steps import Steps, leaves, same_call, share_a_value, steps_of
from rsi.discover.window import Siblings, Window
from rsi.records import Blame, Evidence


class Method(StrEnum):
    """What showed the step to be wrong."""

    ACTION = "action"
    REFUSAL = "refusal"
    CUT = "cut"
    SIBLING = "sibling"
    REPLY = "reply"
    OUTPUT = "output"
    ONLY = "only"
    NOTHING = "nothing"


_CONFIDENCE = {
    Method.ACTION: 0.9, Method.REFUSAL: 0.7, Method.CUT: 0.6, Method.SIBLING: 0.5, Method.REPLY: 0.4,
    Method.OUTPUT: 0.5, Method.ONLY: 0.9, Method.NOTHING: 0.0,
}  # fmt: skip

_LOOKED_BACK = 200
"""Calls before another that are compared with it."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A step that is shown to be wrong."""

    message: int
    """Counts from 0 with the system prompt."""
    method: Method
    why: str
    call: CallFact | None = None


@dataclass(frozen=True, slots=True)
class Localisation:
    """Where a failed run first went wrong."""

    message: int | None
    """Null where no step is shown to be wrong."""
    message_uid: str | None
    call_uid: str | None
    why: str
    method: Method
    confidence: float
    """0 to 1, of the step."""
    blame: Blame
    reason: str
    """Why this blame."""
    mismatch: Mismatch = field(default_factory=Mismatch)
    """Against the actions that it should have done."""
    should: tuple[Action, ...] = ()

    def evidence(self, trace_uid: str) -> Evidence:
        """The step as evidence."""
        return Evidence(
            trace_uid=trace_uid, message_uid=self.message_uid, call_uid=self.call_uid, says=self.why
        )


def localise(facts: TraceFacts, window: Window) -> Localisation | None:
    """The first wrong step of a failed run; null for a run that did not fail."""
    if facts.outcome != "fail":
        return None
    steps, siblings = steps_of(facts), window.siblings(facts)
    should, done = _should(facts, siblings, window), [action_of(call) for call in done_calls(facts)]
    mismatch = compare(should, done, window.deciding) if should is not None else Mismatch()
    found = (
        _Search(facts, steps, siblings, window, tuple(should or ()), mismatch).first()
        if steps.agent
        else None
    )
    whose, reason = blame(facts, steps, siblings, should, mismatch, found.message if found else None)
    if found is None:
        return Localisation(
            None, None, None, "no step is shown to be wrong", Method.NOTHING, 0.0, whose, reason, mismatch,
            tuple(should or ()),
        )  # fmt: skip
    call = found.call or next(iter(steps.asked(found.message)), None)
    return Localisation(
        message=found.message,
        message_uid=steps.turns[found.message].message_uid,
        call_uid=call.call_uid if call else None,
        why=found.why,
        method=found.method,
        confidence=_CONFIDENCE[found.method],
        blame=whose,
        reason=reason,
        mismatch=mismatch,
        should=tuple(should or ()),
    )


def _should(facts: TraceFacts, siblings: Siblings, window: Window) -> list[Action] | None:
    """The actions that a run should have done: expected, or those of the passed run that is nearest to it."""
    expected = expected_actions(facts)
    if expected is not None and not siblings.contradicted:
        return expected
    if not siblings.references or not window.deciding:
        return expected
    done = [action_of(call) for call in done_calls(facts)]
    ways = [
        [action_of(call) for call in calls if call.name in window.deciding] for calls in siblings.references
    ]
    return min(ways, key=lambda way: _distance(compare(way, done, window.deciding)))


def _distance(mismatch: Mismatch) -> int:
    return len(mismatch.missing) + len(mismatch.wrong) + len(mismatch.unexpected)


@dataclass(frozen=True, slots=True)
class _Search:
    """The candidates of one run."""

    facts: TraceFacts
    steps: Steps
    siblings: Siblings
    window: Window
    should: tuple[Action, ...]
    mismatch: Mismatch

    def first(self) -> Wrong | None:
        """The earliest step that is shown to be wrong."""
        found = [self._done(at) for at in self.mismatch.unexpected]
        found += [self._done(at, pair, differing) for pair, at, differing in self.mismatch.wrong]
        # Of missing actions the first: those behind it were never reached.
        found += [one for at in self.mismatch.missing[:1] if (one := self._missing(at)) is not None]
        if not found:
            said = self._unsaid()
            rest = (self._departure() if said else None, said, self._cut(), self._departure(), self._only())
            found = [one for one in rest if one is not None][:1]
        return min(found, key=lambda one: (one.message, -_CONFIDENCE[one.method], one.why), default=None)

    def _done(self, at: int, pair: int | None = None, differing: Sequence[str] = ()) -> Wrong:
        """An action that was done wrongly, or needlessly: where it was proposed."""
        call = done_calls(self.facts)[at]
        index = self.steps.calls.index(call)
        given = action_of(call).arguments
        if pair is None:
            named, why = leaves(given), f"{call.name} was not to be done"
        else:
            wanted = self.should[pair].arguments
            index = self._first_try(index, self.should[pair])
            given = action_of(self.steps.calls[index]).arguments
            changed = {name: given.get(name) for name in differing}
            named = leaves(changed) - leaves({name: wanted.get(name) for name in differing})
            why = f"{call.name} with another {', '.join(differing)}"
        message = self.steps.proposed(index, named, self._looked_up(index))
        return Wrong(message, Method.ACTION, why, self.steps.calls[index])

    def _first_try(self, index: int, wanted: Action) -> int:
        """The first call of the tool for the same thing that was refused, and was not as it should be."""
        for at, call in enumerate(self.steps.calls[:index]):
            if call.name == wanted.tool and call.status == "error":
                tried = action_of(call)
                if wanted.differing(tried) and share_a_value(tried.arguments, wanted.arguments):
                    return at
        return index

    def _looked_up(self, index: int) -> int:
        """The message of the last look-up before a call; calls that answer nothing are none."""
        for at in range(index - 1, -1, -1):
            call = self.steps.calls[at]
            if call.name not in self.window.deciding and call.status == "ok" and call.answer is not None:
                return self.steps.places[at]
        return -1

    def _missing(self, at: int) -> Wrong | None:
        """An action that was never done: where the run turned away from it."""
        wanted, after = self.should[at], self._prepared(at)
        if (message := self.steps.gives_up(after)) is not None:
            return Wrong(message, Method.REFUSAL, f"turns away from {wanted.tool}")
        if not self.steps.finished:
            return Wrong(self.steps.agent[-1], Method.CUT, f"ends before {wanted.tool}")
        if (departed := self._departure()) is not None:
            return departed
        if (message := self.steps.says(after)) is not None:
            return Wrong(message, Method.REPLY, f"does not do {wanted.tool}")
        return None

    def _prepared(self, at: int) -> int:
        """The message of the last call that leads up to an action: one expected before it, or about the same."""
        wanted, before = self.should[at], self.should[:at]
        last, seen = -1, list[CallFact]()
        for call, place in zip(self.steps.calls, self.steps.places, strict=True):
            told_before = any(same_call(call, one) for one in seen[-_LOOKED_BACK:])
            if call.status != "ok" or call.name == wanted.tool or told_before:
                continue
            seen.append(call)
            one = action_of(call)
            leads = any(
                one.tool == other.tool and not other.differing(one) for other in before[-_LOOKED_BACK:]
            )
            if leads or share_a_value(one.arguments, wanted.arguments):
                last = place
        return last

    def _departure(self) -> Wrong | None:
        """The first call of the nearest good run that this run never made: the step that should have made it."""
        best: Wrong | None = None
        for calls in self.siblings.references + self.siblings.conforming:
            found = self._departs(calls)
            if found is not None and (best is None or found.message > best.message):
                best = found
        return best

    def _departs(self, reference: Sequence[CallFact]) -> Wrong | None:
        after, told = -1, [call for call in reference if self._tells(call)]
        for call in told:
            made = self.steps.made(call)
            if made is not None:
                after = max(after, made)
                continue
            step = self.steps.next_step(after)
            while step is not None and self._keeps_to(step, told):
                step = self.steps.next_step(step)
            return Wrong(step, Method.SIBLING, f"a better run calls {call.name} here") if step else None
        return None

    def _tells(self, call: CallFact) -> bool:
        """Whether a call looked something up or changed something: thinking aloud does neither."""
        return call.answer is not None or call.name in self.window.deciding

    def _keeps_to(self, message: int, reference: Sequence[CallFact]) -> bool:
        """Whether a step only thinks, or only does what the reference does at some time."""
        calls = self.steps.asked(message)
        return bool(calls) and all(
            not self._tells(call) or any(same_call(call, one) for one in reference) for call in calls
        )

    def _unsaid(self) -> Wrong | None:
        """The last answer, where a text that was to be said stands in none."""
        if not unsaid(self.facts):
            return None
        last = next((at for at in reversed(self.steps.agent) if self.steps.turns[at].text), None)
        return Wrong(last, Method.OUTPUT, "what was to be said is not said") if last is not None else None

    def _cut(self) -> Wrong | None:
        if self.steps.finished:
            return None
        return Wrong(self.steps.agent[-1], Method.CUT, "the run ends here, on a tool's word")

    def _only(self) -> Wrong | None:
        if len(self.steps.agent) != 1:
            return None
        return Wrong(self.steps.agent[0], Method.ONLY, "the only step of a run that failed")
