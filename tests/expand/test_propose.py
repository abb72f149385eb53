"""From what traces tell to proposals, kind by kind."""

import orjson
import pytest

from rsi.expand.aims import Aim
from rsi.expand.coverage import Spot
from rsi.expand.material import Material, Want
from rsi.expand.propose import GIVEN, SWEEP, TARGETED
from rsi.expand.propose.correction import corrections, strangers
from rsi.expand.propose.expected import expected_actions
from rsi.expand.propose.schema import from_schemas
from rsi.expand.propose.sibling import siblings
from rsi.expand.propose.template import fill, from_templates
from rsi.expand.runs import Corrected, Run, Turn
from rsi.expand.tools import learn
from rsi.records import Task
from rsi.tasks.calls import calls_of
from rsi.tasks.check import flaw
from rsi.tasks.refused import Reason
from rsi.verifiers.calls import Call

ROLES = ("L0", "L1", "L2", "L3")
WRONG_ROUTE = Aim("m-1", "route", expected="L2", routed="L0")
WRONG_NIGHTS = Aim("m-2", "wrong_arguments", "book_room", "nights", examples=("x",))
TEXT = "Please book a room in {city} for {nights} nights."


def run(uid: str, city: str, nights: int, said: int, expects: bool = True, task_id: str | None = None) -> Run:
    """A run that should book so many nights and books `said`."""
    right, made = (Call("book_room", {"city": city, "nights": one}) for one in (nights, said))
    turns = (
        Turn("system", "You book rooms."),
        Turn("user", TEXT.format(city=city, nights=nights)),
        Turn("assistant", "", (made,), (False,)),
        Turn("tool", "booked"),
        Turn("assistant", "Done."),
    )
    return Run(uid, task_id, "pass" if nights == said else "fail", turns, (right,) if expects else None)


def material(
    *runs: Run, aims: tuple[Aim, ...] = (WRONG_NIGHTS,), definitions: tuple[str, ...] = ()
) -> Material:
    """What proposers look at."""
    return Material(aims=aims, roles=ROLES, runs=runs, tools=learn(runs, definitions))


def corrected(*found: Corrected) -> list[Task]:
    """Proposals from corrections."""
    return list(corrections(Material(aims=(WRONG_ROUTE,), roles=ROLES, corrected=found), Want()))


def test_a_wrong_route_makes_a_task_that_covers_its_mode() -> None:
    """Provenance names every trace that agrees."""
    made = corrected(Corrected("b", "sort it", "L0", "L2"), Corrected("a", "sort it", "L0", "L2"))

    assert [(one.expected, one.mode_id, one.traces) for one in made] == [("L2", "m-1", ("a", "b"))]


def test_a_correction_to_nobody_is_left_out_with_what_was_said() -> None:
    """One record a request, not one a trace, with the roles that there are."""
    told = (Corrected("b", "sort it", "L0", "L9"), Corrected("a", "sort it", "L0", "L9"))
    found = Material(
        aims=(WRONG_ROUTE,), roles=ROLES, corrected=(*told, Corrected("c", "sort it", "L0", "L2"))
    )

    ((made, why),) = strangers(found)

    assert (made.expected, made.traces, why.reason) == ("L9", ("a", "b"), Reason.UNKNOWN_LABEL)
    assert why.evidence == "L9; the harness has L0, L1, L2, L3"
    assert [one.expected for one in corrections(found, Want())] == ["L2"]


def test_a_right_route_makes_a_task_that_keeps_it() -> None:
    """It covers no mode."""
    assert [(one.expected, one.mode_id) for one in corrected(Corrected("a", "hello", "L0", "L0"))] == [
        ("L0", None)
    ]


def test_a_correction_to_an_unknown_specialist_makes_none() -> None:
    """The harness's roles are closed."""
    assert corrected(Corrected("a", "hello", "L0", "L7")) == []


def test_a_trace_without_route_shows_the_mode_of_unrouted_requests() -> None:
    """Logs from before routing."""
    unrouted = Aim("m-9", "route", expected="L1", routed="none")
    made = corrections(
        Material(aims=(unrouted,), roles=ROLES, corrected=(Corrected("a", "hello", None, "L1"),)), Want()
    )

    assert [one.mode_id for one in made] == ["m-9"]


def test_an_expected_action_becomes_the_answer_at_the_step_that_went_wrong() -> None:
    """The prompt ends where the wrong call was made, and says nothing of what was expected."""
    (made,) = expected_actions(material(run("a", "Oslo", 3, 4)), Want())

    assert [one.role for one in made.messages] == ["system", "user"]
    assert calls_of(made.expected) == (Call("book_room", {"city": "Oslo", "nights": 3}),)
    assert (made.mode_id, made.traces, made.hop) == ("m-2", ("a",), "tool")
    assert flaw(made) is None


def test_a_run_that_passed_makes_a_task_that_keeps_what_works() -> None:
    """It covers no mode."""
    (made,) = expected_actions(material(run("a", "Oslo", 3, 3)), Want())

    assert made.mode_id is None
    assert calls_of(made.expected) == (Call("book_room", {"city": "Oslo", "nights": 3}),)


def test_a_mode_that_no_open_aim_names_makes_no_task() -> None:
    """What is fixed, or somebody else's fault, is not trained."""
    assert list(expected_actions(material(run("a", "Oslo", 3, 4), aims=()), Want())) == []


def test_a_passing_sibling_shows_the_call_that_was_right() -> None:
    """Both runs are its provenance; only runs of the same task are siblings."""
    failed, passed = run("a", "Oslo", 3, 4, False, "t"), run("b", "Oslo", 3, 3, False, "t")
    other = run("c", "Lima", 2, 2, False, "u")

    (made,) = siblings(material(failed, passed, other), Want())

    assert made.traces == ("a", "b")
    assert calls_of(made.expected) == (Call("book_room", {"city": "Oslo", "nights": 3}),)
    assert list(siblings(material(failed, other), Want())) == []


CELLS = (
    Spot("m-2", "slot", "integer:negative"),
    Spot("m-2", "slot", "integer:large"),
    Spot("m-2", "length", "long"),
    Spot("m-2", "argument", "integer"),
)


def test_schemas_fill_the_cells_that_are_asked_for() -> None:
    """Values of the asked class, seeded: the same again, others in another round."""
    known = material(run("a", "Oslo", 3, 4))
    made = list(from_schemas(known, Want(CELLS)))

    nights = [calls_of(one.expected)[0].arguments["nights"] for one in made]
    assert nights[0] < 0 and nights[1] > 10  # type: ignore[operator]
    assert made == list(from_schemas(known, Want(CELLS)))
    assert made != list(from_schemas(known, Want(CELLS, turn=1)))
    assert all(one.generator and flaw(one) is None for one in made)
    assert all(str(value) in one.messages[-1].content for one, value in zip(made, nights, strict=True))


def test_schemas_take_definitions_from_traces_and_keep_to_their_enumerations() -> None:
    """A definition stands over what calls show."""
    properties = {"city": {"type": "string", "enum": ["Rome"]}, "nights": {"type": "integer"}}
    told = {
        "name": "book_room",
        "description": "books",
        "parameters": {"properties": properties, "required": ["city", "nights"]},
    }
    known = material(
        run("a", "Oslo", 3, 4), definitions=(orjson.dumps([{"function": told}]).decode(), "no json")
    )

    made = list(from_schemas(known, Want(CELLS)))

    assert {calls_of(one.expected)[0].arguments["city"] for one in made} == {"Rome"}
    assert '"description":"books"' in made[0].tools


def test_templates_say_other_values_in_the_words_of_people() -> None:
    """What the request says and what the call expects change together."""
    known = material(run("a", "Oslo", 3, 4), run("b", "Lima", 5, 5))
    made = list(from_templates(known, Want(CELLS)))

    assert made
    for one in made:
        (call,) = calls_of(one.expected)
        assert one.messages[-1].content == TEXT.format(**call.arguments)
        assert flaw(one) is None
    assert calls_of(made[0].expected)[0].arguments["nights"] < 0  # type: ignore[operator]


def test_a_slot_is_a_whole_word() -> None:
    """3 is not a part of 30."""
    assert fill("30 rooms, 3 nights", "3", "7") == "30 rooms, 7 nights"


@pytest.mark.parametrize("source", [*GIVEN, *SWEEP, *TARGETED])
def test_every_kind_gives_the_same_in_any_order_and_nothing_of_nothing(source: str) -> None:
    """Names of the table are the tasks' sources."""
    proposer = {**GIVEN, **SWEEP, **TARGETED}[source]
    runs = [run(uid, "Oslo", 3, said, True, "t") for uid, said in (("a", 4), ("b", 3), ("c", 5))]
    said = (Corrected("b", "sort it", "L0", "L2"), Corrected("a", "list it", "L0", "L2"))
    made = []
    for step in (1, -1):
        told = Material(
            (WRONG_ROUTE, WRONG_NIGHTS), ROLES, said[::step], tuple(runs[::step]), learn(runs, [])
        )
        made.append(list(proposer(told, Want(CELLS))))

    assert list(proposer(Material((), ROLES), Want())) == []
    assert {one.source for one in made[0]} <= {source}
    if source not in TARGETED:
        assert made[0]
        assert sorted(one.task_id for one in made[0]) == sorted(one.task_id for one in made[1])
