"""I7: the gate's items are asked no more often than their budget, retries counted.

Read from the ledger alone: a record of a question repeats the bounds of its contract, so that nobody needs the place
where contracts are kept to check them.
"""

from collections.abc import Iterator, Sequence

from rsi.questions import Ask, Certificate
from rsi.records import Judgement, LedgerRecord


def broken(records: Sequence[LedgerRecord]) -> Iterator[str]:
    """What is wrong with the questions in a ledger, a line each."""
    asks = [(one.seq, Ask.model_validate(one.body)) for one in records if one.kind == "ask"]
    certificates = [
        (one.seq, Certificate.model_validate(one.body)) for one in records if one.kind == "verdict"
    ]
    # Thousands of nights are asked about: a digest is made once a question.
    names = [ask.registration.digest for _, ask in asks]
    for place, (seq, ask) in enumerate(asks):
        before = [(names[at], asks[at][1]) for at in _account(ask, [one for _, one in asks[:place]])]
        yield from _over(seq, (names[place], ask), before, certificates)
    yield from _unasked(asks, names, certificates)


def _account(ask: Ask, before: Sequence[Ask]) -> list[int]:
    """Places of the questions before this one that were paid for from the same budget."""
    fresh = ask.bounds is not None and ask.bounds.accepts is None
    return [
        at for at, one in enumerate(before) if ask.registration.same_account(one.registration, fresh=fresh)
    ]


def _over(
    seq: int,
    asked: tuple[str, Ask],
    account: Sequence[tuple[str, Ask]],
    certificates: Sequence[tuple[int, Certificate]],
) -> Iterator[str]:
    """One question and its digest, held to the bounds that its own record repeats."""
    (name, ask), where = asked, f"ledger record {seq} (ask)"
    first: dict[str, Ask] = {}
    for known, one in (*account, asked):
        first.setdefault(known, one)
    start = 1 + sum(known == name for known, _ in account)
    number = list(first).index(name) + 1
    earlier = [one for known, one in first.items() if known != name]
    if (number, start) != (ask.allowance.question, ask.allowance.start):
        yield (
            f"{where} says question {ask.allowance.question}, start {ask.allowance.start}; "
            f"it is question {number}, start {start}"
        )
    if (bounds := ask.bounds) is None:
        if any(one.bounds for one in earlier):
            yield f"{where}: asked without a budget, where questions before it had one"
        return
    if number > bounds.questions:
        yield f"{where}: question {number} to items that may be asked {bounds.questions} times"
    if start > bounds.starts:
        yield f"{where}: begun {start} times, {bounds.starts} are allowed"
    if start > 1:
        return
    passed = {
        one.registration
        for at, one in certificates
        if at < seq and one.judgement is Judgement.PASS and one.n and one.registration in first
    }
    if bounds.accepts is not None and len(passed - {name}) >= bounds.accepts:
        yield f"{where}: the items were retired, {len(passed)} candidates had passed"
    if sum(one.allowance.alpha for one in first.values()) > bounds.alpha * (1 + 1e-9):
        yield f"{where}: the questions to these items spend more than alpha {bounds.alpha}"


def _unasked(
    asks: Sequence[tuple[int, Ask]], names: Sequence[str], certificates: Sequence[tuple[int, Certificate]]
) -> Iterator[str]:
    """Verdicts on answers to a question that no record before them tells of, or at another level."""
    begun: dict[str, list[tuple[int, Ask]]] = {}
    for name, asked in zip(names, asks, strict=True):
        begun.setdefault(name, []).append(asked)
    for seq, one in certificates:
        levels = [ask.allowance.alpha for at, ask in begun.get(one.registration, []) if at < seq]
        if one.n and not levels:
            yield f"ledger record {seq} (verdict) answers a question that no record before it tells of"
        elif one.n and abs(levels[0] - one.alpha) > 1e-5 * one.alpha:
            yield f"ledger record {seq} (verdict) spent alpha {one.alpha}, its question was allowed {levels[0]:.6g}"
