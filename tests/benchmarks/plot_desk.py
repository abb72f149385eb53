"""Plots of ``docs/desk.md`` as files: a job's reward by step, and what was measured before and after it.

python -m tests.benchmarks.plot_desk --job HOME/jobs/DIGEST --measured FILE --out docs/desk

`--job` is the folder of a GRPO job, `--measured` what ``rsi measure WARM GRPO --environment desk --out FILE`` wrote.
"""

import argparse
import re
from pathlib import Path
from typing import NamedTuple

import orjson

from rsi.report.charts import grouped_bars, line_chart
from rsi.report.evidence import Count
from rsi.report.style import STYLE

LEVELS = {"all": "all", "1": "one call", "2": "look up, then act", "3": "a condition decides"}


class Plot(NamedTuple):
    """A file to write."""

    name: str
    svg: str


def main() -> None:
    """Read, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", type=Path, required=True)
    parser.add_argument("--measured", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    rows = [orjson.loads(line) for line in (given.job / "metrics.jsonl").read_bytes().splitlines()]
    told = orjson.loads(given.measured.read_bytes())
    print(said(rows))
    given.out.mkdir(parents=True, exist_ok=True)
    for plot in (reward(rows), entropy(rows), levels(told)):
        (given.out / f"{plot.name}.svg").write_text(alone(plot.svg), encoding="utf-8")
        print(given.out / f"{plot.name}.svg")


def said(rows: list[dict[str, float]]) -> str:
    """The run in figures: means of the first third of its steps and of the last, or of all."""
    third = len(rows) // 3

    def mean(key: str, part: list[dict[str, float]]) -> float:
        return sum(row[key] for row in part) / len(part)

    first, last = rows[:third], rows[-third:]
    return (
        f"{len(rows)} steps; reward {mean('reward', first):.2f}, then {mean('reward', last):.2f}; entropy "
        f"{mean('entropy', first):.2f}, then {mean('entropy', last):.2f}; {mean('live', rows):.1f} groups a step "
        f"with a signal, {sum(not row['live'] for row in rows)} steps without; {mean('sampled', rows):.0f} sampled "
        f"tokens a step; k3 at most {max(row.get('k3', 0.0) for row in rows):.0e}"
    )


def reward(rows: list[dict[str, float]]) -> Plot:
    """Share of the episodes of each step that were right."""
    points = [(row["step"], row["reward"]) for row in rows]
    return Plot("reward", line_chart(points, "step", "share of episodes solved", "Reward by step"))


def entropy(rows: list[dict[str, float]]) -> Plot:
    """How sure the policy is."""
    points = [(row["step"], row["entropy"]) for row in rows]
    return Plot("entropy", line_chart(points, "step", "nats a sampled token", "Entropy by step"))


def levels(told: dict[str, dict[str, dict[str, dict[str, list[int]]]]]) -> Plot:
    """Tasks solved by the first version and by the second, by level."""
    (second,) = told["against_first"]
    (first,) = told["versions"].keys() - {second}
    before, after = told["versions"][first]["levels"], told["versions"][second]["levels"]
    counts = [Count(level, before[level][1], before[level][0], after[level][0]) for level in before]
    total = [sum(one) for one in zip(*(count[1:] for count in counts), strict=True)]
    counts.insert(0, Count("all", total[0], total[1], total[2]))
    return Plot("levels", grouped_bars(counts, LEVELS, "Fresh tasks solved: warm start and GRPO"))


def alone(svg: str) -> str:
    """A chart that stands without the page around it, with the page's colours in it."""
    kept = re.findall(r"^(?:svg .*|:root \{[\s\S]*?^\}|@media \(prefers[\s\S]*?^\})$", STYLE, re.MULTILINE)
    style = "<style>svg{font-family:sans-serif}" + "".join(kept).replace("\n", " ") + "</style>"
    return svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1).replace(
        "<title>", f"{style}<title>", 1
    )


if __name__ == "__main__":
    main()
