"""What the demo prints and writes: measured figures only, the same in both places."""

from pathlib import Path

import orjson
import pytest

from flows import summary
from flows.replay import Replay
from flows.traffic import Request
from tests.discover.facts_made import modes_of, routed
from tests.flows.flow_made import made_contracts, with_request

REQUESTS = tuple(
    Request(id=f"{label}-{at}", label=label, hard=False, source="own", text="some text")
    for label in ("L0", "L1")
    for at in range(10)
)


@pytest.fixture
def measured(tiny_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> summary.Measured:
    """Everything went to L0 before; all but one request for L1 is right after."""
    root = made_contracts(tmp_path / "contracts")
    monkeypatch.setenv("RSI_CONTRACTS", str(root))
    home, verdict = with_request(tmp_path / "home", tiny_base, root)
    after = {one.id: "L0" if one.id == "L1-0" else one.label for one in REQUESTS}
    old = [routed(f"a-{one.id}", one.label, "L0", version=verdict.champion) for one in REQUESTS]
    new = [routed(f"b-{one.id}", one.label, after[one.id], version=verdict.candidate) for one in REQUESTS]
    first = modes_of(old, "2026-01-02", None, verdict.champion)
    return summary.Measured(
        requests=REQUESTS,
        before=Replay(version=verdict.champion, seconds=2.0, routed={one.id: "L0" for one in REQUESTS}),
        after=Replay(version=verdict.candidate, seconds=1.0, routed=after),
        verdict=verdict,
        suites=summary.suites(home, verdict),
        modes_before=first,
        modes_after=modes_of([*old, *new], "2026-01-02.2", first, verdict.candidate),
        seconds={"replay before": 2.0, "night: update": 30.5},
        words={"L0": "chat", "L1": "do"},
    )


def test_figures_are_those_of_the_replays_the_gate_and_the_modes(measured: summary.Measured) -> None:
    """Accuracy by label on both, the guard, p-value and interval, verdict, modes by status, seconds, digests."""
    said = summary.as_json(measured)
    assert said["traffic"] == {
        "before": 0.5,
        "after": 0.95,
        "by_label": {
            "L0": {"items": 10, "before": 1.0, "after": 1.0},
            "L1": {"items": 10, "before": 0.0, "after": 0.9},
        },
    }
    gate = said["gate"]
    assert isinstance(gate, dict)
    assert (gate["items"], gate["before"], gate["after"]) == (200, 0.25, 1.0)
    assert gate["by_label"]["L3"] == {"items": 50, "before": 0.0, "after": 1.0}
    assert gate["hard_own"] == {"items": 52, "before": 0.25, "after": 1.0}
    assert said["guards"] == {"easy/v1": {"items": 150, "before": 0.6, "after": 0.6, "margin": 0.08}}
    gain = next(one.numbers for one in measured.verdict.clauses if one.name == "target_gain")
    assert (said["p_value"], said["interval"]) == (gain["p"], [gain["low"], gain["high"]])
    assert said["modes"] == {"before": {"new": 1}, "after": {"fixed": 1}}
    assert said["seconds"] == {"replay before": 2.0, "night: update": 30.5}
    assert orjson.loads(orjson.dumps(said)) == said


def test_the_tables_say_the_same(measured: summary.Measured, capsys: pytest.CaptureFixture[str]) -> None:
    """By label before and after, what became of each mode, and the seconds."""
    summary.show(measured)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert any(line.endswith("L1 do 10 0.0% 90.0% +90.0") for line in lines)
    assert any("routed to chat" in line and line.endswith("0 10 of 10 1 of 10 new fixed") for line in lines)
    assert any(line.startswith("guard easy/v1 all 150 60.0% 60.0% +0.0") for line in lines)
    assert "night: update 30.5" in lines
