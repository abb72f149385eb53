"""I7: the gate's items are asked no more often than their budget, retries counted.

Read from the ledger alone: a record of a question repeats the bounds of its contract, so that nobody needs the place
where contracts are kept to check them.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from rsi.questions import Ask, Certificate
from rsi.records import Judgement, LedgerRecord


def broken(records: Sequence[LedgerRecord]) -> Iterator[str]:
    """What is wrong with the questions in a ledger, a line each."""
    asks = [(one.seq, Ask.model_validate(one.body)) for one in records if one.kind == "ask"]
    certificates = [
        (one.seq, Certificate.model_validate(one.body)) for one in records if one.kind == "verdict"
    ]
    for target in dict.fromkeys(ask.registration.target for _, ask in asks):
        yield from _account(
            [(seq, ask) for seq, ask in asks if ask.registration.target == target], certificates
        )
    yield from _unasked(asks, certificates)


def _account(
    asks: Sequence[tuple[int, Ask]], certificates: Sequence[tuple[int, Certificate]]
) -> Iterator[str]:
    """One suite's questions, each held to the bounds that its own record repeats."""
    starts: Counter[str] = Counter()
    first: dict[str, Ask] = {}
    passes = [
        (seq, one.registration) for seq, one in certificates if one.judgement is Judgement.PASS and one.n
    ]
    for seq, ask in asks:
        name, where = ask.registration.digest, f"ledger record {seq} (ask)"
        starts[name] += 1
        first.setdefault(name, ask)
        earlier = [one for known, one in first.items() if known != name or starts[name] == 1]
        if (number := list(first).index(name) + 1) != ask.allowance.question or starts[
            name
        ] != ask.allowance.start:
            yield (
                f"{where} says question {ask.allowance.question}, start {ask.allowance.start}; "
                f"it is question {number}, start {starts[name]}"
            )
        if (bounds := ask.bounds) is None:
            if any(one.bounds for one in earlier):
                yield f"{where}: asked without a budget, where questions before it had one"
            continue
        passed = {one for at, one in passes if at < seq and one in first and one != name}
        if number > bounds.questions:
            yield f"{where}: question {number} to items that may be asked {bounds.questions} times"
        if starts[name] > bounds.starts:
            yield f"{where}: begun {starts[name]} times, {bounds.starts} are allowed"
        if starts[name] == 1 and bounds.accepts is not None and len(passed) >= bounds.accepts:
            yield f"{where}: the items were retired, {len(passed)} candidates had passed"
        if starts[name] == 1 and sum(one.allowance.alpha for one in earlier) > bounds.alpha * (1 + 1e-9):
            yield f"{where}: the questions to these items spend more than alpha {bounds.alpha}"


def _unasked(
    asks: Sequence[tuple[int, Ask]], certificates: Sequence[tuple[int, Certificate]]
) -> Iterator[str]:
    """Verdicts on answers to a question that no record before them tells of, or at another level."""
    for seq, one in certificates:
        levels = [
            ask.allowance.alpha
            for at, ask in asks
            if at < seq and ask.registration.digest == one.registration
        ]
        if one.n and not levels:
            yield f"ledger record {seq} (verdict) answers a question that no record before it tells of"
        elif one.n and abs(levels[0] - one.alpha) > 1e-5 * one.alpha:
            yield f"ledger record {seq} (verdict) spent alpha {one.alpha}, its question was allowed {levels[0]:.6g}"
