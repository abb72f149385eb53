"""How a job trains: what the deployment file and a job's `job.json` say of it. The formulas are in `rsi.update`."""

from enum import StrEnum

from pydantic import AwareDatetime, Field, model_validator

from rsi.record import Record

LOCAL = "local"
"""An engine in this process."""


class Algorithm(StrEnum):
    """How an adapter learns."""

    GRPO = "grpo"
    """From groups of its own answers (`rsi.update.objective`)."""
    SFT = "sft"
    """From right answers that it is shown: the next token's log-probability, over answer tokens only."""


class Backend(StrEnum):
    """Which trainer works on a job: `rsi.update.backends`."""

    LOCAL = "local"
    """Ours."""
    TRL = "trl"
    """TRL's GRPOTrainer, in an environment of its own."""


class Scaling(StrEnum):
    """What a group's centred rewards are divided by."""

    GROUP = "group"
    """Their standard deviation."""
    NONE = "none"
    """Nothing (Dr. GRPO)."""


class Normalisation(StrEnum):
    """How losses of tokens become one."""

    ANSWER = "answer"
    """Mean over the tokens of an answer, then over answers and groups (GRPO)."""
    LENGTH = "length"
    """Sum over an answer's tokens divided by the longest that answers may be, then the mean (Dr. GRPO)."""
    TOKEN = "token"
    """Mean over all tokens of all groups (DAPO)."""


class Level(StrEnum):
    """What an importance ratio is taken of."""

    TOKEN = "token"
    SEQUENCE = "sequence"
    """The geometric mean over the answer's tokens, the same for each of them (GSPO)."""


class Objective(Record):
    """Which loss a job minimises."""

    scaling: Scaling = Scaling.GROUP
    normalisation: Normalisation = Normalisation.ANSWER
    level: Level = Level.TOKEN
    clip_low: float = Field(0.2, gt=0, lt=1)
    clip_high: float = Field(0.2, gt=0)
    """Ratios count between 1 - `clip_low` and 1 + `clip_high`."""
    kl: float = Field(0.0, ge=0)
    """What a nat a token away from the base, which has no adapter, costs; 0 does not look at the base."""


class Rule(StrEnum):
    """How the ratio becomes a weight."""

    NONE = "none"
    TRUNCATE = "truncate"
    ICEPOP = "icepop"
    MASK = "mask"
    REJECT = "reject"
    TOPR = "topr"


class Correction(Record):
    """What a job does about the mismatch, and when it stops."""

    rule: Rule = Rule.NONE
    level: Level = Level.TOKEN
    """Whether k is a token's ratio, or the answer's: the product over its tokens."""
    low: float = Field(0.5, ge=0, le=1)
    high: float = Field(5.0, ge=1)
    veto: bool = False
    alarm: float | None = Field(None, gt=0)
    """Mean k3 (nats a token) from which a step counts as alarming; null where the distance is meant, as exploration
    is."""

    @model_validator(mode="after")
    def _rejects_answers(self) -> "Correction":
        if self.rule in (Rule.REJECT, Rule.TOPR) and self.level is not Level.SEQUENCE:
            raise ValueError(f"rule {self.rule.value} judges whole answers: set level = 'sequence'")
        return self


class Curriculum(Record):
    """Difficulty pools: which tasks are asked more often, by how often they are solved."""

    share: float = Field(0.0, ge=0, le=1)
    """Share of the prompts that are drawn from tasks solved now and then, or never tried; the rest from the others.
    0 asks all tasks in turn."""
    low: float = Field(0.1, ge=0, lt=1)
    """Mean reward below which a task is too hard to teach."""
    high: float = Field(0.9, gt=0, le=1)
    """Mean reward above which it is too easy."""
    memory: float = Field(0.7, ge=0, lt=1)
    """What the rate so far weighs against that of a new group."""

    @model_validator(mode="after")
    def _is_a_range(self) -> "Curriculum":
        if self.low >= self.high:
            raise ValueError(f"low = {self.low:g} must lie below high = {self.high:g}")
        return self


class Rehearse(Record):
    """What a job shall not forget: what the weights that it starts from answer, as chat, to requests of its tasks."""

    weight: float = Field(0.0, ge=0, allow_inf_nan=False)
    """What a nat a token away from these answers costs; 0 rehearses nothing."""
    requests: int = Field(64, ge=1)
    """Most requests that are answered before the first step."""
    prompts: int = Field(8, ge=1)
    """Most of them that a step looks at."""
    prompt_tokens: int = Field(512, ge=1)
    """Most tokens of a request; longer ones are left out."""
    tokens: int = Field(24, ge=1, le=4096)
    """Most tokens of an answer."""


class Budget(Record):
    """What a job may use; null is no bound. The first that is used up ends it, and its adapter is kept."""

    seconds: float | None = Field(None, gt=0)
    """Of steps, added up over all runs of the job."""
    tokens: int | None = Field(None, ge=1)
    """Sampled."""
    usd: float | None = Field(None, gt=0)
    usd_an_hour: float = Field(0.0, ge=0)
    """What an hour of the worker costs."""
    until: AwareDatetime | None = None
    """No step begins after this moment."""


class Guard(Record):
    """What a job must not become; broken in `patience` steps in a row, it stops without an adapter."""

    patience: int = Field(20, ge=1)
    entropy: float = Field(0.0, ge=0)
    """Least mean entropy (nats a token)."""
    repeated: float = Field(1.0, ge=0, le=1)
    """Largest share of answers that repeat themselves: in a world, an episode that says one thing again and again, or
    loops within an answer; of a closed set, the share of the answer that is given most."""
    shortest: float = Field(0.0, ge=0)
    """Least sampled tokens of an answer, on average."""
    longest: float | None = Field(None, gt=0)
    """Most of them."""
    gradient: float | None = Field(None, gt=0)
    """Largest norm of the gradient, with that of what is rehearsed, before it is clipped."""
    judge_seconds: float = Field(10.0, gt=0)
    """How long the verifier may take over one answer; a world's own rules hold there."""
    stalled_seconds: float | None = Field(1800.0, gt=0)
    """When nothing has moved for so long (no draw, no part of a backward pass, no step) the job is over, and so is the
    process that works on it."""


class Keep(Record):
    """What of a job's rollouts stays in its folder."""

    readable: float = Field(0.01, ge=0, le=1)
    """Share of them, drawn by the job's seed, that is kept in full with its text, for people to read."""
    megabytes: float = Field(256.0, ge=0)
    """Size of ``rollouts.parquet`` from which on the tokens of all others are left out; their rows stay."""


class Update(Record):
    """What a training job may spend and how it trains."""

    algorithm: Algorithm = Algorithm.GRPO
    backend: Backend = Backend.LOCAL
    """Which trainer works on the job: `rsi.update.backends`."""
    actor: str = Field(LOCAL, pattern=r"^(local|https?://\S+)$")
    """Who samples: `local`, or the URL of a vLLM server that serves the same base and reads the job's folder."""
    steps: int = Field(160, ge=1)
    prompts: int = Field(8, ge=1)
    """Prompts a step."""
    samples: int = Field(16, ge=2)
    """Answers a prompt (the group)."""
    learning_rate: float = Field(3e-4, gt=0)
    rank: int = Field(16, ge=1, le=64)
    alpha: int = Field(32, ge=1)
    exploration: float = Field(0.2, ge=0, lt=1)
    """Share of uniform sampling over the choices."""
    passes: int = Field(1, ge=1, le=2)
    """Optimiser steps over the same answers. Log-probs over a captured prompt drift from the third on: LongStraw
    measured a mean difference of 3.1 nats after 4 steps, 0.03 after 2."""
    answer_tokens: int = Field(128, ge=1)
    """Most tokens of an answer that is one text, where the harness allows as many; episodes have rules of their own."""
    whole_prompt: bool = False
    """Whether gradients flow through the prompt as well; costs time and memory by its length."""
    retries: int = Field(1, ge=0, le=10)
    """How often a rollout whose world crashed or hung is tried again, in a fresh world, before its group fails; and a
    step whose actor did not answer, after a pause, before this run of the job ends."""
    refill: int | None = Field(None, ge=0, le=10)
    """How often a step draws the next tasks in place of groups without signal; null: once for tasks in worlds, never
    for labels of a closed set, where a draw costs as much as what it would save."""
    curriculum: Curriculum = Curriculum()
    objective: Objective = Objective()
    correction: Correction = Correction(rule=Rule.TOPR, level=Level.SEQUENCE)
    rehearsal: Rehearse = Rehearse()
    budget: Budget = Budget()
    guard: Guard = Guard()
    keep: Keep = Keep()
    averaged: float = Field(0.5, ge=0, lt=1)
    """Share of the steps, the last ones, over which weights are averaged; 0 takes the last step's."""
    checkpoint_every: int = Field(20, ge=1)
    seed: int = 17
