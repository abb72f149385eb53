"""What ``rsi measure … --out FILE`` wrote, as a plot: the share each version has right, with its interval.

python -m tests.benchmarks.plot_measured --measured FILE --out FILE.svg --title TEXT --version DIGEST=NAME …

Versions are drawn in the order of `--version`, each by the beginning of its digest and the name to show.
"""

import argparse
from pathlib import Path
from typing import Any

import orjson

from rsi.report.charts import ShareMark, shares_in_order
from tests.benchmarks.plot_desk import alone


def main() -> None:
    """Read, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measured", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--title", required=True)
    parser.add_argument("--version", action="append", required=True, metavar="DIGEST=NAME")
    given = parser.parse_args()
    told = orjson.loads(given.measured.read_bytes())
    marks = [mark(told["versions"], *one.split("=", 1)) for one in given.version]
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(alone(shares_in_order(marks, given.title)), encoding="utf-8")
    print(given.out)


def mark(versions: dict[str, dict[str, Any]], prefix: str, name: str) -> ShareMark:
    """One version's share of tasks that are right."""
    (found,) = (one for digest, one in versions.items() if digest.startswith(prefix))
    low, high = found["interval"]
    return ShareMark(name, low, found["right"] / found["tasks"], high, f"{name}: {found['right']} of {found['tasks']}")


if __name__ == "__main__":
    main()
