"""Nights, modes, tasks, screens, verdicts and versions, joined to the traces."""

from datetime import timedelta

import pytest

from rsi.engine.publish import EngineReplica
from rsi.records import Approval, Decision
from rsi.registry import approval, champion
from rsi.registry.promote import promote, rollback
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.store.query import ask
from rsi.store.snapshot import refresh
from tests import night_made
from tests.made import FixedClock
from tests.night_made import NIGHT


@pytest.fixture(scope="module")
def night(tmp_path_factory, tiny_base):
    """A home after a night that passed, an approval, a promotion and a rollback."""
    root = tmp_path_factory.mktemp("views")
    clock = FixedClock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_CONTRACTS", str(night_made.contracts(root / "contracts")))
        home = night_made.make_home(root / "home", tiny_base)
        ending = night_made.run_night(home, tiny_base, taught=True)
        assert ending.judgement == "pass", ending.reason
        said = Approval(
            verdict=ending.verdict,
            decision=Decision.APPROVE,
            approver="ada",
            reason="looks right",
            via="command",
        )
        approval.answer(home, clock, night_made.settings(tiny_base), said, ending.verdict[:8])
        replica = EngineReplica(night_made.world(tiny_base).engine())
        promote(home, clock, ending.verdict, [replica], tiny_base)
        rollback(home, clock, None, "bob", "too slow", [replica], tiny_base)
        refresh(home, clock)
        yield home, ending


def one(home: Home, sql: str) -> dict[str, object]:
    """The only row of an answer."""
    found = ask(home, sql)
    assert len(found.rows) == 1, found.rows
    return dict(zip(found.columns, found.rows[0], strict=True))


def test_a_night_is_one_row_from_its_input_to_its_approver(night):
    """Stages and times, counts, verdict, answer, promotion."""
    home, ending = night
    records = Ledger(home.ledger, FixedClock()).records()
    made = {record.stage: record.output for record in records if record.kind == "stage"}

    row = one(home, "from v_nights")

    assert row["night"] == NIGHT
    assert row["stages"] == ["discover", "expand", "update", "gate"]
    assert row["ended_at"] - row["began_at"] == timedelta(seconds=row["seconds"])
    assert all(row[f"{stage}_s"] >= 0 for stage in row["stages"])
    assert (row["bank"], row["candidate"], row["verdict"]) == (made["expand"], made["update"], made["gate"])
    assert (row["judgement"], row["reason"]) == ("pass", ending.reason)
    assert (row["decision"], row["approver"]) == ("approve", "ada")
    assert row["promoted_at"] >= row["answered_at"] >= row["asked_at"]
    assert row["new_traces"] == ask(home, "select count(*) from traces").rows[0][0] > 0
    assert row["new_failures"] == ask(home, "select count(*) from v_failures").rows[0][0] > 0
    assert row["tasks"] == ask(home, "select count(*) from tasks").rows[0][0] > 0
    assert row["modes"] == ask(home, "select count(*) from failure_modes").rows[0][0] > 0


def test_modes_come_with_their_examples(night):
    """The first example beside the mode, all of them in a view of their own, with what was asked."""
    home, _ = night
    found = ask(
        home, "select mode_id, is_newest, tasks, examples, example_uid, example_input from v_failure_modes"
    )

    assert found.rows
    for mode, newest, _, examples, example, asked in found.rows:
        assert newest
        assert example == examples[0]
        assert asked
        rows = ask(
            home, f"select trace_uid, input_text from v_mode_traces where is_example and mode_id = '{mode}'"
        ).rows
        assert {uid for uid, _ in rows} == set(examples)
        assert all(text for _, text in rows)
    assert (
        sum(tasks for _, _, tasks, *_ in found.rows)
        == one(home, "select count(*) as n from v_tasks where mode_id is not null")["n"]
    )


def test_tasks_name_bank_mode_and_trace(night):
    """The prompt of a task made from a correction is what the user of its trace asked."""
    home, _ = night
    rows = ask(
        home,
        "select v.prompt, t.input_text, v.bank, v.mode is not null, v.trace_uid = v.traces[1] "
        "from v_tasks v join traces t using (trace_uid)",
    ).rows

    assert len(rows) == one(home, "select count(*) as n from tasks")["n"]
    assert all(asked == prompt and bank and first for prompt, asked, bank, _, first in rows)
    assert any(covers for *_, covers, _ in rows)


def test_screens_add_up(night):
    """What passed is the bank; shares are of all proposals."""
    home, _ = night

    assert one(home, "select tasks from v_screens where decision = 'passed'")["tasks"] == 16
    assert one(home, "select sum(share) as all_of_it from v_screens")["all_of_it"] == pytest.approx(1)


def test_verdicts_are_told_clause_by_clause(night):
    """In the verdict's order and words."""
    home, ending = night
    found = approval.verdict(home, ending.verdict)
    rows = ask(
        home,
        "select clause, clause_judgement, clause_text, approver, judgement from v_verdicts order by clause_no",
    ).rows

    assert rows == [(it.name, it.judgement.value, it.text, "ada", "pass") for it in found.clauses]


def test_versions_say_where_they_came_from_and_when_they_served(night):
    """The first one serves again after the rollback; the candidate served in between."""
    home, ending = night
    first, second = (one(home, f"from v_versions where generation = {generation}") for generation in (0, 1))

    assert first["version"] == champion.genesis(Ledger(home.ledger, FixedClock())) == second["parent"]
    assert (first["parent"], first["in_service"], first["times_served"], first["left_at"]) == (
        None,
        True,
        2,
        None,
    )
    assert (second["in_service"], second["times_served"], second["night"]) == (False, 1, NIGHT)
    assert (second["verdict"], second["judgement"], second["approver"]) == (ending.verdict, "pass", "ada")
    assert second["left_at"] >= second["served_at"]
    assert second["tasks"] == 16
    assert '"L0"' in second["adapters"]


def test_a_gate_says_what_was_gained_on_its_target(night):
    """The numbers of the clause about the gain; the target is the suite that no guard is about."""
    home, ending = night
    found = approval.verdict(home, ending.verdict)
    numbers = next(it.numbers for it in found.clauses if it.name == "target_gain")

    row = one(home, "from v_gates")

    assert (row["verdict"], row["suite"], row["not_passed"]) == (ending.verdict, "tiny-routing/v1", [])
    assert (row["items"], row["won"], row["lost"]) == (numbers["n"], numbers["b"], numbers["c"])
    assert (row["gain"], row["gain_low"], row["gain_high"]) == tuple(
        numbers[name] for name in ("difference", "low", "high")
    )
    assert (row["decision"], row["promoted_at"] is not None) == ("approve", True)


def test_both_versions_have_a_row_for_each_suite(night):
    """The champion as it was before, the candidate as it was after; on target and guard."""
    home, ending = night
    found = approval.verdict(home, ending.verdict)
    numbers = {it.name: it.numbers for it in found.clauses}
    rows = ask(home, "select version, suite, is_target, items, correct, rate, pin from v_quality").rows

    assert {(version, suite, is_target) for version, suite, is_target, *_ in rows} == {
        (version, suite, suite == "tiny-routing/v1")
        for version in (found.champion, found.candidate)
        for suite in found.suites
    }
    for version, suite, is_target, items, correct, rate, pin in rows:
        said = numbers["target_gain" if is_target else "guard_tiny-easy_noninferior"]
        side = "before" if version == found.champion else "after"
        assert (items, rate, pin) == (said["n"], said[side], found.suites[suite])
        assert correct == round(rate * items)


def test_lineage_tells_what_changed_and_what_became_of_it(night):
    """The role whose adapter is new, its job and steps, the line from the first version, the way it ended."""
    home, ending = night
    found = approval.verdict(home, ending.verdict)
    first, second = (one(home, f"from version_lineage where generation = {at}") for at in (0, 1))

    assert (first["state"], first["line"], first["role"], first["new_harness"]) == (
        "in service",
        [found.champion],
        None,
        True,
    )
    assert (second["state"], second["line"]) == ("was in service", [found.champion, found.candidate])
    assert (second["role"], second["new_harness"], second["approver"]) == ("L0", False, "ada")
    assert (second["steps"], second["algorithm"], second["tasks"]) == (4, "grpo", 16)
    job = one(home, "from jobs")
    assert (job["job"], job["adapter"], job["bank"]) == (second["job"], second["adapter"], second["bank"])
    assert job["seconds"] > 0
    assert job["sampled"] > 0


def test_every_way_into_service_is_told_with_its_actor(night):
    """Genesis, the promotion with its approver, the rollback with who did it and why."""
    home, ending = night
    rows = ask(home, "select kind, actor, reason, verdict from v_service order by seq").rows

    assert rows == [
        ("genesis", None, None, None),
        ("promotion", "ada", "looks right", ending.verdict),
        ("rollback", "bob", "too slow", None),
    ]


def test_the_vault_stands_beside_what_gates_counted(home):
    """The newest look at each version; one with other items stays apart."""
    ledger = Ledger(home.ledger, FixedClock())

    def look(drawn: int, **right: int) -> None:
        points = [
            {"version": name, "suite": "desk/v1", "right": n, "items": drawn} for name, n in right.items()
        ]
        ledger.append("audit", body={"points": points, "drawn": drawn})

    look(90, a=30, b=40)
    look(90, b=45)
    look(50, b=10)
    refresh(home, FixedClock())

    found = ask(
        home, "select version, items, correct, rate, split, pin from v_quality order by pin desc, version"
    ).rows
    assert found == [
        ("a", 90, 30, 30 / 90, "vault", "vault, 90"),
        ("b", 90, 45, 0.5, "vault", "vault, 90"),
        ("b", 50, 10, 0.2, "vault", "vault, 50"),
    ]


def test_a_quiet_home_has_empty_views(home):
    """Views of a home without nights answer, with nothing."""
    refresh(home, FixedClock())

    for view in (
        "v_nights",
        "v_verdicts",
        "v_versions",
        "v_screens",
        "v_tasks",
        "v_failure_modes",
        "v_mode_traces",
        "v_mode_history",
        "v_gates",
        "v_quality",
        "v_service",
        "version_lineage",
    ):
        assert ask(home, f"from {view}").rows == []
