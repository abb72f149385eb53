"""Growing a bank: from the night's modes and traces to screened, covered, measured tasks. Writes no bank.

The same night, interrupted or not, grows the same tasks: what a model answered is in journals, and everything else
follows from the traces up to the night's fixed input, the deployment file and its seeds.
"""

from dataclasses import dataclass

from rsi.expand.asking import Asking
from rsi.expand.coverage import balance, filled
from rsi.expand.phases import Growing
from rsi.expand.prepare import Night
from rsi.expand.propose.correction import strangers
from rsi.records import Task
from rsi.tasks.bank import Account
from rsi.tasks.mixture import capped, replayed
from rsi.tasks.refused import Reason
from rsi.tasks.screen import Objection


@dataclass(frozen=True)
class Grown:
    """What came of it."""

    tasks: tuple[Task, ...]
    new: int
    """How many of them are not replayed."""
    account: Account
    proposals: int


def grow(night: Night, asking: Asking | None) -> Grown:
    """The night's tasks; without `asking` no model is asked for or about any."""
    rules, screening = night.context.deployment.expand, night.screening
    material = asking.material() if asking else night.material
    growing = Growing(material, night.wanted, screening.passed, asking.spent if asking else _nothing)
    growing.given()
    growing.made_up()
    tasks, left = balance(tuple(growing.tasks.values()), rules.max_tasks, rules.max_share)
    tasks, over = capped(tasks, rules.synthetic)
    full = Objection(Reason.OVER_SYNTHETIC, f"{rules.synthetic:.0%} of the bank may be made up")
    screening.leave((*strangers(night.material), *left, *((one, full) for one in over)))
    old = screening.passed(replayed(tasks, night.older, rules.replay, rules.seed))
    old = old[: max(0, rules.max_tasks - len(tasks))]
    measured = asking.measure(tasks) if asking else tasks
    account = Account(
        rejected=dict(screening.rejected),
        screens=screening.suites,
        phases=tuple(growing.phases),
        asked=tuple(sorted(map(str, night.wanted))),
        empty=tuple(sorted(map(str, night.wanted - filled(measured, night.wanted)))),
        replayed=len(old),
        synthetic=sum(bool(one.generator) for one in (*measured, *old)),
        research=asking.fates if asking else {},
    )
    return Grown((*measured, *old), len(measured), account, sum(one.attempts for one in growing.phases))


def _nothing() -> int:
    return 0
