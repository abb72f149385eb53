"""What ingest, snapshot and views cost, in ratios of one run: ``make bench``.

For each size: the same bytes loaded by DuckDB as raw text and checkpointed, then `rsi ingest` with redaction on (its
snapshot apart; `start_s` is an ingest of one document into another home), then each view asked for an aggregate over
all of it.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from rsi.settings import Home
from rsi.store.snapshot import open_snapshot
from tests.benchmarks.spans import write
from tests.benchmarks.tree import Cost, run

VIEWS = {
    "traces": "select count(*), count(distinct version), min(start_ns), sum(length(input_text)) from traces",
    "v_llm_calls": "select model, count(*), sum(input_tokens), avg(ms) from v_llm_calls group by all",
    "v_tool_calls": "select name, status, outcome, count(*) from v_tool_calls group by all",
    "v_conversation": "select role, count(*), max(seq), sum(length(content)) from v_conversation group by all",
    "v_outcomes": "select outcome, rule, count(*) from v_outcomes group by all",
    "v_failures": "select rule, agent, count(*) from v_failures group by all",
    "v_trace_tree": "select kind, link_state, max(depth), count(*) from v_trace_tree group by all",
    "v_usage": "select day, sum(calls), sum(input_tokens), sum(traces) from v_usage group by all",
    "v_feedback": "select name, source, count(*), avg(value) from v_feedback group by all",
    "v_duplicates": "select dup_rule, count(*) from v_duplicates group by all",
    "v_ingest_health": "select sum(read), sum(loaded), sum(refusals) from v_ingest_health",
}
_RAW = "create table raw as select json::varchar as line from read_ndjson_objects(?, maximum_object_size = 67108864)"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary folder by default")
    said = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=said.folder) as folder:
        found = [measured(Path(folder), spans) for spans in said.spans]
    if said.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)


def measured(folder: Path, spans: int) -> dict[str, object]:
    """One size."""
    source = write(folder / f"{spans}.jsonl", spans)
    raw_s = raw(folder / f"{spans}.duckdb", source)
    first = source.with_suffix(".first.jsonl")
    with source.open("rb") as lines:
        first.write_bytes(next(lines))
    started, _ = ingested(folder / f"start-{spans}", first)
    cost, home = ingested(folder / f"home-{spans}", source)
    environment = {"RSI_HOME": str(home.root)}
    totals = json.loads(cost.output)
    snapshot = run(["-m", "rsi.cli", "snapshot"], environment)
    views = {}
    with open_snapshot(home) as connection:
        ((stored,),) = connection.execute("select count(*) from spans").fetchall()
        for name, query in VIEWS.items():
            begun = time.perf_counter()
            connection.execute(query).fetchall()
            views[name] = time.perf_counter() - begun
    result = {
        "spans": spans,
        "megabytes": source.stat().st_size / 1e6,
        "raw_s": raw_s,
        "ingest_s": cost.seconds,
        "start_s": started.seconds,
        "ratio": cost.seconds / raw_s,
        "spans_a_second": spans / cost.seconds,
        "us_a_span_without_start": 1e6 * (cost.seconds - started.seconds) / spans,
        "peak_mb": cost.peak_mb,
        "snapshot_s": snapshot.seconds,
        "snapshot_peak_mb": snapshot.peak_mb,
        "stored_spans": stored,
        "heldout": totals["heldout"],
        "redacted": totals["redacted"],
        "views_s": views,
        "store_mb": home.store.stat().st_size / 1e6,
        "snapshot_mb": home.snapshot.stat().st_size / 1e6,
    }
    source.unlink()
    return result


def ingested(root: Path, source: Path) -> tuple[Cost, Home]:
    """What an ingest into a new home costs, and the home."""
    environment = {"RSI_HOME": str(root)}
    run(["-m", "rsi.cli", "init"], environment)
    return run(["-m", "rsi.cli", "ingest", str(source), "--no-snapshot", "--json"], environment), Home(root)


def raw(path: Path, source: Path) -> float:
    """Seconds that DuckDB takes for the same bytes as text, checkpoint included."""
    begun = time.perf_counter()
    with duckdb.connect(str(path)) as connection:
        connection.execute(_RAW, [str(source)])
        connection.execute("checkpoint")
    seconds = time.perf_counter() - begun
    path.unlink()
    return seconds


def show(found: list[dict[str, object]]) -> None:
    """A table, one column a size."""
    table = Table("", *(f"{one['spans']:,} spans" for one in found), box=None)
    for name in found[0]:
        if name not in ("spans", "views_s"):
            table.add_row(name, *(_said(one[name]) for one in found))
    for view in VIEWS:
        table.add_row(f"{view} s", *(_said(one["views_s"][view]) for one in found))  # type: ignore[index]
    Console(width=120).print(table)


def _said(value: object) -> str:
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
