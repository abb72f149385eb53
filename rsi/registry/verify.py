"""The invariants, checked on a home as it lies on disk.

I1 champion and promotions, I2 content and names, I3 one record a stage and one decision a verdict, I4 the
ledger's chain, I5 banks against held-out fingerprints, I7 questions to the gate within their budget, I8 nothing
reachable is missing. (I6, equal digests
after a crash, is a property of runs and is tested by killing them.)
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from rsi.errors import ContractError, IntegrityError
from rsi.harness import hcp
from rsi.ids import digest_file
from rsi.ports import Clock
from rsi.records import Approval, Decision, Judgement, LedgerRecord, Modes, Proof, Verdict
from rsi.registry import adapters, approval, champion, collect, questions, versions
from rsi.registry.promote import contract_actor
from rsi.settings import Deployment, Home, fingerprints_dir
from rsi.store import intact, sums
from rsi.store.ledger import Ledger
from rsi.tasks import bank, heldout, overrule
from rsi.tasks.overlap import Index, texts_of
from rsi.tasks.screen import OVERLAPS


class Finding(NamedTuple):
    """One broken invariant."""

    invariant: str
    text: str


class Report(NamedTuple):
    """What was looked at and what is broken."""

    checked: dict[str, int]
    findings: tuple[Finding, ...]


def verify(home: Home, clock: Clock) -> Report:
    """Check every invariant; an empty list of findings means that all hold."""
    try:
        records = Ledger(home.ledger, clock).records()
    except IntegrityError as error:
        return Report({"ledger records": 0}, (Finding("I4", str(error)),))
    if not records:
        raise ContractError(f"{home.root} holds no ledger; run `rsi init` first")
    findings = [
        *_whole_check("I1", _champion(home, records)),
        *_whole_check("I2", _names(home, records)),
        *_once(records),
        *_whole_check("I5", _banks(home, clock)),
        *_questions(records),
        *(Finding(*one) for one in intact.flaws(home, clock, records)),
    ]
    checked = {
        "ledger records": len(records),
        "versions": len(list(home.versions.glob("*.json"))),
        "adapters": len(adapters.names(home)),
        "banks": len(_banks_of(home)),
        "verdicts": len(_folders(home.verdicts)),
        "questions": sum(one.kind == "ask" for one in records),
    }
    return Report(checked, tuple(findings))


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("*") if path.is_dir() and not path.name.startswith("."))


def _banks_of(home: Home) -> list[str]:
    return [path.name for path in _folders(home.banks)]


def _tried(invariant: str, check: Callable[[], object]) -> Iterator[Finding]:
    try:
        check()
    except (IntegrityError, ContractError, OSError, ValueError) as error:
        yield Finding(invariant, str(error))


def _whole_check(invariant: str, found: Iterator[Finding]) -> Iterator[Finding]:
    """What a check finds; where something broken ends it, that is the last finding, and the other checks go on."""
    try:
        yield from found
    except (IntegrityError, OSError, ValueError) as error:
        yield Finding(invariant, str(error))


def _champion(home: Home, records: tuple[LedgerRecord, ...]) -> Iterator[Finding]:
    served: list[str] = []
    for one in records:
        if one.kind not in champion.MOVES:
            continue
        where = f"ledger record {one.seq} ({one.kind})"
        if one.kind == "genesis" and served:
            yield Finding("I1", f"{where}: a second genesis")
        if one.kind != "genesis" and (not served or one.body.get("replaces") != served[-1]):
            yield Finding("I1", f"{where} does not name the champion before it")
        if one.kind == "promotion":
            yield from _promotion(home, records, one, where)
        if one.kind == "rollback":
            yield from _rollback(home, records, one, served, where)
        served.append(str(one.output))
    if not served:
        yield Finding("I1", "no version was ever in service")
    elif not home.champion.exists() or home.champion.read_bytes() != champion.pointer(home, served[-1]):
        yield Finding(
            "I1", f"{home.champion} does not say what the ledger says; starting a gateway rewrites it"
        )


def _rollback(
    home: Home, records: tuple[LedgerRecord, ...], one: LedgerRecord, served: list[str], where: str
) -> Iterator[Finding]:
    if one.output not in served or not one.body.get("actor"):
        yield Finding("I1", f"{where} names no earlier champion, or no actor")
    if one.input is None:
        return
    try:
        found = approval.verdict(home, one.input)
    except IntegrityError as error:
        yield Finding("I1", f"{where}: {error}")
        return
    if not found.goes_back:
        yield Finding("I1", f"{where} stands on a verdict of the gate, not on one over live failures")
    yield from _stands(found, one, where)
    if one.body.get("actor") != contract_actor(found.contract):
        yield from _approved(found, records, one, where)


def _promotion(
    home: Home, records: tuple[LedgerRecord, ...], one: LedgerRecord, where: str
) -> Iterator[Finding]:
    try:
        found = approval.verdict(home, str(one.input))
    except IntegrityError as error:
        yield Finding("I1", f"{where}: {error}")
        return
    if found.goes_back:
        yield Finding("I1", f"{where} stands on a verdict over live failures, which a rollback does")
    yield from _stands(found, one, where)
    yield from _approved(found, records, one, where)


def _approved(
    found: Verdict, records: tuple[LedgerRecord, ...], one: LedgerRecord, where: str
) -> Iterator[Finding]:
    """What the answer lacks on which this record stands."""
    said = []
    for answer in (a for a in records if a.kind == "approval" and a.input == one.input):
        try:
            said.append(Approval.model_validate(answer.body))
        except ValidationError:
            yield Finding(
                "I1", f"ledger record {answer.seq} (approval), on which {where} stands, cannot be read"
            )
            return
    if not any(a.decision is Decision.APPROVE for a in said):
        yield Finding("I1", f"{where} has no approval")
    elif (
        found.rule is not None and found.rule.proof is Proof.SIGNATURE and not all(a.signature for a in said)
    ):
        yield Finding("I1", f"{where}: the contract asks for a signature, and its approval has none")


def _stands(found: Verdict, one: LedgerRecord, where: str) -> Iterator[Finding]:
    """What a verdict lacks to have led to this record."""
    if found.judgement is not Judgement.PASS:
        yield Finding("I1", f"{where} stands on a verdict that says {found.judgement.value!r}")
    if (found.candidate, found.champion) != (one.output, one.body.get("replaces")):
        yield Finding("I1", f"{where} and its verdict name other versions")


def _names(home: Home, records: tuple[LedgerRecord, ...]) -> Iterator[Finding]:
    deleted = collect.gone(records)
    yield from _tried("I8", lambda: _whole(home, records))
    for name in adapters.names(home):
        yield from _tried("I2", lambda name=name: adapters.describe(home, name))  # type: ignore[misc]
    for path in sorted(home.versions.glob("*.json")):
        yield from _tried("I2", lambda path=path: _version(home, path.stem, deleted))  # type: ignore[misc]
    for path in sorted(home.harnesses.glob("*.toml")):
        yield from _tried("I2", lambda path=path: hcp.load(home.harnesses, path.stem))  # type: ignore[misc]
    for path in _folders(home.verdicts):
        yield from _tried("I2", lambda path=path: _verdict(home, path))  # type: ignore[misc]
    for path in sorted(home.modes.glob("*.json")):
        yield from _tried("I2", lambda path=path: _modes(path))  # type: ignore[misc]
    for one in records:
        for name in _named(one):
            if not any((folder / name).exists() for folder in (home.banks, home.verdicts)) and not any(
                path.exists() for path in (home.versions / f"{name}.json", home.modes / f"{name}.json")
            ):
                yield Finding(
                    "I2", f"ledger record {one.seq} ({one.kind}) names {name[:12]}, which is not on disk"
                )


def _named(one: LedgerRecord) -> Iterator[str]:
    if one.output and one.kind in (*champion.MOVES, "stage", "request"):
        yield one.output
    if one.kind == "watch" and one.output:
        yield one.output
    if one.input and (
        one.kind in ("request", "approval", "promotion", "rollback", "watch")
        or one.stage in ("expand", "update", "gate")
    ):
        yield one.input


def _whole(home: Home, records: tuple[LedgerRecord, ...]) -> None:
    """I8: what is in service, and was before, has all its weights."""
    served = dict.fromkeys(str(one.output) for one in reversed(records) if one.kind in champion.MOVES)
    for name in collect.reached(home, list(served)[:2]):
        if not adapters.folder(home, name).is_dir():
            raise IntegrityError(
                f"adapter {name}, which the champion or the one before it reaches, is missing"
            )


def _version(home: Home, name: str, deleted: frozenset[str]) -> None:
    """Everything a version names is there, but for adapters that the ledger says were deleted."""
    found = versions.load(home, name)
    hcp.load(home.harnesses, found.harness)
    for role, adapter in found.adapters.items():
        if adapter in deleted and not adapters.folder(home, adapter).exists():
            continue
        if adapters.card(home, adapter).role != role:
            raise IntegrityError(f"version {name[:12]} names adapter {adapter} for role {role}")


def _verdict(home: Home, folder: Path) -> None:
    found = approval.verdict(home, folder.name)
    scorecard = folder / "scorecard.json"
    if not scorecard.is_file() or digest_file(scorecard) != found.scorecard:
        raise IntegrityError(f"{scorecard} is missing or not the one that verdict {folder.name[:12]} names")
    sums.check(folder)


def _modes(path: Path) -> None:
    try:
        found = Modes.parse(path.read_bytes())
    except ValidationError:
        raise IntegrityError(f"{path} is not a list of failure modes") from None
    if found.digest != path.stem:
        raise IntegrityError(f"{path} does not say what its name says: its digest is {found.digest[:12]}…")


def _once(records: tuple[LedgerRecord, ...]) -> Iterator[Finding]:
    stages = Counter((one.night, one.stage, one.input) for one in records if one.kind == "stage")
    decisions = Counter(one.input for one in records if one.kind == "approval")
    for (night, stage, _), count in stages.items():
        if count > 1:
            yield Finding("I3", f"night {night} has {count} records of stage {stage} for one input")
    for verdict, count in decisions.items():
        if count > 1:
            yield Finding("I3", f"verdict {str(verdict)[:12]} has {count} decisions")


def _questions(records: tuple[LedgerRecord, ...]) -> Iterator[Finding]:
    try:
        yield from (Finding("I7", text) for text in questions.broken(records))
    except ValidationError as error:
        yield Finding(
            "I7", f"a record of a question or its verdict is unreadable ({error.error_count()} errors)"
        )


def _banks(home: Home, clock: Clock) -> Iterator[Finding]:
    names = _banks_of(home)
    if not names:
        return
    bound = Deployment.read(home.deployment_file).expand.overlap
    index = Index(heldout.read(fingerprints_dir(home)).items, bound)
    overruled = overrule.known(Ledger(home.ledger, clock))
    for name in names:
        try:
            tasks = bank.load(home, name)
        except IntegrityError as error:
            yield Finding("I2", str(error))
            continue
        for one, hit in zip(tasks, index.overlaps([texts_of(task) for task in tasks]), strict=True):
            if hit and (one.task_id, OVERLAPS[hit.how].value) not in overruled:
                yield Finding(
                    "I5",
                    f"bank {name[:12]}: task {one.task_id} is within the overlap bound of a held-out item",
                )
