"""`rsi gate`: what is beside the stage."""

import orjson
import pytest

from rsi.settings import Home, gate_key
from tests.commands.spoken import Terminal


def test_the_simulation_prints_errors_power_and_saving(terminal: Terminal) -> None:
    """For a person and for a program, without a home."""
    said = terminal.ok("gate", "simulate", "--gates", "10", "--runs", "10", "--seed", "3")
    told = orjson.loads(
        terminal.ok("gate", "simulate", "--gates", "10", "--runs", "10", "--seed", "3", "--json")
    )

    assert "same items, only pass or not seen, 200 nights" in said and "power at +2" in said
    assert [one["alpha"] for one in told["errors"]] == [0.05] * 8 + [None]
    assert {"seed", "errors", "power", "power_simulated", "in_order", "plan"} == set(told)
    assert [one["points"] for one in told["in_order"]] == [0.0, 0.02, 0.04, 0.08]


@pytest.mark.parametrize("arguments", [("gate", "--help"), ("gate", "simulate", "--help")])
def test_both_explain_themselves(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    """The stage takes a candidate, the simulation a seed."""
    said = terminal.ok(*arguments)

    assert ("--candidate" in said) == (len(arguments) == 2)
    assert ("--seed" in said) == (len(arguments) == 3)


def test_the_key_is_made_once_and_never_printed(terminal: Terminal, home: Home) -> None:
    """Its digest is; a verdict that is not there is not drawn again."""
    said = terminal.ok("gate", "key")
    told = orjson.loads(terminal.ok("gate", "key", "--json"))

    assert set(told) == {"path", "digest"}
    assert told["path"] == str(gate_key(home)) and told["digest"][:12] in said
    assert gate_key(home).read_text() not in said
    assert terminal("gate", "redraw", "abcdef").code == 2
