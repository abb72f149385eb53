"""One training job being worked on: its folder, its model, who samples, which tasks come next."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rsi.algorithm import LOCAL
from rsi.engine import chat
from rsi.engine.chat import Dialogue
from rsi.engine.local import LocalEngine
from rsi.engine.weights import read_base
from rsi.errors import ContractError
from rsi.harness import hcp
from rsi.harness.loop import Table
from rsi.ports import Clock, Generation, Prompt
from rsi.records import Outcome, Task
from rsi.tasks.prompt import ROUTE
from rsi.tasks.worlds import HOP as WORLD
from rsi.tasks.worlds import VERIFIER
from rsi.update import job as jobs
from rsi.update import learner, served, shown
from rsi.update.actor import Actor
from rsi.update.closed import Labels, Texts, Weigh
from rsi.update.course import Course, course
from rsi.update.job import Job
from rsi.update.practice import Practice
from rsi.update.rehearsal import Rehearsal, script
from rsi.update.rollouts import Recorded, Rollouts
from rsi.update.shown import Refused, Shown
from rsi.update.watch import Watch, Watched
from rsi.update.worlds import Worlds
from rsi.update.written import Written
from rsi.verifiers import verify


class Run(NamedTuple):
    """One job being worked on."""

    place: Path
    job: Job
    model: learner.Learner
    harness: hcp.Harness
    labels: Labels
    practice: Practice
    rollouts: Rollouts
    course: Course
    unusable: int
    """Tasks that cannot be tried."""
    refused: Mapping[Refused, int]
    """Rollouts that were given and are not shown."""
    actor: Actor | None
    """Who samples, where that is not the learner itself."""
    clock: Clock
    watch: Watch

    @property
    def log(self) -> Path:
        """A line a finished step."""
        return self.place / "metrics.jsonl"

    @property
    def checkpoints(self) -> Path:
        """The last of them is where to go on."""
        return self.place / "checkpoints"


def begin(place: Path, job: Job, base: Path, clock: Clock, stalled: Callable[[], None]) -> Run:
    """Load what a job needs; `stalled` is called when nothing moves any more.

    Raises:
        ContractError: none of its tasks can be tried.
        IntegrityError: the folder does not hold what the job names.
    """
    asked = jobs.tasks(place, job)
    harness = jobs.harness(place, job)
    base_model, tokenizer = read_base(base)
    model = learner.build(place / "adapters", base_model, job.settings, job.warm_start, job.frozen)
    texts = Texts(tokenizer, harness)
    actor, weigh = _actor(place, job, base, model, texts)
    labels = Labels(model.decoder, texts, job.settings, weigh)
    practice = labels if actor is None or job.hop == ROUTE else _sampled(job, actor, model, texts)
    given = shown.given(place, job, asked)
    if job.shown:
        practice = Shown(practice, model.decoder, job.settings, given.by_task)
    usable = tuple(one for one in asked if practice.takes(one))
    if not usable:
        raise _useless(job, asked, given.refused)
    model = model._replace(rehearsal=_rehearsal(place, job, base, model, texts, actor, usable))

    def text(tokens: Sequence[int]) -> str:
        return str(tokenizer.decode(list(tokens)))

    rollouts = Rollouts(place, job.settings.keep, job.settings.seed, job.harness, text)
    watch = Watch(job.settings.guard.stalled_seconds, stalled)
    return Run(
        place=place,
        job=job,
        model=model,
        harness=harness,
        labels=labels,
        practice=Recorded(Watched(practice, watch), rollouts),
        rollouts=rollouts,
        course=course(usable, job.settings),
        unusable=len(asked) - len(usable),
        refused=given.refused,
        actor=actor,
        clock=clock,
        watch=watch,
    )


def _rehearsal(
    place: Path,
    job: Job,
    base: Path,
    model: learner.Learner,
    texts: Texts,
    actor: Actor | None,
    tasks: Sequence[Task],
) -> Rehearsal | None:
    """What the weights that a job starts from say, before they move."""
    rules = job.settings.rehearsal
    if not rules.weight:
        return None

    def render(messages: Prompt) -> list[int]:
        return chat.tokens(texts.tokenizer, texts.harness.answer_prompt(job.role, messages))

    def ask(prompts: Sequence[Sequence[int]]) -> Sequence[Generation]:
        sampler = actor or Actor(LocalEngine(base, job.base), place / "actor")
        try:
            start = sampler.follow(model, job.base)
            return sampler.generate_tokens(prompts, start, rules.tokens, 0.0, [0] * len(prompts))
        finally:
            if actor is None:
                sampler.close()

    said = script(place, job.settings, tasks, render, ask)
    return Rehearsal(model.decoder, said.answers, job.settings)


def _useless(job: Job, asked: Sequence[Task], refused: Mapping[Refused, int]) -> ContractError:
    why = f"of the rollouts given were refused {dict(refused)}" if job.shown else f"the first is {asked[0]}"
    return ContractError(f"none of the {len(asked)} tasks of bank {job.bank[:12]} can be tried: {why}")


def _actor(
    place: Path, job: Job, base: Path, model: learner.Learner, texts: Texts
) -> tuple[Actor | None, Weigh | None]:
    """Who samples where the learner does not itself, and how labels are weighed there."""
    if job.settings.actor != LOCAL:
        return served.join(job, place, model, texts)
    if job.hop == ROUTE:
        return None, None
    return Actor(LocalEngine(base, job.base), place / "actor"), None


def _sampled(job: Job, actor: Actor, model: learner.Learner, texts: Texts) -> Practice:
    """Episodes in worlds or written answers, sampled by an actor."""

    def score(state: str, expected: str) -> Outcome:
        return verify(VERIFIER, state, expected)

    dialogue = Dialogue(texts.tokenizer)
    if job.hop != WORLD:
        return Written(model, actor, dialogue, texts.harness, job.settings, job.base)
    return Worlds(model, actor, Table(dialogue, texts.harness.agent, score), job.settings, job.base)
