"""The steps of a failed run, as localisation reads them: messages in order, and the calls they ask for."""

import bisect
import re
from dataclasses import dataclass

from rsi.discover.actions import Arguments, loaded
from rsi.discover.facts import At, CallFact, TraceFacts, TurnFact

_PEOPLE = r"(human|operator|representative|person|supervisor|((live|support|service|customer)_)+(agent|team|staff))s?"
_HAND_OVER = re.compile(
    r"(^|_)(transfer|escalate|hand_?off|hand_?over|forward|connect)(_(call|chat|user|customer|conversation|case))?"
    rf"(_to)?(_an?)?(_(live|real))?_{_PEOPLE}(_agents?)?$|^escalate$"
    r"|(^|_)(human|operator)_(hand_?off|hand_?over|transfer|escalation)$"
)
"""Names of tools in lower case with ``_`` between words. Agents that hand over to other agents do not give up."""
_REFUSES = re.compile(
    r"\b(unable to|not able to|cannot|can't|can not|could not|unfortunately|not (possible|allowed|permitted|eligible)"
    r"|does not allow|do not have (access|the ability)|don't have (access|the ability))\b",
    re.IGNORECASE,
)
_SHORTEST = 3


def hands_over(tool: str) -> bool:
    """Whether a tool, by its name, gives the conversation to a person."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[\W_]+", "_", tool[:100]).lower()
    return _HAND_OVER.search(plain) is not None


@dataclass(frozen=True, slots=True)
class Steps:
    """One failed run. A step is a message of the agent; messages count from 0 with the system prompt."""

    turns: tuple[TurnFact, ...]
    calls: tuple[CallFact, ...]
    """The agent's, in order, also those that were refused."""
    places: tuple[int, ...]
    """For each call the message that asks for it."""
    agent: tuple[int, ...]
    """The messages of the agent."""

    @property
    def finished(self) -> bool:
        """Whether the last word was not a tool's that the agent never answered."""
        last = self.turns[-1].role if self.turns else ""
        return last != "tool" or (bool(self.calls) and hands_over(self.calls[-1].name))

    def next_step(self, after: int) -> int | None:
        """The agent's first message behind a message."""
        at = bisect.bisect_right(self.agent, after)
        return self.agent[at] if at < len(self.agent) else None

    def asked(self, message: int) -> tuple[CallFact, ...]:
        """The calls that a message asks for."""
        low, high = bisect.bisect_left(self.places, message), bisect.bisect_right(self.places, message)
        return self.calls[low:high]

    def made(self, call: CallFact) -> int | None:
        """The message that first asks for a call like one of another run."""
        for own, place in zip(self.calls, self.places, strict=True):
            if same_call(own, call):
                return place
        return None

    def gives_up(self, after: int) -> int | None:
        """The agent's first message behind a message that refuses, in words or by handing over."""
        for message in self.agent[bisect.bisect_right(self.agent, after) :]:
            text = self.turns[message].text
            if (text and _REFUSES.search(text)) or any(hands_over(call.name) for call in self.asked(message)):
                return message
        return None

    def says(self, after: int) -> int | None:
        """The agent's first message behind a message that has text and no call."""
        for message in self.agent[bisect.bisect_right(self.agent, after) :]:
            if self.turns[message].text and not self.asked(message):
                return message
        return None

    def proposed(self, action: int, named: set[str], since: int) -> int:
        """The agent's first message behind `since` that names at least half of some values; else the call's own."""
        place = self.places[action]
        for message in self.agent[bisect.bisect_right(self.agent, since) :]:
            if message >= place or not named:
                break
            text = (self.turns[message].text or "").lower()
            text += "".join((call.arguments or "").lower() for call in self.asked(message))
            if 2 * sum(one in text for one in named) >= len(named):
                return message
        return place


def steps_of(facts: TraceFacts) -> Steps:
    """The steps of a run; calls that no conversation tells stand at the message before them."""
    order = [turn.at for turn in facts.turns]
    calls = tuple(sorted((call for call in facts.calls if not call.by_user), key=lambda one: one.at))
    agent = tuple(at for at, turn in enumerate(facts.turns) if turn.role == "assistant")
    places = tuple(_place(order, call.at) for call in calls)
    return Steps(facts.turns, calls, places, agent)


def _place(order: list[At], at: At) -> int:
    return max(0, bisect.bisect_right(order, at) - 1)


def leaves(value: object, depth: int = 0) -> set[str]:
    """Texts and numbers in arguments, lower case, those of at least three characters."""
    if depth > 20:
        return set()
    if isinstance(value, dict):
        return {leaf for one in value.values() for leaf in leaves(one, depth + 1)}
    if isinstance(value, list):
        return {leaf for one in value for leaf in leaves(one, depth + 1)}
    if isinstance(value, bool) or value is None:
        return set()
    text = str(value).lower()
    return {text} if len(text) >= _SHORTEST else set()


def share_a_value(one: Arguments, other: Arguments) -> bool:
    """Whether two calls are about the same thing: equal texts among their arguments themselves."""
    values = {value for value in one.values() if isinstance(value, str) and len(value) >= _SHORTEST}
    return any(isinstance(value, str) and value in values for value in other.values())


def same_call(one: CallFact, other: CallFact) -> bool:
    """Equal names and arguments, however they are written."""
    return one.name == other.name and (
        one.arguments == other.arguments or loaded(one.arguments) == loaded(other.arguments)
    )
