"""The vault: every version that served, asked once, beside the first."""

from pathlib import Path

import pytest

from rsi.context import Context, Start
from rsi.errors import QuietError
from rsi.gate.vault import known, measure
from rsi.harness import hcp
from rsi.registry import champion, versions
from rsi.registry.verify import verify
from rsi.settings import Home
from rsi.store.ledger import Ledger
from rsi.store.query import ask
from rsi.store.snapshot import refresh
from tests import night_made
from tests.made import FixedClock, router

ITEMS = 8


def contracts(root: Path) -> Path:
    """The tiny contracts, with a vault for the routing suite."""
    made = night_made.contracts(root)
    before = night_made.suite(
        root / "more",
        "tiny-routing",
        'verifier = "choice"\nhop = "route"',
        [
            {
                "id": f"{split}-{at}",
                "split": split,
                "expected": f"L{at % 4}",
                "text": f"request {at} of {split}",
            }
            for split in ("gate", "vault")
            for at in range(ITEMS)
        ],
    )
    contract = made / "gate" / "tiny" / "v1.toml"
    folder = made / "suites" / "tiny-routing"
    old = next(line for line in contract.read_text().splitlines() if line.startswith("digest"))
    folder.rename(root / "old")
    (root / "more" / "suites" / "tiny-routing").rename(folder)
    contract.write_text(contract.read_text().replace(old, f'digest = "{before}"'))
    return made


@pytest.fixture
def context(tmp_path: Path, home: Home, tiny_base: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """A home in which two versions served that differ in their harness."""
    monkeypatch.setenv("RSI_CONTRACTS", str(contracts(tmp_path / "contracts")))
    night_made.make_home(home.root, tiny_base)
    ledger = Ledger(home.ledger, FixedClock())
    first = champion.current(ledger)
    plain = router()
    other = hcp.store(home.harnesses, plain.model_copy(update={"name": f"{plain.name}-2"}))
    second = versions.save(
        home, versions.load(home, first).model_copy(update={"harness": other, "parent": first})
    )
    ledger.append("promotion", input="0" * 64, output=second, body={"replaces": first})
    start = Start(night="vault", champion=second, ordinal=0, deployment="d" * 64, previous=None)
    return Context(home, night_made.settings(tiny_base), night_made.world(tiny_base), start)


def test_every_version_that_served_is_asked_once(context: Context) -> None:
    """Only items of the vault, the suites that have any; asked again there is nothing to do."""
    served = [str(one.output) for one in champion.moves(Ledger(context.home.ledger, FixedClock()))]

    found = measure(context)

    assert [(one.version, one.suite, one.items) for one in found] == [
        (name, "tiny-routing/v1", ITEMS) for name in served
    ]
    assert all(one.first == served[0] for one in found)
    assert (found[0].won, found[0].lost, found[0].difference) == (0, 0, 0.0)
    for one in found:
        assert one.difference == pytest.approx((one.won - one.lost) / one.items, abs=1e-6)
        assert one.correct - found[0].correct == one.won - one.lost
        assert one.low <= one.difference <= one.high
    before = context.home.ledger.read_bytes()
    assert measure(context) == found
    assert context.home.ledger.read_bytes() == before


def test_readers_see_counts_and_the_paired_difference(context: Context) -> None:
    """In the view of quality, beside what gates counted; and it breaks no invariant of the ledger's names."""
    found = measure(context)
    refresh(context.home, FixedClock())

    rows = ask(
        context.home,
        "select version, split, suite, items, correct, rate, gain, gain_low, gain_high from v_quality order by all",
    ).rows
    assert rows == sorted(
        (
            one.version,
            "vault",
            one.suite,
            one.items,
            one.correct,
            one.correct / one.items,
            one.difference,
            one.low,
            one.high,
        )
        for one in found
    )
    assert {one.invariant for one in verify(context.home, FixedClock()).findings} <= {"I1", "I2"}
    assert known(Ledger(context.home.ledger, FixedClock())) == found


def test_without_a_vault_nothing_is_asked(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it is said."""
    monkeypatch.setenv("RSI_CONTRACTS", str(night_made.contracts(tmp_path / "plain")))

    with pytest.raises(QuietError, match="vault"):
        measure(context)
