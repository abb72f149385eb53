"""Where things came from, down to the traces, and what was said of them."""

import pytest

from rsi.engine.publish import EngineReplica
from rsi.errors import ContractError
from rsi.records import Approval, Decision
from rsi.registry import approval, champion, versions
from rsi.registry.lineage import find, lineage
from rsi.registry.promote import promote, rollback
from rsi.store.ledger import Ledger
from rsi.store.query import ask
from rsi.store.snapshot import refresh
from tests import night_made
from tests.commands.spoken import Terminal
from tests.made import FixedClock

WALK = """
with recursive walk as (
    select kind, name, source_kind, source from v_lineage where kind = 'version' and name = '{name}'
    union
    select v.kind, v.name, v.source_kind, v.source
    from walk w
    join v_lineage v on v.kind = w.source_kind and v.name = w.source
)
select source_kind, count(distinct source) from walk group by all order by all
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory, tiny_base):
    """A home whose candidate was refused once, approved, promoted, and rolled back."""
    root = tmp_path_factory.mktemp("lineage")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RSI_CONTRACTS", str(night_made.contracts(root / "contracts")))
        home = night_made.make_home(root / "home", tiny_base)
        verdict = night_made.run_night(home, tiny_base, taught=True).verdict
        said = Approval(
            verdict=verdict, decision=Decision.APPROVE, approver="ada", reason="all labels", via="command"
        )
        clock, deployment = FixedClock(), night_made.settings(tiny_base)
        with pytest.raises(Exception, match="does not begin with"):
            approval.answer(home, clock, deployment, said, "00000000")
        approval.answer(home, clock, deployment, said, verdict[:8])
        replicas = [EngineReplica(night_made.world(tiny_base).engine())]
        promote(home, clock, verdict, replicas, tiny_base)
        rollback(home, clock, None, "grace", "too slow", replicas, tiny_base)
        refresh(home, clock)
    return home, approval.verdict(home, verdict)


def test_a_version_is_walked_down_to_its_traces(served):
    """Adapter, job, bank, modes with their tasks and traces, verdict, answers and moves."""
    home, verdict = served
    ledger = Ledger(home.ledger, FixedClock())

    made, first = lineage(home, ledger, verdict.candidate)

    (adapter,) = made.adapters.values()
    assert made.changed == (adapter,)
    assert (home.jobs / str(made.job)).is_dir()
    assert made.warm_start is None
    assert made.tasks == sum(one.tasks for one in made.covered) == 16
    assert all(one.signature.startswith("route:") or one.mode is None for one in made.covered)
    assert {trace for one in made.covered for trace in one.traces} == set(made.traces)
    assert [(one.verdict, one.judgement) for one in made.verdicts] == [(verdict.digest, "pass")]
    assert [(one.kind, one.who) for one in made.events] == [
        ("request", None),
        ("refusal", "ada"),
        ("approval", "ada"),
        ("promotion", None),
    ]
    assert made.approver == "ada"
    assert [(one.kind, one.who, one.why) for one in first.events] == [
        ("genesis", None, ""),
        ("rollback", "grace", "too slow"),
    ]


def test_versions_are_found_by_what_they_hold(served):
    """A version, an adapter, a harness or a bank, by its first digits; first the one that it came with."""
    home, verdict = served
    ledger = Ledger(home.ledger, FixedClock())
    made = versions.load(home, verdict.candidate)
    first = champion.genesis(ledger)
    bank = next(one.input for one in ledger if one.stage == "update")

    assert find(home, ledger, "champion") == (first,)
    assert find(home, ledger, made.digest[:8]) == (made.digest,)
    assert find(home, ledger, next(iter(made.adapters.values()))) == (made.digest,)
    assert find(home, ledger, made.harness[:9]) == (first, made.digest)
    assert find(home, ledger, bank) == (made.digest,)
    for wrong in ("f" * 12, "L0-nothing"):
        with pytest.raises(ContractError, match="names 0"):
            find(home, ledger, wrong)


def test_sql_walks_the_same_way(served):
    """From the version to as many traces as the command names."""
    home, verdict = served
    made = lineage(home, Ledger(home.ledger, FixedClock()), verdict.candidate)[0]

    found = dict(ask(home, WALK.format(name=verdict.candidate)).rows)

    assert found["trace"] == len(made.traces)
    assert found["mode"] == len(made.covered)
    assert (found["version"], found["adapter"], found["harness"], found["bank"]) == (1, 1, 1, 1)
    answers = ask(
        home,
        f"select kind from v_lineage where link = 'about' and source = '{verdict.digest}' order by name::int",
    )
    assert [kind for (kind,) in answers.rows] == ["request", "refusal", "approval", "promotion"]


def test_the_command_draws_a_tree(served, monkeypatch, capsys):
    """What a person reads; the name of an adapter does as well."""
    home, verdict = served
    terminal = Terminal(home, monkeypatch, capsys)
    adapter = next(iter(versions.load(home, verdict.candidate).adapters.values()))

    said = terminal.ok("lineage", adapter)

    assert f"version {verdict.candidate[:12]} (was in service)" in said
    assert f"adapter L0: {adapter} (new)" in said
    assert "approve: all labels" in said
    assert "rollback by grace: too slow" in said
    assert "16 tasks from 16 traces" in said
    assert "nothing younger than 30 days" in terminal.ok("gc", "--dry-run")
