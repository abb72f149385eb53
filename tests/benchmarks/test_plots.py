"""The plots of the pages under docs, from small files."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rsi.ids import canonical
from rsi.questions import Gain, Point
from tests.benchmarks import plot_measured, plot_nights

FIRST = Point(version="a" * 64, suite="routing/v1", items=120, right=40, gain=None)
LAST = Point(
    version="b" * 64,
    suite="routing/v1",
    items=120,
    right=90,
    gain=Gain(won=55, lost=5, difference=50 / 120, low=0.32, high=0.51),
)


def test_nights_are_drawn_by_day_and_by_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that stand alone: one of the days, one a suite of the vault."""
    told = {
        "days": [{"routed": [30, 90]}, {"routed": [70, 90]}],
        "vault": [one.model_dump(mode="json") for one in (FIRST, LAST)],
    }
    (tmp_path / "nights.json").write_bytes(canonical(told))
    monkeypatch.setattr(
        sys, "argv", ["plot_nights", "--nights", str(tmp_path / "nights.json"), "--out", str(tmp_path / "out")]
    )

    plot_nights.main()

    drawn = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    assert sorted(drawn) == ["days.svg", "vault-routing.svg"]
    for svg in drawn.values():
        ElementTree.fromstring(svg)
    assert "day 2: 70 of 90" in drawn["days.svg"]
    assert "bbbbbbbb: 90 of 120" in drawn["vault-routing.svg"]


def test_versions_are_drawn_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order they are named, however the file has them."""
    told = {
        "versions": {
            "a" * 64: {"right": 8, "tasks": 96, "interval": [0.043, 0.156]},
            "b" * 64: {"right": 0, "tasks": 96, "interval": [0.0, 0.038]},
        }
    }
    (tmp_path / "measured.json").write_bytes(canonical(told))
    put = ["--measured", str(tmp_path / "measured.json"), "--out", str(tmp_path / "out" / "calls.svg")]
    named = ["--title", "Calls right", "--version", "bbbb=base", "--version", "aaaa=warm start"]
    monkeypatch.setattr(sys, "argv", ["plot_measured", *put, *named])

    plot_measured.main()

    drawn = (tmp_path / "out" / "calls.svg").read_text()
    ElementTree.fromstring(drawn)
    assert drawn.index("base: 0 of 96") < drawn.index("warm start: 8 of 96")
