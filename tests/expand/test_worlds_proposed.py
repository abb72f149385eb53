"""Tasks of a role's world for the modes of that role."""

from rsi.expand.aims import Aim
from rsi.expand.facets import facets
from rsi.expand.material import Material, Want
from rsi.expand.propose.world import from_worlds
from rsi.expansion import Expand
from rsi.records import Pool, Task
from rsi.tasks.caps import Caps, cap
from rsi.tasks.mixture import capped
from rsi.tasks.worlds import world_of

ROLES = ("L0", "L1")
REFUNDS = Aim("m-1", "missing_action", "refund", examples=("a", "b"), role="L1")
STATE = Aim("m-2", "state", examples=("c",), role="L1")
CHATTY = Aim("m-3", "state", examples=("d",), role="L0")
STRANGE = Aim("m-4", "missing_action", "send_rocket", examples=("e",), role="L1")


def made(*aims: Aim, most: int = 40, turn: int = 0, world: str = "desk") -> list[Task]:
    """Proposals at the desk of L1, or in another world of it."""
    rules = Expand(worlds={"L1": world}, world_tasks=most)
    return list(from_worlds(Material(aims=aims, roles=ROLES, rules=rules), Want(turn=turn)))


def test_a_mode_that_names_a_tool_gets_tasks_that_need_it() -> None:
    """Of the pool that may be trained on, with the traces of the mode; the cells of the grid see what solves them."""
    found = made(REFUNDS)

    assert len(found) == 40
    assert {(one.hop, one.mode_id, one.traces, one.source) for one in found} == {
        ("world", "m-1", ("a", "b"), "environment")
    }
    assert all("refund" in [call.name for call in world_of(one).oracle] for one in found)
    assert {world_of(one).pool for one in found} == {Pool.TRAIN}
    assert "refund" in facets(found[0]).tools


def test_a_role_has_the_world_that_is_named() -> None:
    """The tools of its modes are the tools of that world."""
    found = made(REFUNDS._replace(tool="value"), STATE, world="chains")

    assert {world_of(one).environment for one in found} == {"chains"}
    assert {one.mode_id for one in found} == {"m-1", "m-2"}
    assert all(facets(one).tools for one in found)
    assert made(REFUNDS, world="chains") == []


def test_modes_share_the_tasks_evenly_and_only_those_of_the_role_count() -> None:
    """A mode without a tool takes any task; one of another role, or of a tool that the world lacks, gets none."""
    found = made(REFUNDS, STATE, CHATTY, STRANGE)
    counts = {name: sum(one.mode_id == name for one in found) for name in ("m-1", "m-2", "m-3", "m-4")}

    assert counts["m-3"] == counts["m-4"] == 0
    assert counts["m-1"] + counts["m-2"] == 40
    assert counts["m-1"] >= 8


def test_another_night_asks_other_tasks_and_the_same_one_the_same() -> None:
    """By the traces that show the modes; later rounds add nothing, and a role without a world gets nothing."""
    again = [one.task_id for one in made(REFUNDS)]
    later = {one.task_id for one in made(REFUNDS._replace(examples=("x",)))}

    assert [one.task_id for one in made(REFUNDS)] == again
    assert len(later & set(again)) < 4
    assert made(REFUNDS, turn=1) == made(CHATTY) == []


def test_neither_the_share_of_a_giver_nor_that_of_made_up_words_bounds_episodes() -> None:
    """Nobody gave them, and nobody else could ask them."""
    found = made(REFUNDS)

    assert len(cap(found, {"a": "user u", "b": "user u"}, Caps(0.02, 0.02, 1000)).kept) == 40
    assert capped(found, 0.1) == (tuple(found), ())
