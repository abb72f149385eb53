"""Whether the model that judges agrees with people, on answers that people marked.

A judge is a measuring instrument: what it says of a candidate is worth as much as it sees what people see. Marked
answers stand in the suite (`rsi.gate.suites`); the judge says of each whether it is at least as good as the item's
reference, in both orders, as it does of every answer.
"""

from collections.abc import Mapping

from rsi.errors import ContractError, TransientError
from rsi.gate.clauses import rounded
from rsi.gate.contract import Contract
from rsi.gate.suites import Suite
from rsi.gate.terms import JudgeRule
from rsi.records import Clause, Judgement, OutcomeKind
from rsi.report.evidence import Agreement
from rsi.report.telling import agreement_line
from rsi.report.words import percent
from rsi.verifiers import JUDGE, Verifiers, gold, verify
from rsi.verifiers.judge import AWAY

CLAUSE = "judge_agreement"


def check(contract: Contract, suites: Mapping[str, Suite], verifiers: Verifiers) -> None:
    """Refuse a rule for a judge that nobody asks, and a judge that is another one than the rule's.

    Raises:
        ContractError: as said.
    """
    rule = contract.judge
    if rule is None:
        return
    if all(one.about.verifier != JUDGE for one in suites.values()):
        raise ContractError(f"contract {contract.name} has rules for a judge ([judge]), but no suite of it asks one")
    found = verifiers[JUDGE].by
    if rule.by is not None and rule.by != found:
        raise ContractError(
            f"contract {contract.name} is judged by {rule.by}, and [judge] of the deployment file names "
            f"{found or 'no model'}: name that model, or approve a version of the contract with the other one; results "
            "of two judges are not compared"
        )


def agreement(suites: Mapping[str, Suite], verifiers: Verifiers) -> Agreement | None:
    """What the judge says of all marked answers beside what people say; None where there is none.

    Raises:
        TransientError: it cannot be reached.
    """
    judged = (suite for suite in suites.values() if suite.about.verifier == JUDGE)
    # The reference itself is as good as itself without anybody being asked: that shows nothing of a judge.
    marks = [one for suite in judged for one in suite.marks if one.answer != gold(JUDGE, one.expected)]
    if not marks:
        return None
    said = [(one.right, verify(JUDGE, one.answer, one.expected, verifiers)) for one in marks]
    scored = [(right, outcome.score == 1.0) for right, outcome in said if outcome.kind is OutcomeKind.SCORED]
    if away := [outcome.detail for _, outcome in said if outcome.detail.startswith(AWAY)]:
        raise TransientError(f"{away[0]} ({len(away)} of {len(said)} marked answers)")
    return Agreement(
        by=verifiers[JUDGE].by,
        right=sum(one.right for one in marks),
        wrong=sum(not one.right for one in marks),
        said_right=sum(right and judged for right, judged in scored),
        said_wrong=sum(not right and not judged for right, judged in scored),
        undecided=len(said) - len(scored),
    )


def clause(rule: JudgeRule, found: Agreement | None) -> Clause:
    """Whether the judge may be believed; where not, nothing is asked, for it could tell nothing of a candidate."""
    right, wrong = (found.right, found.wrong) if found else (0, 0)
    if found is None or min(right, wrong) < rule.min_marked:
        text = (
            f"people marked {right} other answers than the reference as right and {wrong} as wrong, at least "
            f"{rule.min_marked} of each needed; nothing was asked"
        )
        numbers: dict[str, float] = {"right": right, "wrong": wrong, "bar": rule.min_marked}
        return Clause(name=CLAUSE, judgement=Judgement.CANNOT_TELL, text=text, numbers=numbers)
    shares = found.said_right / right, found.said_wrong / wrong
    enough = min(shares) >= rule.agreement
    text = f"{agreement_line(found)}; at least {percent(rule.agreement)} of each needed"
    return Clause(
        name=CLAUSE,
        judgement=Judgement.PASS if enough else Judgement.CANNOT_TELL,
        text=text if enough else f"{text}; nothing was asked",
        numbers=rounded(
            {
                "right": right,
                "wrong": wrong,
                "agreed_right": shares[0],
                "agreed_wrong": shares[1],
                "bar": rule.agreement,
            }
        ),
    )
