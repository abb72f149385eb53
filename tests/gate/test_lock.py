"""What a person approved is what judges: contracts.lock."""

import pytest

from rsi.errors import ContractError, IntegrityError, RefusedError
from rsi.gate import fingerprints, lock
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import read
from rsi.gate.gate import gate
from rsi.gate.proposal import differences, propose
from rsi.settings import PROJECT
from tests.gate import made
from tests.gate.made import Unrecorded
from tests.made import FixedClock

CLOCK = FixedClock()


@pytest.fixture
def world(tmp_path) -> made.World:
    """Two small suites with fingerprints, and a contract on them."""
    found = made.world(tmp_path / "contracts", per_label=2, easy=4, min_items=1)
    for name in found.contract.pins:
        fingerprints.write(found.root / "suites" / name)
    return found


def test_the_shipped_contracts_are_what_was_approved():
    """Each of them, with its suites and their fingerprints."""
    root = PROJECT / "contracts"
    known = lock.read(root)

    assert known is not None
    assert list(known.contracts) == lock.names(root)
    for name in lock.names(root):
        lock.check(root, read(name, root))


def test_an_approval_pins_contract_suites_and_fingerprints(world):
    """With who and why; a second one of the same is refused, and nothing changes by it."""
    before = lock.state(lock.read(world.root), world.contract)
    lock.approve(world.root, CLOCK, "made/v1", "ada", "it is ours")

    known = lock.read(world.root)
    assert (before, lock.state(known, world.contract)) == ("unlocked", "approved")
    assert (known.contracts["made/v1"].by, known.contracts["made/v1"].reason) == ("ada", "it is ours")
    assert {name: one.pin for name, one in known.suites.items()} == world.contract.pins
    text = (world.root / lock.FILE).read_bytes()
    with pytest.raises(RefusedError, match="approved by ada already"):
        lock.approve(world.root, CLOCK, "made/v1", "bob", "me too")
    assert (world.root / lock.FILE).read_bytes() == text


@pytest.mark.parametrize(("by", "reason"), [("", "why"), ("ada", "  ")])
def test_an_approval_says_who_and_why(world, by, reason):
    """Nothing is pinned in nobody's name."""
    with pytest.raises(ContractError, match="who gives it and why"):
        lock.approve(world.root, CLOCK, "made/v1", by, reason)
    assert lock.read(world.root) is None


def test_the_first_approval_pins_what_judged_until_then(world):
    """Contracts that lie there already go on to count, and say since when."""
    (world.root / "gate/other").mkdir()
    text = (world.root / "gate/made/v1.toml").read_text().replace("made/v1", "other/v1")
    (world.root / "gate/other/v1.toml").write_text(text)

    lock.approve(world.root, CLOCK, "made/v1", "ada", "it is ours")

    assert lock.read(world.root).contracts["other/v1"].reason == "was there when made/v1 was approved"


def judge(world, home):
    """The gate on one candidate."""
    engine = made.engine(made.routes_right(1), made.OLD_ANSWERS)
    return gate(
        home, "made/v1", Contest(made.CHAMPION, made.CANDIDATE), Means(engine, made.harness_of), Unrecorded(),
        night="2026-01-02", contracts=world.root,
    )  # fmt: skip


def test_the_gate_judges_by_no_proposal(world, home):
    """Until a person approved it; a lock without an entry is no approval."""
    lock.write(world.root, lock.Lock())

    with pytest.raises(RefusedError, match="made/v1 is a proposal"):
        judge(world, home)
    lock.approve(world.root, CLOCK, "made/v1", "ada", "it is ours")
    assert judge(world, home).contract == "made/v1"


def test_56_a_contract_or_an_item_that_was_changed_in_place_is_refused(world, home):
    """A bar, an item's side, or what the loop may know of the items."""
    lock.approve(world.root, CLOCK, "made/v1", "ada", "it is ours")
    contract, items = world.root / "gate/made/v1.toml", world.root / "suites/routing/v1/items.jsonl"
    prints = world.root / "suites/routing/v1/fingerprints.json"

    for path, old, new in (
        (contract, "min_accuracy = 0.9", "min_accuracy = 0.1"),
        (items, '"split":"gate"', '"split":"vault"'),
        (prints, '"run":', '"run": '),
    ):
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(IntegrityError):
            judge(world, home)
        path.write_text(text)
    assert judge(world, home).contract == "made/v1"


def test_an_item_that_changed_before_the_approval_is_refused_there(world):
    """Nobody pins what does not fit."""
    items = world.root / "suites/routing/v1/items.jsonl"
    items.write_text(items.read_text().replace("request 0", "request 99", 1))

    with pytest.raises(IntegrityError, match="not the one that the contract names"):
        lock.approve(world.root, CLOCK, "made/v1", "ada", "it is ours")


@pytest.mark.parametrize(
    ("text", "says"),
    [("x = [", "not valid TOML"), ("[other]\n", "other"), ('[contracts."a/v1"]\nby = "x"\n', r"contracts\.a/v1")],
    ids=["toml", "key", "entry"],
)
def test_a_lock_that_cannot_be_read_stops_everything(world, text, says):
    """Rather than to judge without one."""
    (world.root / lock.FILE).write_text(text)

    with pytest.raises(ContractError, match=says):
        lock.check(world.root, world.contract)


def test_a_changed_contract_is_the_next_version_and_a_proposal(world, home):
    """What differs is said; the one before stays as it is and goes on to judge."""
    lock.approve(world.root, CLOCK, "made/v1", "ada", "it is ours")

    after = propose(world.root, "made/v1", ["target.min_accuracy=0.7", "guards.0.margin=0.05"])

    assert after.name == "made/v2"
    assert list(differences(world.contract, after)) == [
        "guards.0.margin: 0.08 → 0.05",
        "target.min_accuracy: 0.9 → 0.7",
    ]
    assert lock.state(lock.read(world.root), after) == "proposed"
    assert read("made/v2", world.root) == after
    assert judge(world, home).contract_digest == world.contract.digest


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("min_accuracy", "not a change"),
        ("target.min_accuracy=2", "such a contract cannot be"),
        ("target.bar=0.5", "such a contract cannot be"),
        ("guards.7.margin=0.1", "cannot be set"),
        ("target.min_accuracy=0.9", "nothing differs"),
        ("target.min_accuracy=x", "cannot be set"),
    ],
)
def test_a_proposal_that_is_no_contract_is_not_written(world, change, says):
    """Nothing lies there afterwards."""
    with pytest.raises(ContractError, match=says):
        propose(world.root, "made/v1", [change])
    assert lock.names(world.root) == ["made/v1"]
