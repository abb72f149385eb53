"""How a candidate does on the dev side, told by the Ladder: all that leaves of dev results as a number.

What is told, and to which candidates, is kept among what only the gate opens, one file a role. A candidate that is
looked at again, after a crash or by hand, is told what it was told first.
"""

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from rsi.ids import safe_name
from rsi.record import Record
from rsi.report.evidence import DevScore, Example
from rsi.settings import Home
from rsi.statistics.ladder import climb, step_of
from rsi.store.files import write_whole


class Rung(Record):
    """What was seen of one candidate, and what was told."""

    candidate: str
    items: int
    step: float
    best: float
    """Share of right answers, the best so far."""
    risen: bool
    """Whether this candidate's is a new best."""
    failed: int = 0
    """Requests that the champion got wrong; this and the next never leave."""
    mended: int = 0
    """Those of them that the candidate got right."""

    @property
    def score(self) -> DevScore:
        """What may be told."""
        return DevScore(self.items, self.step, self.best, self.risen)


class Rungs(Record):
    """All candidates of a role, in order."""

    rungs: tuple[Rung, ...] = Field(default=())


def place(home: Home, role: str) -> Path:
    """Where it is kept."""
    return home.heldout / "ladder" / f"{safe_name(role)}.json"


def told(home: Home, role: str, candidate: str, found: Sequence[Example]) -> Rung | None:
    """What a candidate's answers to requests of the dev side came to; None where there are none."""
    if not found:
        return None
    path = place(home, role)
    known = Rungs.parse(path.read_bytes()).rungs if path.exists() else ()
    rung = next((one for one in known if one.candidate == candidate), None)
    if rung is None:
        best = known[-1].best if known else None
        step, score = step_of(len(found)), sum(one.after == one.expected for one in found) / len(found)
        now = climb(best, score, step)
        failed = [one for one in found if one.before != one.expected]
        rung = Rung(
            candidate=candidate,
            items=len(found),
            step=step,
            best=now,
            risen=now != best,
            failed=len(failed),
            mended=sum(one.after == one.expected for one in failed),
        )
        write_whole(path, Rungs(rungs=(*known, rung)).model_dump_json().encode())
    return rung
