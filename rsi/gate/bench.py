"""An engine at the gate: asked each question once, whatever breaks on one costs that one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite, isnan
from time import monotonic

from rsi.environments import kind
from rsi.errors import IntegrityError, TransientError
from rsi.gate.kept import Kept
from rsi.gate.questions import Question, Reply
from rsi.harness.episode import Episode, Speaker, Stop
from rsi.harness.loop import Play, Table, play
from rsi.harness.rules import Rules
from rsi.ids import digest
from rsi.ports import Dialogue, Engine, Generation
from rsi.records import Outcome, WorldTask
from rsi.report.evidence import Took
from rsi.tasks.worlds import VERIFIER
from rsi.verifiers import verify


def unspoken() -> Dialogue:
    """Stands where no suite is played.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("an episode was asked for, and nobody said how the base writes a conversation")


@dataclass
class Bench:
    """An engine that is asked each question once."""

    engine: Engine
    dialogue: Callable[[], Dialogue] = unspoken
    """How the base writes a conversation that grows; asked for where an episode is played."""
    known: dict[Question, Reply] = field(default_factory=dict)
    away: str = ""
    """What the last TransientError said."""
    kept: Kept | None = None
    """Replies of before a crash; None where nobody keeps them."""
    stopwatch: Callable[[], float] = monotonic
    """Seconds."""

    def ask(self, questions: Sequence[Question]) -> list[Reply]:
        """Replies in the order of the questions, which share all but prompt and world."""
        fresh = [one for one in dict.fromkeys(questions) if one not in self.known]
        if self.kept is not None:
            there = {one: reply for one in fresh if (reply := self.kept.of(one))}
            self.known.update(there)
            fresh = [one for one in fresh if one not in there]
        if fresh:
            try:
                replies = self._put(fresh)
            except IntegrityError:
                raise
            except Exception:
                replies = [self._alone(one) for one in fresh]
            self.known.update(zip(fresh, replies, strict=True))
            if self.kept is not None:
                self.kept.add(zip(fresh, replies, strict=True))
        return [self.known[one] for one in questions]

    def check(self) -> None:
        """Tell an engine that was away from one that breaks on some questions.

        Raises:
            TransientError: it was away for every single one, so that nothing was measured.
        """
        if self.away and all(reply.error for reply in self.known.values()):
            raise TransientError(f"the engine answered none of {len(self.known)} questions: {self.away}")

    def _alone(self, question: Question) -> Reply:
        try:
            return self._put([question])[0]
        except IntegrityError:
            raise
        except Exception as error:
            if isinstance(error, TransientError):
                self.away = str(error)
            return Reply("", f"{type(error).__name__}: {str(error)[:200]}")

    def _put(self, questions: Sequence[Question]) -> list[Reply]:
        prompts = [question.prompt for question in questions]
        shared, began = questions[0], self.stopwatch()
        if shared.rules is not None:
            replies = self._played(questions, shared.rules)
        elif shared.words:
            rows = self.engine.choose(prompts, shared.words, shared.adapter)
            replies = [_chosen(shared.words, row)._replace(took=_took(None, None)) for row in rows]
        else:
            said = self.engine.generate(
                prompts, shared.adapter, shared.max_tokens, shared.temperature, shared.seed
            )
            replies = [Reply(one.text, took=_took(one.read, _written(one))) for one in said]
        if len(replies) != len(questions):
            raise RuntimeError(f"the engine gave {len(replies)} answers to {len(questions)} questions")
        each = (self.stopwatch() - began) / len(replies)
        return [_timed(one, each) for one in replies]

    def _played(self, questions: Sequence[Question], rules: Rules) -> list[Reply]:
        """Episodes side by side; one whose world crashed is tried once more in a fresh one."""
        table, adapter = Table(self.dialogue(), rules, _score), questions[0].adapter
        plays = [_play(WorldTask.parse(one.world.encode()), one.seed) for one in questions]
        episodes = list(play(plays, table, self.engine, adapter))
        crashed = [at for at, one in enumerate(episodes) if one.stop is Stop.CRASH]
        for at, one in zip(
            crashed, play([plays[at] for at in crashed], table, self.engine, adapter), strict=True
        ):
            episodes[at] = one
        return [_told(one) for one in episodes]


def _play(task: WorldTask, seed: int) -> Play:
    """An episode drawn from the seed and the task alone: all versions meet the same chance."""
    return Play(task, int(digest(["measure", seed, task.task_id])[:8], 16), kind(task.environment).open)


def _score(state: str, expected: str) -> Outcome:
    return verify(VERIFIER, state, expected)


def _told(episode: Episode) -> Reply:
    read = sum(turn.start for turn in episode.turns if turn.speaker is Speaker.ANSWER)
    took = _took(read, len(episode.logprobs))
    return Reply("\n".join(episode.answers), outcome=episode.outcome, took=took)


def _timed(reply: Reply, seconds: float) -> Reply:
    """A reply with its share of the time; what is no answer took nothing that would say anything."""
    if reply.error or reply.took is None:
        return reply._replace(took=None)
    return reply._replace(took=reply.took.model_copy(update={"seconds": seconds}))


def _took(read: int | None, written: int | None) -> Took:
    return Took(answers=1, seconds=0.0, read=read, written=written)


def _written(said: Generation) -> int | None:
    """Tokens of an answer; an engine that tells none of a text does not count them."""
    return None if said.text and not said.token_ids else len(said.token_ids)


def _chosen(words: tuple[str, ...], row: Sequence[float]) -> Reply:
    """The best label; "" where several share the best score: the gateway then takes the router's own role.

    A label may have no chance (minus infinity): a server that only names its choice says so of the others.
    """
    if len(row) != len(words) or not any(map(isfinite, row)) or any(isnan(one) or one == inf for one in row):
        return Reply("", "ScoreError: the engine did not give one usable score a label")
    best = [word for word, score in zip(words, row, strict=True) if score == max(row)]
    return Reply(best[0] if len(best) == 1 else "")
