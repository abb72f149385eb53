"""What a failure mode is made of: counts by version and night, a fix, factors of its rank, topics."""

from dataclasses import dataclass
from typing import NamedTuple


class Cell(NamedTuple):
    """A failure mode in the traces of one version that one night was the first to read."""

    version: str
    """Digest, or `unknown`."""
    night: str
    hits: int
    """Traces that show it."""
    chances: int
    """Traces in which it could have shown."""


@dataclass(frozen=True, slots=True)
class Fix:
    """What showed that a mode was fixed: traces of a version, between two nights."""

    version: str
    since: str
    """First of the nights whose new traces showed it."""
    until: str
    """Last of them."""
    was: float
    """The rate before."""


@dataclass(frozen=True, slots=True)
class Factors:
    """What a mode's priority is the product of; formulas in `rsi.discover.rank`."""

    frequency: float
    """Its traces per thousand traces; of a kind that does not say what went wrong, the unexplained ones."""
    severity: float
    recency: float
    learnability: float
    repeated: int
    """Groups of traces that were asked the same and show it."""
    mixed: int
    """Those of them in which some passed and some failed."""
    standing: float
    """1; a tenth where it is fixed, 0 where a person will not have it fixed."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What some of a mode's traces are about: a cluster of their texts."""

    topic_id: str
    """`c-` and 8 hex digits; the same in every night."""
    terms: tuple[str, ...]
    """Words that set it apart, strongest first."""
    count: int
    """Traces of the mode."""
    members: tuple[str, ...]
    """Up to fifty trace ids, chosen by the hash of the id: how the next night knows it again."""


class Reach(NamedTuple):
    """A night, and the last ingested batch that it read."""

    night: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class Unseen:
    """How much of what fails no mode shows yet; formulas in `rsi.statistics.unseen`."""

    share: float
    """Good-Turing: probability that the next sign of failure is of a mode not seen yet."""
    once: int
    """Modes seen in one trace."""
    signs: int
    """Counts of all modes together."""
    modes: float
    """Chao1: estimated number of modes not seen yet, at least."""
