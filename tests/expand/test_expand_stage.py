"""From a night's modes to a bank: what is covered, what is kept out, what is told of it."""

from collections import Counter
from dataclasses import replace

import pytest

from rsi.errors import QuietError
from rsi.expand.grow import grow
from rsi.expand.phases import table
from rsi.expand.prepare import prepare
from rsi.expand.stage import expand
from rsi.records import Blame, Modes
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.store.query import ask
from rsi.store.snapshot import refresh
from rsi.tasks import bank
from rsi.tasks.calls import calls_of
from tests.expand.agent_made import TOOL, agents
from tests.made import FixedClock

pytestmark = pytest.mark.usefixtures("contracts")


def with_modes(modes: Modes, **changed: object) -> Modes:
    """The same modes, each changed."""
    return modes.model_copy(update={"modes": tuple(one.model_copy(update=changed) for one in modes.modes)})


def test_a_planted_failure_is_covered(home: Home) -> None:
    """Tasks for the tool and the argument that is wrong in 4% of the runs, whose answers are what was right."""
    context, modes = agents(home, 400, 0.04)
    mode = modes.modes[0]
    made = bank.load(home, expand(context, modes.digest))

    assert mode.signature == f"wrong_arguments:{TOOL}:nights"
    covering = [one for one in made if one.mode_id == mode.mode_id]
    given = [one for one in covering if one.source == "expected_action"]
    assert len(given) >= 0.5 * mode.count, "those that are not nearly the same as another"
    for one in given:
        (call,) = calls_of(one.expected)
        assert f"for {call.arguments['nights']} nights" in one.messages[-1].content
    assert {TOOL} == {name for one in covering for name in one.facets.tools}


def test_the_grid_is_filled_where_the_traces_leave_it_empty(home: Home) -> None:
    """Cells that no trace fills get made-up tasks, and the manifest says what each source was worth."""
    context, modes = agents(home, 200, 0.04)
    said = bank.manifest(home, expand(context, modes.digest))

    assert said.empty == (f"{modes.modes[0].mode_id}/difficulty/sometimes",)
    rows = {
        (phase, source): (attempts, passes)
        for phase, source, _, attempts, passes, *_ in table(said.phases, 1)
    }
    assert rows["retry", "expected_action"] == (200, said.by_source["expected_action"])
    assert rows["sweep", "schema"][1] == said.by_source["schema"]
    filled = [one.filled for one in said.phases]
    assert filled == sorted(filled)
    assert filled[-1] == len(said.asked) - 1
    assert said.synthetic == said.by_source["schema"] + said.by_source.get("template", 0)


def test_made_up_tasks_stay_under_their_share(home: Home) -> None:
    """However many the grid asks for."""
    rules = {"calls": 0, "attempts": 200, "synthetic": 0.1}
    context, modes = agents(home, 30, 0.2, expand=rules)
    night = prepare(context, modes)
    made = grow(night, None)
    left = [one for one in night.screening.refused if one.reason == "over_synthetic_share"]

    assert 0 < sum(bool(one.generator) for one in made.tasks) <= 0.1 * len(made.tasks)
    assert made.account.rejected["over_synthetic_share"] == len(left) > 0
    assert left[0].evidence == "10% of the bank may be made up"
    assert not {one.task_id for one in left} & {one.task_id for one in made.tasks}


@pytest.mark.parametrize(
    "changed", [{"blame": Blame.HARNESS}, {"blame": Blame.ENVIRONMENT}, {"wont_fix": "it is so"}]
)
def test_what_is_not_the_models_fault_or_not_to_be_fixed_makes_no_task(
    home: Home, changed: dict[str, object]
) -> None:
    """Neither from traces nor made up."""
    context, modes = agents(home, 100, 0.1)
    made = grow(prepare(context, with_modes(modes, **changed)), None)

    assert [one for one in made.tasks if one.mode_id or one.generator] == []
    assert made.account.asked == ()


def test_a_night_whose_modes_are_none_of_the_models_is_quiet(home: Home) -> None:
    """The reason says how many failures count."""
    context, modes = agents(home, 100, 0.1)
    blamed = with_modes(modes, blame=Blame.ENVIRONMENT)
    (home.modes / f"{blamed.digest}.json").write_text(blamed.model_dump_json())

    with pytest.raises(QuietError, match="failed 0 times in modes that are not fixed"):
        expand(context, blamed.digest)


def test_the_same_night_makes_the_same_bank(home: Home) -> None:
    """Again, and after a kill."""
    context, modes = agents(home, 60, 0.1)

    assert expand(context, modes.digest) == expand(context, modes.digest)


def test_the_next_night_replays_some_of_the_bank_before(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most the deployment's share, none of it asked anew, chosen by a seed."""
    context, modes = agents(home, 40, 0.1)
    first = expand(context, modes.digest)
    ledger = Ledger(home.ledger, FixedClock())
    ledger.append("stage", night="2026-01-02", stage="expand", input=modes.digest, output=first)
    ledger.append("night", night="2026-01-03", output="x")
    older = {one.task_id for one in bank.load(home, first)}
    start = context.start.model_copy(update={"night": "2026-01-03", "ordinal": 99})
    told: list[tuple[str, int, int, str]] = []
    world = replace(context.world, progress=lambda *said: told.append(said))
    again = replace(context, start=start, world=world)
    night = prepare(again, modes)
    new = replace(night, material=replace(night.material, runs=night.material.runs[:20]))

    made = grow(new, None)

    old = made.tasks[made.new :]
    assert {one.task_id for one in old} <= older
    assert 0 < len(old) <= 0.1 * len(made.tasks)
    assert made.account.replayed == len(old)
    assert not {one.task_id for one in old} & {one.task_id for one in made.tasks[: made.new]}
    assert grow(new, None).tasks[made.new :] == old
    monkeypatch.setattr("rsi.expand.stage.prepare", lambda *_: new)
    expand(again, modes.digest)
    what, done, proposals, note = told[-1]
    assert what == "expand" and 0 < done <= proposals, "what was replayed is none of the proposals"
    assert note.endswith(f"refused, {len(old)} more of earlier banks")


def test_analysts_see_the_table_and_the_grid(home: Home) -> None:
    """As rows of views."""
    context, modes = agents(home, 60, 0.1)
    made = bank.manifest(home, expand(context, modes.digest))
    refresh(home, FixedClock())

    rows = ask(
        home, "select phase, source, attempts, passes, filled, asked from v_expansion order by place"
    ).rows
    assert rows[0] == (
        "retry",
        "expected_action",
        60,
        made.phases[0].passes,
        made.phases[0].filled,
        len(made.asked),
    )
    cells = ask(home, "select dimension, filled, mode from v_coverage").rows
    assert Counter(dimension for dimension, _, _ in cells) == Counter(one.split("/")[1] for one in made.asked)
    assert [dimension for dimension, filled, _ in cells if not filled] == ["difficulty"]
    assert {mode for *_, mode in cells} == {modes.modes[0].signature}
    tasks = ask(home, "select count(*), count(distinct licence), max(samples) from tasks").rows
    assert tasks == [(made.tasks, 1, 0)]
