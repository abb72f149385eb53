"""What a long ledger costs: asked, verified and mirrored, against one a tenth as long. ``make bench``.

Nights have a start, four stages, a question to the gate with its certificate, a request, an answer, and an end. What is
told of the long ledger is its cost against ten times that of the short one: 1.0 is linear.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rsi.ids import canonical, digest
from rsi.questions import Allowance, Ask, Bounds, Registration
from rsi.records import LedgerRecord
from rsi.registry import approval, champion, questions
from rsi.settings import Home
from rsi.store import ledger as ledgers
from rsi.store.database import store_batch
from rsi.store.ledger import GENESIS, SUM, Ledger
from rsi.store.snapshot import mirror_ledger
from tests.made import FixedClock

CLOCK = FixedClock()
FIRST = "1" * 64


def bodies(nights: int) -> Iterator[dict[str, object]]:
    """Kind, night, input, output and body of each record."""
    yield {"kind": "genesis", "output": FIRST}
    for number in range(nights):
        night, verdict = f"n{number}", digest(["verdict", number])
        yield {"kind": "night", "night": night, "output": digest(number), "body": {"ordinal": 0}}
        for stage in ("discover", "expand", "update", "gate"):
            yield {
                "kind": "stage",
                "night": night,
                "stage": stage,
                "input": digest([number, stage]),
                "output": digest([number, stage, "made"]),
            }
        said = asked(number).model_dump(mode="json")
        yield {"kind": "ask", "night": night, "input": digest(said["registration"]), "body": said}
        expires = {"expires": "2027-01-01T00:00:00+00:00", "replaces": FIRST, "role": "L0"}
        yield {"kind": "request", "night": night, "input": verdict, "output": FIRST, "body": expires}
        answer = {"verdict": verdict, "decision": "reject", "approver": "a", "reason": "b", "via": "form"}
        yield {"kind": "approval", "input": verdict, "body": answer}
        yield {"kind": "end", "night": night, "body": {"reason": "the champion stays"}}


def asked(number: int) -> Ask:
    """A question to fresh items, all paid for from one account."""
    about = Registration(
        contract="c/v1",
        contract_digest="2" * 64,
        target=digest(["suite", number]),
        suites={"desk/v1": digest(["suite", number])},
        items=digest(["items", number]),
        champion=FIRST,
        candidate=digest(["candidate", number]),
        anchor=None,
    )
    allowance = Allowance(question=number + 1, start=1, alpha=1e-9, spent=0.0, accepts=0)
    bounds = Bounds(questions=10**6, starts=2, accepts=None, alpha=0.05)
    return Ask(registration=about, allowance=allowance, bounds=bounds, seed=about.seed)


def write(path: Path, nights: int) -> int:
    """A whole ledger at once; its records."""
    lines, prev = [], GENESIS
    for seq, said in enumerate(bodies(nights), 1):
        one = LedgerRecord.model_validate(
            {"seq": seq, "at": "2026-01-02T02:00:00+00:00", "prev": prev, **said}
        )
        prev = one.digest
        lines.append(canonical({**one.model_dump(mode="json"), SUM: prev}))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n".join(lines) + b"\n")
    return len(lines)


def costs(home: Home, nights: int) -> dict[str, float]:
    """Processor seconds of each thing that is done with a ledger of so many nights."""
    write(home.ledger, nights)
    ledger = Ledger(home.ledger, CLOCK)
    with store_batch(home, CLOCK, "bench"):
        pass
    found: dict[str, float] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        begun = time.process_time()
        work()
        found[name] = time.process_time() - begun

    ledgers.forget()
    timed("read", ledger.records)
    timed("read_again", ledger.records)
    timed("append", lambda: ledger.append("stage", night="x", stage="gate", output=FIRST))
    timed("champion", lambda: champion.current(ledger))
    timed("requests", lambda: approval.requests(ledger))
    timed("questions", lambda: list(questions.broken(ledger.records())))
    with store_batch(home, CLOCK, "bench") as connection:
        timed("mirror", lambda: mirror_ledger(connection, home, CLOCK))
        ledger.append("stage", night="x", stage="gate", input="a", output=FIRST)
        timed("mirror_one_more", lambda: mirror_ledger(connection, home, CLOCK))
    return found


def measured(nights: int) -> dict[str, object]:
    """Both lengths."""
    with tempfile.TemporaryDirectory() as root:
        short = costs(Home(Path(root) / "short"), max(nights // 10, 1))
        long = costs(Home(Path(root) / "long"), nights)
    return {
        "nights": nights,
        "records": sum(1 for _ in bodies(nights)),
        "cpu_s": {name: round(value, 4) for name, value in long.items()},
        "against_ten_times_a_tenth": {
            name: round(value / max(10 * short[name], 1e-6), 2) for name, value in long.items()
        },
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=1000)
    print(json.dumps(measured(parser.parse_args().nights), indent=2))


if __name__ == "__main__":
    main()
