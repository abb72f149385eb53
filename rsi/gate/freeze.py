"""A suite and a contract from labelled requests of the deployment's own traffic.

Both are written whole or not at all, as the next version of their name. A suite that is too small for the contract's
own bar is not written: the reason names the gain that it could find, and how many items would do.
"""

import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson
import tomlkit
from pydantic import Field

from rsi.errors import ContractError, RefusedError
from rsi.gate import fingerprints
from rsi.gate.aside import Aside
from rsi.gate.contract import NAME, Contract, Guard, Target, versions
from rsi.gate.labels import Label
from rsi.gate.ready import ready
from rsi.gate.suites import ABOUT, ITEMS, About, Suite, load
from rsi.gate.suites.lines import Line
from rsi.gate.terms import Budget, Items, Level, Power, Share
from rsi.gate.verdict import whole
from rsi.ids import safe_name
from rsi.records import Judgement, Record, Split
from rsi.settings import PROJECT
from rsi.store.files import publish_folder, write_whole
from rsi.verifiers import JUDGE

CAPS = {"route": 1, "answer": 16}
"""Tokens of an answer to a guard, by hop."""
_CAP = 128
ANSWERED = 0.9
"""Share of a suite that both versions have to answer."""
_HEAD = "# Written from labelled traffic of the deployment. Read README.md of the contracts before changing a bar.\n"


class Bars(Record):
    """What a contract on own traffic asks for."""

    accuracy: Share = 0.5
    """Of the candidate, over all items."""
    label_accuracy: Share = 0.4
    """Of the candidate, for each label of a route."""
    label_items: int = Field(5, ge=1)
    """Fewest items of a label."""
    effect: float = Field(0.2, gt=0, lt=1)
    """The gain that must not be missed, as a share of items."""
    discordance: float = Field(0.4, gt=0, le=1)
    """Share of the items on which two versions are expected to differ."""
    alpha: Level = 0.05
    """Chance, over all questions, that a candidate passes that is not better."""
    questions: int = Field(10, ge=1)
    """Candidates that may be put to the suite."""
    accepts: int = Field(1, ge=1)
    """Passes after which it is retired, and the next version wanted."""
    margin: float = Field(0.08, gt=0, lt=1)
    """Loss on a guard that is already too much."""
    max_tokens: int = Field(64, ge=1, le=4096)
    """Cap on an answer in words."""


class Frozen(Record):
    """What was written."""

    name: str
    """``support/v1``, of suite and contract alike."""
    suite: str
    """Digest."""
    contract: str
    """Digest."""
    gate: int
    """Items that decide."""
    clusters: int
    """Conversations that these are of."""
    vault: int
    """Items for audits."""
    told: tuple[str, ...]
    """What such a suite can show, in words."""


def used(root: Path, name: str) -> frozenset[str]:
    """Ids of the items that suites of a name hold already: the next one is made of fresh ones."""
    found: set[str] = set()
    for path in root.glob(f"suites/{name}/v*/{ITEMS}"):
        found |= {str(orjson.loads(line)["id"]) for line in path.read_bytes().splitlines() if line.strip()}
    return frozenset(found)


def freeze(
    root: Path, about: About, labelled: Sequence[tuple[Aside, Label]], guards: Sequence[str], bars: Bars
) -> Frozen:
    """Write the next version of a suite, and a contract that decides on it.

    Args:
        root: the contracts folder; made where it is not there.
        about: what the suite is; `version` is set here.
        guards: suites on which a candidate must not be worse; shipped ones are copied where they are missing.

    Raises:
        ContractError: nothing is labelled, or a guard is not there.
        RefusedError: too few requests are labelled for the bars; the message says how many would do.
    """
    safe_name(about.name)
    name = f"{about.name}/v{max(versions(root, about.name), default=0) + 1}"
    if not NAME.fullmatch(name):
        raise ContractError(f"{about.name!r} cannot name a contract: small letters, digits, _ and -, up to 64")
    if not any(one.split is Split.GATE for one, _ in labelled):
        raise ContractError("no request of the gate's side is labelled; there is nothing to decide on")
    for guard in guards:
        _borrow(root, guard)
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root, prefix=".draft.") as drafts:
        folder = Path(drafts) / "suites" / name
        _write(folder, about.model_copy(update={"version": int(name.rsplit("v", 1)[1])}), labelled)
        suite = load(name, None, Path(drafts))
        suites = {name: suite, **{guard: load(guard, None, root) for guard in guards}}
        contract = _contract(name, suites, bars)
        told = _enough(contract, suites)
        _copy(folder, root / "suites" / name)
    write_whole(root / "gate" / f"{name}.toml", (_HEAD + _toml(contract)).encode())
    return Frozen(
        name=name,
        suite=suite.digest,
        contract=contract.digest,
        gate=len(suite.items),
        clusters=len({one.cluster for one in suite.items}),
        vault=sum(one.split is Split.VAULT for one, _ in labelled),
        told=told,
    )


def _write(folder: Path, about: About, labelled: Sequence[tuple[Aside, Label]]) -> None:
    folder.mkdir(parents=True)
    told = about.model_dump(mode="json", exclude_none=True)
    (folder / ABOUT).write_text(tomlkit.dumps(told), encoding="utf-8")
    ordered = sorted(labelled, key=lambda one: (one[0].split.value, one[0].item_id))
    marks = about.verifier == JUDGE
    lines = [_line(one, label, marks).model_dump(mode="json", exclude_defaults=True) for one, label in ordered]
    (folder / ITEMS).write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    fingerprints.write(folder)


def _line(one: Aside, label: Label, marks: bool) -> Line:
    """`marks` says whether what a person thought of the answer is kept: only a judge is held against it."""
    alone = len(one.asked) == 1
    return Line.model_validate(
        {
            "id": one.item_id,
            "split": one.split.value,
            "expected": label.expected,
            "hard": label.hard,
            "cluster": one.cluster,
            "text": one.request if alone else None,
            "messages": None if alone else one.asked,
            "marked": _marked(one, label) if marks else (),
        }
    )


def _marked(one: Aside, label: Label) -> list[dict[str, object]]:
    if label.right is None or not one.answered.strip():
        return []
    return [{"answer": one.answered, "right": label.right}]


def _contract(name: str, suites: Mapping[str, Suite], bars: Bars) -> Contract:
    own = suites[name]
    target = {
        "suite": name,
        "digest": own.digest,
        "min_items": math.ceil(ANSWERED * len(own.items)),
        "min_label_items": bars.label_items,
        "min_hard_items": 0,
        "min_accuracy": bars.accuracy,
        "min_label_accuracy": bars.label_accuracy,
        "alpha": bars.alpha,
        "max_tokens": bars.max_tokens,
    }
    return Contract(
        schema_version=1,
        name=name,
        anchor="genesis",
        target=Target.model_validate(target),
        guards=tuple(_guard(one, bars) for guard, one in suites.items() if guard != name),
        budget=Budget(
            items=Items.REUSED, alpha=bars.alpha, questions=bars.questions, accepts=bars.accepts
        ),
        power=Power(
            effect=bars.effect, discordance=max(bars.discordance, bars.effect), guard_discordance=0.12
        ),
    )


def _guard(suite: Suite, bars: Bars) -> Guard:
    told = {
        "suite": suite.name,
        "digest": suite.digest,
        "min_items": math.ceil(0.75 * len(suite.items)),
        "margin": bars.margin,
        "champion_low": 0.2,
        "champion_high": 1.0,
        "max_tokens": CAPS.get(suite.about.hop, _CAP),
    }
    return Guard.model_validate(told)


def _enough(contract: Contract, suites: Mapping[str, Suite]) -> tuple[str, ...]:
    """What the gate would say before it asks; refused where that is "too few"."""
    assert contract.budget is not None
    clauses = ready(contract, suites, contract.budget.level(1))
    if whole(clauses) is not Judgement.PASS:
        short = "; ".join(
            one.text.removesuffix("; nothing was asked") for one in clauses if one.judgement is not Judgement.PASS
        )
        found = Counter(one.expected for one in suites[contract.target.suite].items)
        by_label = ", ".join(f"{label} {count}" for label, count in sorted(found.items()))
        labels = f" (labelled: {by_label})" if suites[contract.target.suite].about.hop == "route" else ""
        raise RefusedError(
            f"too few requests are labelled for such bars: {short}{labels}. Label more, keep more traffic apart "
            "([split] gate in the deployment file), or ask for less (--effect, --questions)"
        )
    return tuple(one.text for one in clauses)


def _toml(contract: Contract) -> str:
    """The contract as its file says it: without the tables that it does not have."""
    told = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    return tomlkit.dumps({key: value for key, value in told.items() if value != []})


def _borrow(root: Path, name: str) -> None:
    """Copy a shipped suite into a contracts folder that has none of that name."""
    shipped = PROJECT / "contracts" / "suites" / name
    if not NAME.fullmatch(name):
        raise ContractError(f"guard {name[:80]!r} is not a name like easy/v1")
    if (root / "suites" / name).is_dir():
        return
    if not shipped.is_dir():
        raise ContractError(f"guard {name} is no suite below {root / 'suites'}, nor one that comes with rsi")
    _copy(shipped, root / "suites" / name)


def _copy(source: Path, target: Path) -> None:
    """A folder under another name, whole or not at all."""

    def fill(draft: Path) -> None:
        shutil.copytree(source, draft, dirs_exist_ok=True)

    publish_folder(target, fill)
