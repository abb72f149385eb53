"""Every benchmark runs, on a size that is worth no figure: one that broke would say so only when it is needed."""

import importlib
import re
import sys
from contextlib import suppress
from pathlib import Path

import pytest

SMALL: dict[str, tuple[str, str]] = {
    "bench_discover": ("--traces 300", r"first night: 300 .*rank \d+, new, \d+ of.*\nsecond night: 330 "),
    "bench_grpo": (
        "--prompt 120 --samples 4 --answer 8 --rank 2 --steps 1 --threads 1 --ways response --no-same",
        r"response +\d",
    ),
    "bench_ledger": ("--nights 20", r'"records": 181'),
    "bench_prefix": (
        "--lengths 64 --samples 2 --answer 4 --threads 1",
        r"64 response +\d(.*\n)*cosine .* \d\.\d+",
    ),
    "bench_receiver": ("--spans 1000", r'"lost": 0,'),
    "bench_redaction": ("--length 400", r'"units": 49'),
    "bench_rehearsal": (
        "--weights 0 1 --first 1 --steps 1 --items 4 --threads 1",
        r"router: routing/v1 \d of 4\n(.*\n)*weight 1: easy/v2 \d of 4, .*\nweight 1: \d\.\d+ nats",
    ),
    "bench_screens": ("--proposals 300 --items 50", r'"injection": 3'),
    "bench_traces": ("--spans 500 --json", r'"stored_spans": [1-9]'),
    "bench_worlds": ("--count 3 --tasks 2 --threads 1", r"demonstrations_right 3 of 3\n(.*\n)*passed \d of 2"),
}
"""Benchmark -> arguments for a small run, and what it then prints."""
OF_BASE = ("bench_grpo", "bench_rehearsal", "bench_worlds")
"""Those that use the base model."""
QUICK = ("bench_ledger", "bench_redaction", "bench_screens", "bench_traces")
"""Those that take a few seconds."""


def test_no_benchmark_is_left_out() -> None:
    """A new one has its line above."""
    assert sorted(SMALL) == sorted(path.stem for path in Path(__file__).parent.glob("bench_*.py"))


@pytest.mark.parametrize(
    "name", [one if one in QUICK else pytest.param(one, marks=pytest.mark.slow) for one in SMALL]
)
def test_a_benchmark_runs_and_prints_its_figures(
    name: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """To its end, with the figures that do not depend on the machine."""
    if name in OF_BASE:
        request.getfixturevalue("smollm")
    arguments, says = SMALL[name]
    monkeypatch.setattr(sys, "argv", [name, *arguments.split()])

    # A bound that a busy machine breaks is for `make bench` to tell.
    with suppress(SystemExit):
        importlib.import_module(f"tests.benchmarks.{name}").main()

    assert re.search(says, capsys.readouterr().out)
