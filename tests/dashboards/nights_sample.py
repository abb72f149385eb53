"""Two weeks of nights over the sample's traces: promotions, refusals, a rejection, a rollback, one that waits and one
that runs. Verdicts are the gate's own, from made-up answers; what the pages should say is counted from `PLAN`.
"""

import random
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

import orjson

from rsi.gate.contract import Contract
from rsi.gate.scorecard import Asked, Scorecard, summary
from rsi.gate.verdict import judge
from rsi.ids import canonical, digest
from rsi.records import Item, ItemResult, Judgement, Outcome, OutcomeKind, Verdict, Version
from rsi.registry import versions
from rsi.report.evidence import Evidence
from rsi.report.page import page
from rsi.settings import Home
from rsi.store.database import store_batch
from rsi.store.ledger import Ledger
from rsi.store.snapshot import refresh
from rsi.task_records import BankManifest
from rsi.traces.rows import Score, Trace
from tests.dashboards import sample
from tests.made import FixedClock

ROLES = ("L0", "L1", "L2", "L3")
CONTRACT = Contract.model_validate(
    {
        "schema_version": 1,
        "name": "tour/v1",
        "target": {"suite": "routing/v1", "digest": "1" * 64, "min_items": 200, "min_accuracy": 0.5,
                   "min_label_accuracy": 0.3, "min_hard_items": 0},
        "guards": [{"suite": "easy/v1", "digest": "2" * 64, "min_items": 100, "margin": 0.08,
                    "champion_high": 1.0, "max_tokens": 8}],
    }
)  # fmt: skip
ITEMS = {"routing/v1": 248, "easy/v1": 200}
HOSTILE = "<img src=https://tracker.invalid/reason.png> **bold**"


class Plan(NamedTuple):
    """One night: the quality of its candidate on target and guard, and what became of it."""

    night: str
    role: str = "L0"
    target: float = 0.0
    guard: float = 0.0
    fate: str = "quiet"
    """quiet, refused, promoted, rejected, waiting or running."""


PLAN = (
    Plan("2026-03-02", "L0", 0.60, 0.66, "promoted"),
    Plan("2026-03-03", "L0", 0.71, 0.41, "refused"),
    Plan("2026-03-04", "L0", 0.73, 0.68, "promoted"),
    Plan("2026-03-05"),
    Plan("2026-03-06", "L2", 0.84, 0.66, "rejected"),
    Plan("2026-03-07", "L1", 0.729, 0.67, "refused"),
    Plan("2026-03-08", "L1", 0.81, 0.67, "promoted"),
    Plan("2026-03-09"),
    Plan("2026-03-10", "L0", 0.84, 0.70, "promoted"),
    Plan("2026-03-11", "L3", 0.79, 0.66, "refused"),
    Plan("2026-03-12", "L2", 0.90, 0.71, "waiting"),
    Plan("2026-03-13", fate="running"),
)
GENESIS = (0.42, 0.66)
ROLLED_BACK = "2026-03-09"
"""The night before which the version of the night before goes."""


@dataclass
class Made:
    """What lies in the home."""

    champion: str
    quality: dict[str, tuple[float, float]]
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """By night."""
    candidates: dict[str, str] = field(default_factory=dict)
    """By night."""
    served: list[str] = field(default_factory=list)


def make_home(home: Home, base: sample.Sample) -> Made:
    """A home with a sample and the nights of `PLAN`, and its snapshot."""
    shown = [one for one in base.modes if one["night"] == sample.NIGHTS[-1]]
    base.modes, base.mode_traces = (
        [
            {**one, "night": plan.night, "status": one["status"] if at else "new"}
            for at, plan in enumerate(PLAN)
            for one in shown
        ],
        [],
    )
    sample.make_home(home, base)
    clock = FixedClock("2026-03-01T09:00:00+00:00")
    ledger = Ledger(home.ledger, clock)
    first = versions.save(home, Version(base="b" * 64, adapters={}, harness="c" * 64, parent=None))
    ledger.append("genesis", output=first, body={"base": "smollm2-135m"})
    made = Made(first, {first: GENESIS}, served=[first])
    for at, plan in enumerate(PLAN):
        begins = datetime.fromisoformat(f"{plan.night}T02:00:00+00:00")
        clock.move(seconds=(begins - clock.now()).total_seconds())
        if plan.night == ROLLED_BACK:
            _roll_back(ledger, made)
        _night(home, ledger, clock, made, plan, at)
    _traces(home, made)
    refresh(home, clock)
    return made


def _roll_back(ledger: Ledger, made: Made) -> None:
    back = made.served[-2]
    said = {
        "actor": "watch rule",
        "reason": "fails more often than the version before it",
        "replaces": made.champion,
    }
    ledger.append("rollback", output=back, body=said)
    made.champion = back
    made.served.append(back)


def _night(home: Home, ledger: Ledger, clock: FixedClock, made: Made, plan: Plan, at: int) -> None:
    body = {"champion": made.champion, "ordinal": 1, "deployment": "d" * 64, "previous": None}
    ledger.append("night", night=plan.night, output="e" * 64, body=body)
    clock.move(seconds=40 + at)
    ledger.append(
        "stage", night=plan.night, stage="discover", input="e" * 64, output=digest([plan.night, "modes"])
    )
    if plan.fate == "quiet":
        ledger.append(
            "end",
            night=plan.night,
            body={"reason": "12 failures; a night trains from 20 on", "judgement": None},
        )
        return
    clock.move(seconds=95 + 3 * at)
    bank = _bank(home, plan)
    ledger.append("stage", night=plan.night, stage="expand", input=digest([plan.night, "modes"]), output=bank)
    if plan.fate == "running":
        return
    clock.move(seconds=600 + 70 * at)
    candidate = _candidate(home, made, plan, bank)
    ledger.append("stage", night=plan.night, stage="update", input=bank, output=candidate)
    clock.move(seconds=300)
    verdict = _verdict(home, made, plan, candidate)
    ledger.append("stage", night=plan.night, stage="gate", input=candidate, output=verdict.digest)
    reason = f"verdict {verdict.digest[:8]}: {verdict.judgement.value}; {HOSTILE if at == 1 else 'as the clauses say'}"
    if verdict.judgement is Judgement.PASS:
        ledger.append("request", night=plan.night, input=verdict.digest, output=candidate,
                      body={"expires": "2026-04-01T00:00:00+00:00", "replaces": made.champion})  # fmt: skip
    ledger.append("end", night=plan.night, output=verdict.digest,
                  body={"reason": reason, "judgement": verdict.judgement.value})  # fmt: skip
    clock.move(minutes=50)
    _answer(ledger, made, plan, verdict)


def _answer(ledger: Ledger, made: Made, plan: Plan, verdict: Verdict) -> None:
    if plan.fate not in ("promoted", "rejected"):
        return
    decision = "approve" if plan.fate == "promoted" else "reject"
    said = {
        "verdict": verdict.digest,
        "decision": decision,
        "approver": "ada",
        "reason": "read the report",
        "via": "form",
    }
    ledger.append("approval", input=verdict.digest, body=said)
    if plan.fate == "promoted":
        ledger.append(
            "promotion", input=verdict.digest, output=verdict.candidate, body={"replaces": made.champion}
        )
        made.champion = verdict.candidate
        made.served.append(verdict.candidate)


def _bank(home: Home, plan: Plan) -> str:
    modes = {f"m-{digest(one[0])[:10]}": 40 + 7 * at for at, one in enumerate(sample._MODES[:4])}
    found = BankManifest(night=plan.night, tasks=sum(modes.values()), tasks_sha256="3" * 64, by_mode=modes,
                         by_expected={"L0": 20}, rejected={"duplicate": 31}, screens={})  # fmt: skip
    folder = home.banks / found.digest
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_bytes(canonical(found.model_dump(mode="json")))
    return found.digest


def _candidate(home: Home, made: Made, plan: Plan, bank: str) -> str:
    adapter = f"{plan.role}-{digest([plan.night, plan.role])[:12]}"
    before = versions.load(home, made.champion)
    adapters = {**before.adapters, plan.role: adapter}
    name = versions.save(home, before.model_copy(update={"adapters": adapters, "parent": made.champion}))
    job = home.jobs / digest([plan.night, "job"])
    job.mkdir(parents=True)
    (job / "job.json").write_bytes(
        orjson.dumps({"role": plan.role, "bank": bank, "settings": {"algorithm": "grpo"}})
    )
    (job / "metrics.jsonl").write_bytes(orjson.dumps({"step": 1, "seconds": 3.5, "sampled": 900.0}) + b"\n")
    (job / "complete.json").write_bytes(
        orjson.dumps(
            {
                "adapter": adapter,
                "steps": 160,
                "skipped": 3,
                "ended": "after its 160 steps",
                "reason": "steps",
            }
        )
    )
    made.quality[name] = (plan.target, plan.guard)
    made.candidates[plan.night] = name
    return name


def _verdict(home: Home, made: Made, plan: Plan, candidate: str) -> Verdict:
    results = [
        _result(made, suite, at, made.champion, candidate)
        for suite, count in ITEMS.items()
        for at in range(count)
    ]
    hops = {"routing/v1": "route", "easy/v1": "answer"}
    asked = [
        Asked(suite=name, pin=pin, hop=hops[name], items=ITEMS[name]) for name, pin in CONTRACT.pins.items()
    ]
    scorecard = Scorecard(contract_digest=CONTRACT.digest, champion=made.champion, candidate=candidate,
                          asked=tuple(asked), results=tuple(results))  # fmt: skip
    verdict = judge(CONTRACT, scorecard, plan.night, plan.role)
    folder = home.verdicts / verdict.digest
    folder.mkdir(parents=True)
    (folder / "verdict.json").write_bytes(canonical(verdict.model_dump(mode="json")))
    evidence = Evidence(verdict, summary(scorecard, CONTRACT), (f"adapter of {plan.role} is new",))
    (folder / "report.html").write_text(page(evidence))
    made.verdicts[plan.night] = verdict
    return verdict


def _result(made: Made, suite: str, at: int, champion: str, candidate: str) -> ItemResult:
    side = list(ITEMS).index(suite)
    item = Item(item_id=f"i{at}", messages=(), expected=ROLES[at % 4], cluster=f"c{at}", source="own")
    right = [_right(made.quality[version][side], version, at, suite) for version in (champion, candidate)]
    ends = [Outcome(kind=OutcomeKind.SCORED, score=float(one)) for one in right]
    return ItemResult(item_id=item.item_id, suite=suite, cluster=item.cluster, expected=item.expected,
                      source=item.source, hard=False, champion=ends[0], candidate=ends[1], champion_answer="",
                      candidate_answer="")  # fmt: skip


def _right(quality: float, version: str, at: int, suite: str) -> bool:
    """Items are easy or hard for all versions alike, with a little chance."""
    return (
        random.Random(f"{suite} {at}").random() + random.Random(f"{version} {at}").uniform(-0.04, 0.04)
        < quality
    )


def _traces(home: Home, made: Made) -> None:
    """What each version that served answered, a hundred traces or so."""
    draw, traces, scores = random.Random(3), [], []
    for version in dict.fromkeys(made.served):
        for _ in range(draw.randint(60, 160)):
            uid = f"t{len(traces):031x}"
            failed = draw.random() > made.quality[version][0]
            traces.append(
                Trace(uid, "default", "gateway", uid, agent="booking", model=sample.MODEL, version=version, route="L0",
                      origin="traffic", time_state="missing", input_text="?", output_text="!")
            )  # fmt: skip
            scores.append(Score(f"s{uid}", uid, "route", float(not failed), source="human"))
    place = {"ordinal": 1, "file_id": "made", "line": 1, "byte_offset": 0}
    with store_batch(home, FixedClock(), "sample") as connection:
        told = [
            {**one._asdict(), **place, "split": "train", "part_uid": f"n{at}"}
            for at, one in enumerate(traces)
        ]
        sample._insert(connection, "trace_parts", told)
        sample._insert(connection, "scores", [{**one._asdict(), **place} for one in scores])
