"""Suites whose items a source draws: public exchanges with tools, episodes at the desk."""

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
import tomlkit

from rsi import assets
from rsi.environments import kind
from rsi.errors import ContractError, IntegrityError
from rsi.gate import fingerprints
from rsi.gate.contract import read
from rsi.gate.questions import Contender
from rsi.gate.suites import Draw, Suite, digest_of, fresh, load
from rsi.ids import digest
from rsi.records import Pool, Split, Version, WorldTask
from rsi.settings import PROJECT
from rsi.tasks import heldout
from rsi.tasks.bfcl import Halves, halves, task_of
from rsi.tasks.overlap import Index, texts_of
from rsi.tasks.prompt import render
from tests.gate.made import BASE
from tests.made import router

CONTRACTS = PROJECT / "contracts"
public = pytest.mark.skipif(
    not next(one for one in assets.ASSETS if one.name == "bfcl-answers").folder.is_dir(),
    reason="the asset bfcl-answers is not pulled: rsi assets pull",
)
ABOUT = {"name": "small", "version": 1, "verifier": "final_state", "hop": "world", "role": "L1"}
ITEMS = {"source": "environment", "environment": "desk", "pool": "reworded", "seed": 3, "count": 3}
NONE = "0" * 64


def named(path: Path) -> str:
    """Of a contract or a suite by its place: ``routing/v1``."""
    return f"{path.parent.name}/{path.stem}"


@pytest.fixture(scope="module")
def exchanges() -> Halves:
    """The file of exchanges, divided."""
    return halves("live_simple")


@pytest.fixture(scope="module")
def live() -> Suite:
    """The suite of its one half."""
    return load("live_simple/v1", None, CONTRACTS)


def small(root: Path, about: dict[str, object] | None = None, **items: object) -> Path:
    """A suite of three episodes below `root`, pinned by what they are unless `items` says otherwise."""
    folder = root / "suites/small/v1"
    folder.mkdir(parents=True, exist_ok=True)
    said = {**ABOUT, "description": "Three episodes.", **(about or {})}
    drawn = {key: value for key, value in {**ITEMS, "digest": NONE, **items}.items() if value is not None}
    (folder / "suite.toml").write_text(tomlkit.dumps({**said, "items": drawn}))
    return folder


def pinned(root: Path) -> Suite:
    """The same suite with the digest that its author is told."""
    folder = small(root)
    with pytest.raises(IntegrityError) as told:
        load("small/v1", None, root)
    found = str(told.value).split("digest ")[1][:64]
    small(root, digest=found)
    assert digest_of(folder) == load("small/v1", None, root).digest
    return load("small/v1", None, root)


@pytest.mark.parametrize("path", sorted(CONTRACTS.glob("gate/*/v*.toml")), ids=named)
@pytest.mark.base
@pytest.mark.usefixtures("smollm")
def test_every_contract_pins_suites_that_are_there(path: Path, tmp_path: Path) -> None:
    """Whole and as many as it wants; a changed item would be refused."""
    contract = read(named(path), CONTRACTS)
    fresh.make(tmp_path / "key")

    for part in contract.parts:
        suite = load(part.suite, part.pin, CONTRACTS, draw=Draw(tmp_path / "key", (contract.name,)))
        assert len(suite.items) >= part.min_items


@pytest.mark.parametrize("path", sorted(CONTRACTS.glob("suites/*/v*")), ids=named)
@pytest.mark.base
@pytest.mark.usefixtures("smollm")
def test_the_fingerprints_of_every_suite_fit(path: Path) -> None:
    """The loop's side screens against what the gate asks."""
    fingerprints.check(path)


@public
def test_exchanges_are_a_bank_and_a_suite_of_different_items(live: Suite, exchanges: Halves) -> None:
    """No request, answer or tool of the suite is in the bank, and no screen has to keep any of it out."""
    bank = [task_of(one) for one in exchanges.bank]
    known = heldout.read(CONTRACTS)
    held = Index([one for one in known.items if one.name.startswith("live_simple/v1:")], 0.33)

    assert [one.item_id for one in live.items] == [one.item for one in exchanges.suite]
    assert (len(live.items), len({one.cluster for one in live.items}), len(bank)) == (99, 59, 137)
    for part in ("messages", "expected", "tools"):
        assert not {getattr(one, part) for one in live.items} & {getattr(one, part) for one in bank}
    assert not any(held.overlaps([texts_of(one) for one in bank]))
    assert "live_simple/v1" in known.digests


@public
def test_a_proposal_in_the_words_of_an_item_meets_its_fingerprint(live: Suite) -> None:
    """What the gate asks of tools is held out like its other items."""
    items = live.items[:5]
    overlaps = Index(heldout.read(CONTRACTS).items, 0.33).overlaps(
        [[one.messages[-1].content] for one in items]
    )

    assert [one and one.item for one in overlaps] == [f"live_simple/v1:{one.item_id}" for one in items]


@public
def test_an_item_with_tools_is_asked_as_the_tasks_of_a_bank_are(live: Suite, exchanges: Halves) -> None:
    """The same prompt to the same role; what is expected is in none."""
    harness = router()
    version = Version(base=BASE, adapters={"L0": "a", "L1": "b"}, harness=harness.digest, parent=None)

    for item, one in zip(live.items, exchanges.suite, strict=True):
        asked = Contender(version, harness).question(live.about, item, 64)
        assert (asked.adapter, asked.prompt, asked.max_tokens) == ("b", render(task_of(one), harness), 64)
        assert '"calls"' not in "".join(turn.content for turn in asked.prompt)


def test_episodes_are_drawn_from_what_training_never_asks(tmp_path: Path) -> None:
    """Another pool than training's, a third of them hard, each with a world of its own."""
    suite = load("desk/v1", None, CONTRACTS)
    worlds = [orjson.loads(one.world) for one in suite.items]
    trained = {one.request for one in kind("desk").tasks(400, 1, Pool.TRAIN)}

    assert {one["pool"] for one in worlds} == {"reworded"}
    assert [one.hard for one in suite.items] == [one["level"] == 3 for one in worlds]
    assert sum(one.hard for one in suite.items) == len(suite.items) / 3 == 50
    assert len({one.cluster for one in suite.items}) == len(suite.items)
    assert not {one.messages[-1].content for one in suite.items} & trained
    assert "oracle" not in "".join(one.messages[-1].content for one in suite.items)


def test_a_source_that_draws_other_items_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    """Its digest and its number are pinned; the message names what to write where a suite is frozen."""
    suite = pinned(tmp_path)
    assert (len(suite.items), suite.name) == (3, "small/v1")
    assert load("small/v1", None, tmp_path, split=Split.VAULT).items == ()
    drawn = digest([one.model_dump(mode="json") for one in suite.items])

    small(tmp_path, digest=drawn, seed=4)
    with pytest.raises(IntegrityError, match=f"draws 3 items of digest .*, expected 3 of {drawn}"):
        load("small/v1", None, tmp_path)
    with pytest.raises(IntegrityError, match="is not the one the contract pins"):
        load("small/v1", suite.digest, tmp_path)


BROKEN: list[tuple[Callable[[Path], object], str]] = [
    (lambda root: small(root, pool="train"), "pool: Input should be .*held_out.*reworded"),
    (lambda root: small(root, environment="shop"), "no environment is called 'shop'; there are chains, desk"),
    (lambda root: small(root, source="elsewhere"), "'elsewhere'.*'bfcl', 'environment'"),
    (lambda root: small(root, fresh=True), "fresh ones .* have neither"),
    (lambda root: small(root, seed=None), "frozen items have a seed and a digest"),
    (lambda root: small(root, {"verifier": "exact"}), "are of hop world and verifier final_state"),
    (lambda root: small(root, {"hop": "tool"}), "are of hop world and verifier final_state"),
    (lambda root: small(root, {"role": "L1", "hop": "route"}), "role belongs to every hop but route"),
    (lambda root: (small(root) / "items.jsonl").write_text(""), r"has both items\.jsonl and \[items\]"),
    (
        lambda root: (small(root) / "suite.toml").write_text(tomlkit.dumps({**ABOUT, "description": ""})),
        r"items of hop world are drawn: say from where in \[items\]",
    ),
]


@pytest.mark.parametrize(("make", "says"), BROKEN)
def test_a_source_that_does_not_fit_is_named(
    tmp_path: Path, make: Callable[[Path], object], says: str
) -> None:
    """The author is told what to mend."""
    make(tmp_path)
    with pytest.raises(ContractError, match=says):
        load("small/v1", None, tmp_path)


def test_an_item_is_the_task_that_a_bank_would_hold(tmp_path: Path) -> None:
    """The world of an item reads back as the generator's task."""
    suite = pinned(tmp_path)
    shown = kind("desk").tasks(3, 3, Pool.REWORDED)

    assert tuple(WorldTask.parse(one.world.encode()) for one in suite.items) == shown
