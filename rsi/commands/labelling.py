"""A person at the terminal says what should have come back for held-out requests."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from rsi.commands.conversation import Page
from rsi.commands.say import line
from rsi.errors import ContractError
from rsi.ports import SystemClock
from rsi.report.words import plural
from rsi.settings import Deployment, Home, contracts_dir

if TYPE_CHECKING:
    from rsi.gate.aside import Aside
    from rsi.gate.labels import Label
    from rsi.gate.suites import About

STOP, SKIP = "q", "s"
_BETWEEN = "|"
"""Between spellings of an answer."""
_YES = {"y": True, "n": False, SKIP: None}
"""What may be typed of an answer that was given."""


class Asked(NamedTuple):
    """What there is to label for one suite."""

    about: "About"
    items: "tuple[Aside, ...]"
    """Without those that earlier versions of the suite hold."""
    before: "Mapping[str, Label]"
    """What was said at the terminal already."""
    words: Mapping[str, str]
    """For a route, what may be typed -> the role it means."""
    left_out: tuple[str, ...]
    """What else lies there, and why it is not asked."""


def asked(
    name: str, hop: str, role: str | None, verifier: str | None, description: str = ""
) -> Asked:
    """The held-out requests that wait for a label.

    Raises:
        ContractError: hop, role and verifier do not fit each other, or there is nothing to label.
    """
    from rsi.gate import freeze, labels
    from rsi.gate.aside import aside

    home, clock = Home.find(), SystemClock()
    deployment = Deployment.read(home.deployment_file)
    words = _words(home)
    about = _about(name, hop, role, verifier, description, sorted(set(words.values())))
    found = aside(home, clock, deployment, hop)
    used = freeze.used(contracts_dir(), name)
    fresh = tuple(one for one in found.items if one.item_id not in used)
    told = {
        "asked by an earlier version of the suite": len(found.items) - len(fresh),
        "the same words as another": found.doubled,
        "runs that called tools": found.with_tools,
        "without a request in words": found.wordless,
    }
    if not fresh:
        raise ContractError(
            f"nothing waits for a label: of {len(found.items)} held-out requests {len(found.items) - len(fresh)} are "
            f"items already; `rsi ingest` sets a share of conversations aside ([split] in {home.deployment_file})"
        )
    kept = labels.kept(home, name)
    before = _read(kept, {one.item_id for one in found.items}, about, words) if kept.exists() else {}
    left_out = tuple(f"{count:,} {why}" for why, count in told.items() if count)
    return Asked(about, fresh, before, words if hop == "route" else {}, left_out)


def answers(found: Asked, path: Path | None) -> "list[tuple[Aside, Label]]":
    """The labelled requests: of a file, or as a person says them now.

    Raises:
        ContractError: the file says what cannot be, or nobody is at the terminal.
    """
    if path is not None:
        known = _read(path, {one.item_id for one in found.items}, found.about, _words(Home.find()))
    else:
        known = _ask(found)
    return [(one, known[one.item_id]) for one in found.items if one.item_id in known]


def _words(home: Home) -> dict[str, str]:
    """What a person may type for a role of the champion's harness: the role itself, or the router's word for it."""
    from rsi.harness import hcp
    from rsi.registry import champion, versions
    from rsi.store.ledger import Ledger

    now = champion.current(Ledger(home.ledger, SystemClock()))
    harness = hcp.load(home.harnesses, versions.load(home, now).harness)
    return {**{role: role for role in harness.roles}, **harness.labels}


def _about(
    name: str, hop: str, role: str | None, verifier: str | None, description: str, roles: Sequence[str]
) -> "About":
    from pydantic import ValidationError

    from rsi.gate.suites import About
    from rsi.settings import said

    if hop not in ("route", "answer"):
        raise ContractError(f"--hop {hop!r} is neither route nor answer; other suites draw their items")
    if hop == "answer" and role not in roles:
        raise ContractError(f"--role {role!r} is none of the harness's roles: {', '.join(roles)}")
    told = {
        "name": name,
        "version": 1,
        "hop": hop,
        "role": role,
        "verifier": verifier or ("choice" if hop == "route" else "exact"),
        "description": description or "Requests of the deployment's own traffic, labelled by a person.",
    }
    try:
        return About.model_validate(told)
    except ValidationError as error:
        raise ContractError(f"no such suite can be made: {said(error)}") from None


def _read(
    path: Path, known: set[str], about: "About", words: Mapping[str, str]
) -> "dict[str, Label]":
    from rsi.gate import labels

    return labels.read(path, known, lambda wanted: _objection(about, wanted, words))


def _objection(about: "About", wanted: str, words: Mapping[str, str]) -> str:
    from rsi.gate.suites import objection

    roles = sorted(set(words.values()))
    if about.hop == "route" and wanted not in roles:
        return f"expected {wanted[:40]!r} is none of the harness's roles: {', '.join(roles)}"
    return objection(about, wanted)


def _ask(found: Asked) -> "dict[str, Label]":
    """Ask for each request that has no label yet; every answer is kept at once, so that one may stop and go on."""
    from rsi.gate import labels

    known = dict(found.before)
    waiting = [one for one in found.items if one.item_id not in known]
    kept, page = labels.kept(Home.find(), found.about.name), Page()
    if waiting:
        line(_manual(found))
    for number, one in enumerate(waiting, 1):
        line(f"\n{number} of {len(waiting)}, {one.split.value}")
        for turn in one.asked:
            page.text(f"{turn.role}: {turn.content}", indent=2)
        if one.answered:
            page.text(f"answered{f' by {one.route}' if one.route else ''}: {one.answered}", indent=2)
        label = _said(found, one)
        if label is None:
            break
        if label.expected:
            labels.append(kept, label)
            known[one.item_id] = label
    mine = sum(one.item_id in known for one in found.items)
    line(f"\n{plural(mine, 'label')} of {plural(len(found.items), 'request')}, kept in {kept}")
    if mine < len(found.items) and not typer.confirm("Freeze what is labelled?", default=False):
        line("nothing was written but the labels; run the same command again to go on")
        raise typer.Exit(0)
    return known


def _manual(found: Asked) -> str:
    if found.words:
        roles = sorted(set(found.words.values()))
        spelt = (
            ", ".join([role, *(word for word, named in found.words.items() if named == role != word)])
            for role in roles
        )
        return f"Who should answer? {'; '.join(spelt)}. {SKIP} to leave one out, {STOP} to stop here."
    return (
        f"What is a right answer ({found.about.verifier})? Several spellings with {_BETWEEN} between them; {SKIP} to "
        f"leave one out, {STOP} to stop here."
    )


def _said(found: Asked, one: "Aside") -> "Label | None":
    """What a person types for a request, asked again until it can be; None to stop, without an expectation to skip."""
    from rsi.gate.labels import Label, suggested

    there = suggested(one, found.about.verifier)
    default = one.said if there else None
    while True:
        typed = str(typer.prompt("expected", default=default)).strip()
        if typed == STOP:
            return None
        if typed == SKIP:
            return Label(id=one.item_id, expected="")
        label = Label(id=one.item_id, expected=_expected(found, typed))
        wrong = _objection(found.about, label.wanted, found.words)
        if not wrong:
            return label.model_copy(update={"right": _marked(found, one)})
        line(f"  {wrong}")


def _marked(found: Asked, one: "Aside") -> bool | None:
    """Whether what was answered is right, where a model is to judge: it is held against what people say."""
    from rsi.verifiers import JUDGE

    if found.about.verifier != JUDGE or not one.answered:
        return None
    default = {True: "y", False: "n", None: SKIP}[one.mark]
    while (typed := str(typer.prompt(f"was that answer right? y, n, {SKIP} for neither", default=default))) not in _YES:
        line("  y, n or s")
    return _YES[typed]


def _expected(found: Asked, typed: str) -> str | tuple[str, ...]:
    if found.words:
        return found.words.get(typed, typed)
    if found.about.verifier == "exact":
        return tuple(part.strip() for part in typed.split(_BETWEEN) if part.strip())
    return typed
