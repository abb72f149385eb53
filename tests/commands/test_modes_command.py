"""`rsi modes`: the list, one mode explained, and what persons say of them."""

from pathlib import Path

import orjson
import pytest

from rsi.discover.kept import store_modes
from rsi.discover.modes import Before, discover
from rsi.records import Modes, Origin
from rsi.settings import Deployment
from rsi.store.database import store_batch
from rsi.store.files import write_whole
from rsi.store.ledger import Ledger
from rsi.store.snapshot import refresh
from tests.commands.spoken import Terminal
from tests.traces.inputs import ALL_TRAIN, CLOCK, correction, load, request, write_lines

HARM = "sql \x1b[31m\u202e please"


@pytest.fixture
def rsi(terminal: Terminal, tmp_path: Path) -> Terminal:
    """A home whose last night found requests for code that went to chat."""
    Deployment(split=ALL_TRAIN.split).write(terminal.home.deployment_file)
    asked = [
        request(number, messages=[{"role": "user", "content": f"{HARM} {number}"}]) for number in range(30)
    ]
    said = [correction(number, "L2" if number % 3 else "L0") for number in range(30)]
    load(terminal.home, write_lines(tmp_path / "a.ndjson", [*asked, *said]))
    with store_batch(terminal.home, CLOCK, "test") as connection:
        mined = discover(connection, [Origin.TRAFFIC], Before("2026-01-01", "v1", 1))
        store_modes(connection, mined)
    write_whole(
        terminal.home.modes / f"{mined.modes.digest}.json", orjson.dumps(mined.modes.model_dump(mode="json"))
    )
    Ledger(terminal.home.ledger, CLOCK).append(
        "stage", night="2026-01-01", stage="discover", output=mined.modes.digest
    )
    refresh(terminal.home, CLOCK)
    return terminal


def modes(rsi: Terminal) -> Modes:
    return Modes.parse(rsi.ok("modes", "--json").encode())


def test_the_list_ranks_and_says_what_is_unseen(rsi: Terminal) -> None:
    """Status, count, interval, blame and words; JSON is the night's record."""
    (mode,) = modes(rsi).modes
    shown = rsi.ok("modes")

    assert (mode.count, mode.opportunities) == (20, 20)
    for said in (
        mode.mode_id,
        "new",
        "100.0%",
        f"{mode.low:.1%} to 100.0%",
        "model",
        "code (L2) requests routed to chat",
    ):
        assert said in shown
    assert "Good-Turing: 0 modes seen once, 20 signs" in shown


def test_a_mode_is_explained(rsi: Terminal) -> None:
    """By id, beginning or rank: the formula with its factors, history, and examples made harmless."""
    (mode,) = modes(rsi).modes
    for name in (mode.mode_id, mode.mode_id[:6], "1"):
        shown = rsi.ok("modes", "show", name)
        assert (
            f"priority {mode.priority:.3f} = frequency x severity x recency x learnability x standing"
            in shown
        )
        assert "666.67 per thousand traces x 1.00 x 1.00 x 0.50 x 1" in shown
        assert all(example in shown for example in mode.examples)
        assert "asked  sql" in shown
        assert not {"\x1b", "\u202e"} & set(shown)
    assert "names no failure mode" in rsi.refused("modes", "show", "m-none")


def test_labels_are_kept_listed_and_undone(rsi: Terminal) -> None:
    """With who said them; the list of modes says that they count from the next night on."""
    (mode,) = modes(rsi).modes
    assert "label 2 counts" in rsi.ok("modes", "label", "rename", "1", "code goes astray", "--by", "Ada")
    rsi.ok("modes", "label", "wont-fix", mode.mode_id, "--by", "Bob", "--reason", "not offered")
    assert "2 labels came since" in rsi.ok("modes")
    rsi.ok("modes", "label", "undo", "2", "--by", "Ada")
    assert "1 label came since" in rsi.ok("modes")

    found = orjson.loads(rsi.ok("modes", "label", "list", "--json"))
    assert [(one["by"], one["action"], one["mode"]) for one in found.values()] == [
        ("Ada", "rename", mode.mode_id), ("Bob", "wont_fix", mode.mode_id), ("Ada", "undo", ""),
    ]  # fmt: skip
    shown = rsi.ok("modes", "label", "list")
    assert "no, undone" in shown
    assert "no topic" in rsi.refused("modes", "label", "split", "1", "c-none", "--by", "Ada")
