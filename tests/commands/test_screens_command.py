"""`rsi screens`: what no bank holds, why, and a person who says otherwise."""

import orjson
import pytest

from rsi.records import Refusal
from rsi.settings import Deployment
from rsi.tasks import refused
from tests.commands.spoken import Terminal

SHOWN = Refusal(
    task_id="t-aaaaaaaaaaaaaaaa",
    reason="held_out_near",
    source="correction",
    evidence="61% alike: dim the \x1b[31mlamps",
    held_out="suite/v1:a-7",
    text="dim the lamps",
    expected="L1",
    mode_id="m-1",
    traces=("trace-1",),
)
STANDS = SHOWN.model_copy(update={"task_id": "t-bbbbbbbbbbbbbbbb", "reason": "held_out_exact"})


@pytest.fixture
def rsi(terminal: Terminal) -> Terminal:
    """A home whose last night refused two proposals."""
    Deployment().write(terminal.home.deployment_file)
    refused.write(terminal.home, "2026-01-01", [])
    refused.write(terminal.home, "2026-01-02", [SHOWN, STANDS])
    return terminal


def test_refusals_are_counted_by_reason_and_source(rsi: Terminal) -> None:
    """Or listed, of one reason or of another night."""
    counted = rsi.ok("screens", "list")

    assert "held_out_near" in counted and "correction" in counted and SHOWN.task_id in counted
    assert "suite/v1:a-7" in rsi.ok("screens", "list", "--reason", "held_out_near")
    assert [row["task_id"] for row in orjson.loads(rsi.ok("screens", "list", "--json"))] == [
        SHOWN.task_id,
        STANDS.task_id,
    ]
    assert rsi.ok("screens", "list", "--night", "2026-01-01") == "nothing was refused\n"
    assert "2020-01-01" in rsi.refused("screens", "list", "--night", "2020-01-01")


def test_one_refusal_is_shown_with_where_it_came_from(rsi: Terminal) -> None:
    """Text of traces is shown and moves no terminal."""
    shown = rsi.ok("screens", "show", "t-aaaa")

    assert "suite/v1:a-7" in shown and "rsi traces show trace-1" in shown
    assert "rsi screens overrule t-aaaaaaaaaaaaaaaa" in shown
    assert "\x1b" not in shown
    assert "overrule" not in rsi.ok("screens", "show", "t-bbbb")


def test_a_person_overrules_and_it_is_seen(rsi: Terminal) -> None:
    """With name and reason; a verbatim item stands, with exit code 1."""
    said = rsi.ok("screens", "overrule", "t-aaaa", "--by", "ada", "--why", "other lamps")

    assert "from the next night on" in said
    assert orjson.loads(rsi.ok("screens", "show", "t-aaaa", "--json"))["overruled"] is True
    assert "overruled" in rsi.ok("screens", "show", "t-aaaa")
    done = rsi("screens", "overrule", "t-bbbb", "--by", "ada", "--why", "please")
    assert (done.code, "stands" in done.err) == (1, True)
