"""Whether a candidate does on the dev side what it does not do at the gate.

Who learnt dev by heart, or was chosen by it, mends there what it leaves broken elsewhere. Compared is the share of the
champion's failures that the candidate mends, not the gain: people correct what went wrong, so that the dev side has
more of the champion's failures than the gate's suites have, and any candidate gains more there.

It is a finding and no clause. A candidate with nothing but dev by heart has no gain at the gate, and fails for want of
it; one whose gain at the gate is shown is better by that gain, whatever it does on dev besides. And dev is traffic,
while the gate asks what a contract froze: the two may differ for no fault of a candidate. So a person is told.

What it tells of dev is one bit, and only of a candidate that is a new best there (`rsi.statistics.ladder.excess`).
"""

from collections.abc import Sequence
from math import ceil

from rsi.gate.dev import Rung
from rsi.gate.scorecard import Assume, pair
from rsi.records import ItemResult
from rsi.report.evidence import Gap
from rsi.statistics.unpaired import difference


def gap(rung: Rung, results: Sequence[ItemResult]) -> Gap | None:
    """What may be told of dev against gate; None of a candidate that is no new best, or where one side has no failure.

    Beyond is what Newcombe's 95% interval of the difference of shares says, if all of it is above zero. Items of a
    cluster count as one, and answers that are missing as mended: both make the finding rarer.

    Args:
        results: the target's, of the same kind of request as the dev side's.
    """
    broken = [one for one in results if not pair(one, Assume.FOR)[0]]
    if not rung.risen or not rung.failed or not broken:
        return None
    mended = sum(pair(one, Assume.FOR)[1] for one in broken)
    units = len({one.cluster for one in broken})
    interval = difference(rung.mended, rung.failed, ceil(mended * units / len(broken)), units)
    return Gap(beyond=interval.low > 0, mended=mended, failed=len(broken))
