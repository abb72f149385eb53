"""What led to a candidate, and the evidence that a person reads; nothing of the story weighs in the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rsi.gate.baseline import baseline
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import Contract
from rsi.gate.dev import Rung
from rsi.gate.difference import changes
from rsi.gate.gap import gap
from rsi.gate.levels import levels_of
from rsi.gate.scorecard import Scorecard, summary
from rsi.gate.spent import spent
from rsi.gate.suites import Suite
from rsi.records import BankManifest, Modes, Verdict
from rsi.report.evidence import Agreement, Baseline, Evidence, Example, MetricsRow
from rsi.tasks.prompt import ROUTE


@dataclass(frozen=True)
class Story:
    """What led to the candidate."""

    modes: Modes | None = None
    bank: BankManifest | None = None
    texts: tuple[str, ...] = ()
    """Requests of the bank, for the baseline."""
    roles: tuple[str, ...] = ()
    """The role that each of them was to be sent to."""
    metrics: tuple[MetricsRow, ...] = ()
    """Rows of the training job's metrics, in the order of their steps."""
    examples: tuple[Example, ...] = ()
    """Requests of the dev side that both versions answered."""
    dev: Rung | None = None
    """What the answers to all of them came to."""


def tell(
    story: Story,
    contract: Contract,
    suites: Mapping[str, Suite],
    contest: Contest,
    means: Means,
    scorecard: Scorecard,
    verdict: Verdict,
    agreed: Agreement | None = None,
) -> Evidence:
    """What card, brief and report are written from."""
    routed = suites[contract.target.suite].about.hop == ROUTE
    before, after = (means.harness_of(one.harness) for one in (contest.champion, contest.candidate))
    return Evidence(
        verdict=verdict,
        tables=summary(scorecard, contract, levels_of(item for suite in suites.values() for item in suite.items)),
        changes=changes(contest.champion, contest.candidate, before, after),
        baseline=_baseline(suites[contract.target.suite], story),
        modes=story.modes,
        bank=story.bank,
        metrics=story.metrics,
        labels={named: word for word, named in after.labels.items()},
        examples=story.examples,
        dev=story.dev.score if story.dev else None,
        gap=gap(story.dev, scorecard.of(contract.target.suite)) if story.dev and routed else None,
        agreement=agreed,
        spent=spent(scorecard, means.prices),
        prices=means.prices,
    )


def _baseline(suite: Suite, story: Story) -> Baseline | None:
    if suite.about.hop != ROUTE:
        return None
    texts: Sequence[str] = [item.messages[-1].content for item in suite.items]
    return baseline(story.texts, story.roles, texts, [item.expected for item in suite.items])
