"""Tasks in worlds: what the generator of a role's world makes, for the modes of that role that it can speak of.

A mode that names a tool gets tasks whose solution uses it, any other mode of the role (the wrong state, say) gets any
task. Each task goes to the mode that has fewest so far. The seed follows from the traces that show the modes, so that
another night asks other tasks. Only tasks of the pool `train` are made; what the gate asks is never among them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from rsi.environments import kind
from rsi.expand.aims import Aim
from rsi.expand.material import Material, Want
from rsi.ids import digest
from rsi.records import Pool, Task, ToolCall, WorldTask
from rsi.tasks.worlds import task_of

LOOKED_AT = 5
"""Tasks of the generator that are looked at for each one that is wanted."""


def from_worlds(material: Material, want: Want) -> Iterator[Task]:
    """Tasks for the modes of roles that have a world; nothing from the second round on."""
    rules = material.rules
    for role, name in sorted(rules.worlds.items()):
        about = [one for one in material.aims if one.role == role and one.kind != "route"]
        if not about or want.turn:
            continue
        world = kind(name)
        shown = world.open()
        try:
            for one, aim in _spread(world.tasks, about, rules.world_tasks, _seed(rules.seed, role, about)):
                yield task_of(one, shown).model_copy(update={"mode_id": aim.mode_id, "traces": aim.examples})
        finally:
            shown.close()


def _spread(
    tasks: Callable[[int, int, Pool], Sequence[WorldTask]], about: Sequence[Aim], most: int, seed: int
) -> Iterator[tuple[WorldTask, Aim]]:
    """At most so many tasks, each with the mode it is for."""
    given: Counter[str] = Counter()
    for one in tasks(most * LOOKED_AT, seed, Pool.TRAIN):
        fitting = [aim for aim in about if _fits(aim, one.oracle)]
        if fitting and given.total() < most:
            aim = min(fitting, key=lambda each: given[each.mode_id])
            given[aim.mode_id] += 1
            yield one, aim


def _fits(aim: Aim, oracle: Iterable[ToolCall]) -> bool:
    return not aim.tool or any(call.name == aim.tool for call in oracle)


def _seed(seed: int, role: str, about: Sequence[Aim]) -> int:
    return int(digest([seed, role, sorted((one.mode_id, sorted(one.examples)) for one in about)])[:8], 16)
