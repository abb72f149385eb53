"""The thin agent loop: ask, read the call, use the tool, tell the result, until a rule stops it.

Episodes run in lock-step: each turn, all that still go are answered in one call of the engine. The conversation is a
list of tokens that only grows. Sampled ids stay as they were drawn; what tools say is appended as the chat template
writes a turn. Whatever a model says, the loop does not raise; an environment that raises or hangs ends its own episode
as a crash, with no reward, for the caller to try again in a fresh one.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from rsi.errors import ContractError
from rsi.harness import calls
from rsi.harness.episode import Episode, Speaker, Stop, Turn
from rsi.harness.rules import Rules, Unread
from rsi.ids import digest
from rsi.ports import Dialogue, Environment, Generation, Sampler, ToolResult
from rsi.records import ChatMessage, Outcome, OutcomeKind, WorldTask

Given = TypeVar("Given")
Score = Callable[[str, str], Outcome]
"""(final state, expected) -> outcome: the verifier of final states."""
DETAIL = 300
"""Most characters of what is kept of a crash."""


@dataclass(frozen=True)
class Play:
    """An episode to be played."""

    task: WorldTask
    seed: int
    """Of its draws, and of the world's where there is chance in it."""
    world: Callable[[], Environment]
    """Opens a fresh environment."""


class Table(NamedTuple):
    """What all episodes of a call share."""

    dialogue: Dialogue
    rules: Rules
    score: Score


def play(plays: Sequence[Play], table: Table, sampler: Sampler, adapter: str | None) -> tuple[Episode, ...]:
    """Play episodes side by side; one episode a play, in their order.

    An episode follows from its task, its seed and the model, not from its company (but for last bits of log-probs).

    Raises:
        ContractError: the chat template refuses the conversation, or a tool's schema cannot be written.
        TransientError: the engine is away.
    """
    live = [_Live(one, table) for one in plays]
    try:
        for one in live:
            one.open()
        for turn in range(table.rules.turns):
            talking = [one for one in live if one.stop is None]
            if not talking:
                break
            said = sampler.generate_tokens(
                [one.tokens for one in talking],
                adapter,
                table.rules.answer_tokens,
                table.rules.temperature,
                [_seed(one.play.seed, turn) for one in talking],
            )
            for one, generation in zip(talking, said, strict=True):
                one.hear(generation)
        return tuple(one.finish() for one in live)
    finally:
        for one in live:
            one.close()


def demonstrate(play: Play, table: Table) -> Episode:
    """The task's oracle, played: what a perfect model would say, in the same tokens. Its log-probs are zeros.

    Raises:
        ContractError: the oracle has more turns than the rules allow, or calls that cannot be written.
    """
    if len(play.task.oracle) > table.rules.turns:
        raise ContractError(
            f"the oracle of {play.task.task_id} has {len(play.task.oracle)} turns; the rules allow {table.rules.turns}"
        )
    live = _Live(play, table)
    try:
        live.open()
        for left, call in reversed(list(enumerate(reversed(play.task.oracle)))):
            if live.stop is not None:
                break
            text = calls.write(call, live.tools) + ("" if left else f" {table.rules.stop}")
            ids = table.dialogue.answer(text)
            live.hear(Generation(text, ids, (0.0,) * len(ids), "stop"))
        return live.finish()
    finally:
        live.close()


class _Live:
    """An episode under way."""

    def __init__(self, play: Play, table: Table) -> None:
        self.play, self._table, self._rules = play, table, table.rules
        self.stop: Stop | None = None
        self.tokens: list[int] = []
        self.tools: dict[str, calls.Tool] = {}
        self._world: Environment | None = None
        self._logprobs: list[float] = []
        self._turns: list[Turn] = []
        self._readable = False
        self._same = 0
        self._fault: Outcome | None = None

    def open(self) -> None:
        """Set the world up and write the prompt."""
        request = self._ask(self._reset)
        if request is None or self._world is None:
            return
        self.tools = calls.tools_of(self._world.tools)
        system = calls.system_text(self.tools, self._world.policy, self._rules.stop)
        prompt = (
            ChatMessage(role="system", content=system),
            ChatMessage(role="user", content=request),
        )
        self.tokens += self._table.dialogue.opening(prompt)
        self._turns.append(Turn(Speaker.PROMPT, 0, len(self.tokens), f"{system}\n\n{request}"))
        if len(self.tokens) + self._rules.answer_tokens > self._rules.context:
            self.stop = Stop.CONTEXT
            detail = f"a prompt of {len(self.tokens)} tokens in a context of {self._rules.context}"
            self._fault = Outcome(kind=OutcomeKind.INVALID, detail=detail)

    def _reset(self) -> str:
        self._world = self.play.world()
        return self._world.reset(self.play.task, self.play.seed)

    def hear(self, said: Generation) -> None:
        """Take an answer, do what it says, and append what comes back."""
        start = len(self.tokens)
        self.tokens += said.token_ids
        self._logprobs += said.logprobs
        result = self._answered(said.text)
        self._turns.append(Turn(Speaker.ANSWER, start, len(self.tokens), said.text, result.failed))
        answers = sum(turn.speaker is Speaker.ANSWER for turn in self._turns)
        if self.stop is None and answers == self._rules.turns:
            self.stop = Stop.TURNS
        if self.stop is Stop.CRASH:
            return
        # A world may hand back half a character, which no tokenizer takes.
        text = result.text[: self._rules.result_chars].encode(errors="replace").decode()
        start = len(self.tokens)
        if self.stop is None:
            told = ChatMessage(role=self._rules.role, content=text)
            more = self._table.dialogue.between(said.token_ids, told)
            if start + len(more) + self._rules.answer_tokens > self._rules.context:
                self.stop = Stop.CONTEXT
            else:
                self.tokens += more
        if text:
            self._turns.append(Turn(Speaker.RESULT, start, len(self.tokens), text))

    def _answered(self, text: str) -> ToolResult:
        """Do what an answer says; sets `stop` where a rule ends the episode."""
        before = next((turn.text for turn in reversed(self._turns) if turn.speaker is Speaker.ANSWER), None)
        self._same = self._same + 1 if text == before else 1
        if self._same > self._rules.repeats:
            self.stop = Stop.REPEATED
            return ToolResult("", failed=True)
        try:
            said = calls.read(text, self._rules.stop)
        except calls.Unreadable as error:
            if self._rules.unread is Unread.END:
                self.stop = Stop.UNREADABLE
            return ToolResult(f"error: {error}", failed=True)
        self._readable = True
        if not said.name:
            self.stop = Stop.DONE
            return ToolResult("")
        try:
            call = calls.fit(said, self.tools)
        except calls.Misfit as error:
            return ToolResult(f"error: {error}", failed=True)
        world = self._world
        result = self._ask(lambda: world.call(call.name, call.arguments) if world else None)
        if result is None:
            return ToolResult("", failed=True)
        if said.stop and not result.failed:
            self.stop = Stop.DONE
        return ToolResult(f"error: {result.text}", failed=True) if result.failed else result

    def finish(self) -> Episode:
        """The episode, judged by the state its world ended in."""
        world = self._world
        state = "" if self._fault else self._ask(lambda: world.final_state() if world else "") or ""
        judged = self._fault or self._judged(state)
        return Episode(
            self.play.task.task_id,
            self.play.seed,
            tuple(self.tokens),
            tuple(self._logprobs),
            tuple(self._turns),
            self.stop or Stop.TURNS,
            judged,
            state,
        )

    def _judged(self, state: str) -> Outcome:
        answers = [turn.text for turn in self._turns if turn.speaker is Speaker.ANSWER]
        if not any(text.strip() for text in answers):
            return Outcome(kind=OutcomeKind.EMPTY)
        if self.stop is Stop.UNREADABLE or not self._readable:
            return Outcome(kind=OutcomeKind.WRONG_FORMAT, detail=answers[-1][:DETAIL])
        judged = self._ask(lambda: self._table.score(state, self.play.task.expected))
        return judged or self._fault or Outcome(kind=OutcomeKind.ERROR)

    def _ask(self, work: Callable[[], Given]) -> Given | None:
        """What world or verifier give; None, and a crash of the episode, where they raise or take too long."""
        try:
            return within(self._rules.tool_seconds, work)
        except Exception as error:  # whatever a world raises is its own fault and ends this episode alone
            self.stop = Stop.CRASH
            detail = f"{type(error).__name__}: {error}"[:DETAIL]
            self._fault = Outcome(kind=OutcomeKind.ERROR, detail=detail)
            return None

    def close(self) -> None:
        """Let go of the world, however it is."""
        world = self._world
        if world is not None:
            with suppress(Exception):
                within(self._rules.tool_seconds, world.close)


def within(seconds: float, work: Callable[[], Given]) -> Given:
    """Do work in a thread that may be left behind when it hangs.

    Raises:
        TimeoutError: it took longer.
    """
    future: Future[Given] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="rsi-world", daemon=True).start()
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():
            raise
        raise TimeoutError(f"nothing came back within {seconds:g} s") from None


def _seed(seed: int, turn: int) -> int:
    """The seed of one answer: of 32 bits, as every engine takes."""
    return int(digest([seed, turn])[:8], 16)
