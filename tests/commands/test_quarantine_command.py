"""`rsi quarantine`: what was refused, where it lies, and another try."""

from pathlib import Path

import orjson
import pytest

from rsi.settings import Deployment
from rsi.store.snapshot import refresh
from tests.commands.spoken import Terminal
from tests.traces.inputs import ALL_TRAIN, CLOCK, chat, load, write_lines


@pytest.fixture
def rsi(terminal: Terminal, tmp_path: Path) -> Terminal:
    """A home that refused a few things."""
    Deployment(split=ALL_TRAIN.split).write(terminal.home.deployment_file)
    write_lines(
        tmp_path / "in" / "a.jsonl",
        [chat("fine"), {"strange": "\x1b[31m\x9b \u202e"}, {"strange": "z" * 9000}],
    )
    (tmp_path / "in" / "b.jsonl").write_bytes(b'not \x1b[31mjson\n{"cut": \n')
    load(terminal.home, tmp_path / "in")
    refresh(terminal.home, CLOCK)
    return terminal


def test_the_list_counts_by_reason_or_by_file(rsi: Terminal) -> None:
    """With an example of each."""
    by_reason = orjson.loads(rsi.ok("quarantine", "list", "--json"))
    assert {row["reason"]: (row["refusals"], row["files"]) for row in by_reason} == {
        "unknown_format": (2, 1), "not_json": (2, 1),
    }  # fmt: skip
    by_file = orjson.loads(rsi.ok("quarantine", "list", "--files", "--reason", "not_json", "--json"))
    assert [(Path(row["uri"]).name, row["first_line"]) for row in by_file] == [("b.jsonl", 1)]
    shown = rsi.ok("quarantine", "list")
    assert by_reason[0]["example"][:12] in shown
    assert rsi.ok("quarantine", "list", "--reason", "too_deep") == "nothing is in quarantine\n"


def test_a_refusal_is_shown_with_its_raw_text(rsi: Terminal) -> None:
    """The whole record, made harmless; long ones only if asked for."""
    found = orjson.loads(
        rsi.ok("sql", "select quarantine_uid, line from v_quarantine order by reason, line", "--json")
    )
    broken, _, strange, long = (row["quarantine_uid"] for row in found)

    shown = rsi.ok("quarantine", "show", strange[:10])
    assert "unknown_format" in shown
    assert "a.jsonl line 2 (byte " in shown
    assert r'{"strange":"\u001b[31m' in shown
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
    assert "not \u241b[31mjson" in rsi.ok("quarantine", "show", broken)
    assert "more characters: --full" in rsi.ok("quarantine", "show", long)
    assert "z" * 9000 in rsi.ok("quarantine", "show", long, "--full")
    assert orjson.loads(rsi.ok("quarantine", "show", strange, "--json"))["text"].startswith('{"strange"')


def test_what_is_unknown_is_one_line(rsi: Terminal) -> None:
    """Also the empty beginning of all."""
    assert "names no refusal" in rsi.refused("quarantine", "show", "nonsense")
    assert "names no refusal" in rsi.refused("quarantine", "show", "")


def test_a_retry_says_what_stands(rsi: Terminal) -> None:
    """With the readers of today nothing has changed."""
    done = orjson.loads(rsi.ok("quarantine", "retry", "--reason", "unknown_format", "--json"))

    assert (done["read"], done["settled"], done["still"]) == (2, 0, 2)
    assert "0 refusals settled, 2 stand" in rsi.ok("quarantine", "retry", "--reason", "unknown_format")
