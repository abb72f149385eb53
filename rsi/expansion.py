"""What a night may make up and ask models for while it grows a bank: sections of the deployment file."""

from pydantic import Field

from rsi.record import Record


class Generator(Record):
    """A model that writes requests, behind an OpenAI-compatible server."""

    url: str = ""
    """Its address; empty for none."""
    model: str = ""
    calls: int = Field(50, ge=0)
    """Most questions a night."""
    max_tokens: int = Field(400, ge=1)


class Research(Record):
    """AutoResearch: probes around the tasks of failure modes, run on the version in service."""

    calls: int = Field(0, ge=0)
    """Most questions a night; 0 switches it off."""
    samples: int = Field(8, ge=1)
    """Answers a probe."""
    low: float = Field(0.1, ge=0, le=1)
    """Least share of right answers of a probe that is kept."""
    high: float = Field(0.9, ge=0, le=1)
    """Largest share."""
    keep: int = Field(200, ge=1)
    """Most probes a night."""
    seed: int = 17


class Expand(Record):
    """Bounds of a bank."""

    max_tasks: int = Field(2000, ge=1)
    max_share: float = Field(0.4, gt=0, le=1)
    """Largest share of the bank with one expected answer."""
    overlap: float = Field(0.33, gt=0, le=1)
    """Similarity (`rsi.tasks.fingerprint`) from which a proposal counts as held out."""
    duplicate: float = Field(0.85, gt=0, le=1)
    """Similarity from which a proposal with the same expectation counts as one there is already."""
    languages: tuple[str, ...] = ()
    """Languages of tasks, by ISO 639 code; empty means any. A text whose language nobody can tell passes."""
    licences: tuple[str, ...] = (
        "own",
        "Apache-2.0",
        "MIT",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "CC0-1.0",
        "CC-BY-4.0",
    )
    """What tasks may be made from: SPDX ids, `own` for the deployment's own traces."""
    giver_share: float = Field(0.02, gt=0, le=1)
    """Largest share of the bank from one user or conversation; twice an even share where that is more."""
    maker_share: float = Field(0.5, gt=0, le=1)
    """Largest share of the bank from one generator or document that no trace stands behind."""
    synthetic: float = Field(0.5, ge=0, lt=1)
    """Largest share of the bank whose words no person wrote."""
    replay: float = Field(0.1, ge=0, lt=1)
    """Share of the bank that is taken from older banks."""
    attempts: int = Field(400, ge=0)
    """Most proposals that are made up in a night."""
    gain: float = Field(0.05, ge=0, le=1)
    """Cells newly filled a proposal, below which no more are made up."""
    worlds: dict[str, str] = Field(default_factory=dict)
    """Role -> the world (`rsi.environments`) whose generator makes tasks for failure modes of that role."""
    world_tasks: int = Field(400, ge=0)
    """Most tasks of worlds in a night's bank."""
    calls: int = Field(64, ge=0)
    """Most questions to the version in service by which the difficulty of tasks is measured; 0 for none."""
    samples: int = Field(8, ge=1)
    """Answers a task whose difficulty is measured."""
    seed: int = 17
    generator: Generator = Generator()
