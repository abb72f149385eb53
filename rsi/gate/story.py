"""What led to a candidate, and the evidence that a person reads; nothing of the story weighs in the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rsi.gate.baseline import baseline
from rsi.gate.contest import Contest, Means
from rsi.gate.contract import Contract
from rsi.gate.difference import changes
from rsi.gate.scorecard import Scorecard, summary
from rsi.gate.spent import spent
from rsi.gate.suites import Suite
from rsi.records import BankManifest, Modes, Verdict
from rsi.report.evidence import Baseline, DevScore, Evidence, Example, MetricsRow


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
    dev: DevScore | None = None
    """What may be told of the answers to all of them."""


def tell(
    story: Story,
    contract: Contract,
    suites: Mapping[str, Suite],
    contest: Contest,
    means: Means,
    scorecard: Scorecard,
    verdict: Verdict,
) -> Evidence:
    """What card, brief and report are written from."""
    before, after = (means.harness_of(one.harness) for one in (contest.champion, contest.candidate))
    return Evidence(
        verdict=verdict,
        tables=summary(scorecard, contract),
        changes=changes(contest.champion, contest.candidate, before, after),
        baseline=_baseline(suites[contract.target.suite], story),
        modes=story.modes,
        bank=story.bank,
        metrics=story.metrics,
        labels={named: word for word, named in after.labels.items()},
        examples=story.examples,
        dev=story.dev,
        spent=spent(scorecard, means.prices),
        prices=means.prices,
    )


def _baseline(suite: Suite, story: Story) -> Baseline | None:
    if suite.about.hop != "route":
        return None
    texts: Sequence[str] = [item.messages[-1].content for item in suite.items]
    return baseline(story.texts, story.roles, texts, [item.expected for item in suite.items])
