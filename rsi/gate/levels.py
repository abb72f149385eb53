"""Levels of difficulty: a gain on one must not hide a loss on another."""

from collections.abc import Iterable, Mapping

from rsi.errors import ContractError
from rsi.gate.contract import Contract
from rsi.gate.suites import Suite
from rsi.records import Item, ItemResult, WorldTask
from rsi.tasks.worlds import HOP


def level_of(item: Item) -> str:
    """``level 2`` of an episode; "" of an item that has none."""
    return f"level {WorldTask.parse(item.world.encode()).level}" if item.world else ""


def levels_of(items: Iterable[Item]) -> dict[str, str]:
    """Item -> its level, of items that have one."""
    return {one.item_id: level for one in items if (level := level_of(one))}


def by_level(results: Iterable[ItemResult], levels: Mapping[str, str]) -> dict[str, list[ItemResult]]:
    """Results of each level, in the order of levels; those of items without one are left out."""
    found: dict[str, list[ItemResult]] = {}
    for one in results:
        if level := levels.get(one.item_id):
            found.setdefault(level, []).append(one)
    return dict(sorted(found.items()))


def check(contract: Contract, suites: Mapping[str, Suite]) -> None:
    """Refuse a bar for levels that the target does not have.

    Raises:
        ContractError: as said.
    """
    target = suites[contract.target.suite]
    if contract.levels is not None and target.about.hop != HOP:
        raise ContractError(
            f"contract {contract.name} has a bar for levels, but items of suite {target.name} have none; take [levels] "
            "out, or name a suite that is played"
        )
