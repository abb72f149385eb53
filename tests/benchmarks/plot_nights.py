"""Plots of the five nights as files: how requests of each day were routed, and the vault version by version.

python -m tests.benchmarks.plot_nights --nights HOME/nights.json --out FOLDER

`--nights` is the file that ``rsi demo --nights`` wrote at its end.
"""

import argparse
from pathlib import Path

import orjson

from rsi.questions import Point
from rsi.report import vault
from rsi.report.charts import ShareMark, shares_in_order
from rsi.statistics.intervals import wilson
from tests.benchmarks.plot_desk import Plot, alone


def main() -> None:
    """Read, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    told = orjson.loads(given.nights.read_bytes())
    audited = [Point.model_validate(one) for one in told["vault"]]
    given.out.mkdir(parents=True, exist_ok=True)
    for plot in (days(told["days"]), *(suite(some) for some in vault.by_suite(audited).values())):
        (given.out / f"{plot.name}.svg").write_text(alone(plot.svg), encoding="utf-8")
        print(given.out / f"{plot.name}.svg")


def days(told: list[dict[str, list[int]]]) -> Plot:
    """Share of each day's requests that the version in service routed right."""
    marks = []
    for number, one in enumerate(told, 1):
        right, asked = one["routed"]
        low, high = wilson(right, asked)
        marks.append(ShareMark(f"day {number}", low, right / asked, high, f"day {number}: {right} of {asked}"))
    return Plot("days", shares_in_order(marks, "Requests routed right, day by day"))


def suite(audited: list[Point]) -> Plot:
    """Share right of one suite's vault, version by version."""
    name = audited[0].suite.split("/")[0]
    return Plot(f"vault-{name}", shares_in_order(list(map(vault.mark, audited)), f"Right on the vault of {name}"))


if __name__ == "__main__":
    main()
