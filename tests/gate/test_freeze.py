"""Labelled requests become a suite and a contract that is sharp enough, or nothing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from rsi.errors import ContractError, RefusedError
from rsi.gate import fingerprints
from rsi.gate.aside import Aside
from rsi.gate.contract import read, versions
from rsi.gate.freeze import Bars, freeze, used
from rsi.gate.labels import Label, draft
from rsi.gate.labels import read as read_labels
from rsi.gate.suites import About, load
from rsi.records import ChatMessage, Split

ROUTES = About(name="support", version=1, verifier="choice", hop="route")
ROLES = ("L0", "L1", "L2", "L3")
SMALL = Bars(effect=0.35, discordance=0.4)


def asides(count: int, clusters: int = 1000, start: int = 0) -> list[Aside]:
    """Requests, one in five of them for audits."""
    return [
        Aside(
            f"trace{n:04}",
            Split.VAULT if n % 5 == 4 else Split.GATE,
            f"cluster{n % clusters}",
            (ChatMessage(role="user", content=f"please do thing number {n} for me"),),
            "done",
            "L0",
            "",
        )
        for n in range(start, start + count)
    ]


def labelled(found: Sequence[Aside], roles: Sequence[str] = ROLES) -> list[tuple[Aside, Label]]:
    """The roles in turns."""
    return [(one, Label(id=one.item_id, expected=roles[int(one.item_id[5:]) % len(roles)])) for one in found]


def frozen(root: Path, found: Sequence[tuple[Aside, Label]], bars: Bars = SMALL):
    """With the shipped easy questions as guard."""
    return freeze(root, ROUTES, found, ["easy/v1"], bars)


def test_suite_contract_guard_and_fingerprints_are_written(tmp_path):
    """All of it fits: pins, sides, clusters, and what the loop may know."""
    made = frozen(tmp_path, labelled(asides(60)))

    suite, vault = load(made.name, made.suite, tmp_path), load(made.name, made.suite, tmp_path, split=Split.VAULT)
    contract = read(made.name, tmp_path)
    assert (made.name, made.gate, made.clusters, made.vault) == ("support/v1", 48, 48, 12)
    assert (len(suite.items), len(vault.items)) == (48, 12)
    assert contract.digest == made.contract
    assert contract.pins == {"support/v1": made.suite, "easy/v1": load("easy/v1", None, tmp_path).digest}
    assert contract.anchor == "genesis"
    assert (contract.budget.questions, contract.budget.accepts, contract.power.effect) == (10, 1, 0.35)
    assert all("are found 80.0% of the time" in told or "cleared" in told for told in made.told)
    fingerprints.check(tmp_path / "suites/support/v1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gate", "suites"], "no draft is left"


def test_a_suite_that_is_too_small_says_so_with_what_it_could_find(tmp_path):
    """And nothing is written: frozen it would be for good."""
    with pytest.raises(RefusedError) as caught:
        frozen(tmp_path, labelled(asides(60)), Bars())

    said = str(caught.value)
    assert "48 items that stand alone" in said and "20.0% wanted" in said
    assert "gains from 29.4% on are found 80.0% of the time" in said and "about 110 items needed" in said
    assert "labelled: L0 12, L1 12, L2 12, L3 12" in said
    assert versions(tmp_path, "support") == []


def test_conversations_count_and_not_their_requests(tmp_path):
    """Sixty requests of six conversations show what six items would."""
    with pytest.raises(RefusedError, match=r"6 items that stand alone"):
        frozen(tmp_path, labelled(asides(60, clusters=6)))


def test_a_label_with_few_items_is_named(tmp_path):
    """Its bar would rest on chance."""
    mine = [(one, Label(id=one.item_id, expected="L3" if n < 2 else "L0")) for n, one in enumerate(asides(60))]

    with pytest.raises(RefusedError, match="label L3 has 2 items, at least 5 needed"):
        frozen(tmp_path, mine)


def test_the_next_version_is_made_of_what_came_since(tmp_path):
    """Items are asked by one version only; both stand side by side."""
    frozen(tmp_path, labelled(asides(60)))
    assert used(tmp_path, "support") == {one.item_id for one in asides(60)}

    made = frozen(tmp_path, labelled(asides(60, start=60)))

    assert made.name == "support/v2"
    assert versions(tmp_path, "support") == [1, 2]
    assert read("support/v1", tmp_path).digest != made.contract


def test_answers_keep_the_turns_before_them(tmp_path):
    """And may have several spellings."""
    about = About(name="facts", version=1, verifier="exact", hop="answer", role="L0")
    before = (ChatMessage(role="user", content="hello"), ChatMessage(role="assistant", content="hi"))
    found = [one._replace(asked=(*before, *one.asked)) for one in asides(60)]
    mine = [(one, Label(id=one.item_id, expected=(f"fact {one.item_id}", "so"))) for one in found]

    made = freeze(tmp_path, about, mine, ["easy/v1"], SMALL)

    item = next(one for one in load(made.name, made.suite, tmp_path).items if one.item_id == "trace0000")
    assert item.messages == found[0].asked
    assert item.expected == '["fact trace0000","so"]'


@pytest.mark.parametrize(
    ("name", "guards", "says"),
    [("../up", ["easy/v1"], "cannot be a name"), ("Own", ["easy/v1"], "cannot name"), ("own", ["none/v1"], "no suite")],
)
def test_names_and_guards_that_cannot_be(tmp_path, name, guards, says):
    """Nothing is written anywhere."""
    with pytest.raises(ContractError, match=says):
        freeze(tmp_path / "in", ROUTES.model_copy(update={"name": name}), labelled(asides(60)), guards, SMALL)
    assert not list(tmp_path.rglob("*.toml"))


def test_a_draft_is_filled_in_and_read_back(tmp_path):
    """Nulls are left out; what a person said in the traces stands there."""
    found = [one._replace(said="L2" if n == 0 else "") for n, one in enumerate(asides(4))]
    path = tmp_path / "labels.jsonl"

    assert draft(path, found, {}, "choice") == 1
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1].replace("null", '"L1"'), *lines[2:]]))
    known = read_labels(path, [one.item_id for one in found], lambda wanted: "")

    assert {name: one.expected for name, one in known.items()} == {"trace0000": "L2", "trace0001": "L1"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "other", "expected": "L1"}', "line 1: 'other' is no request"),
        ('{"id": "trace0000", "expected": "L9"}', "line 1: no such role"),
        ('{"id": "trace0000", "expected": 7}', "line 1: expected"),
        ("[1]", "line 1: not a label"),
        ("{", "line 1: not a label"),
    ],
)
def test_labels_that_cannot_be_are_named_by_their_line(tmp_path, line, says):
    """So that a person finds it."""
    path = tmp_path / "labels.jsonl"
    path.write_text(line)

    with pytest.raises(ContractError, match=says):
        read_labels(path, ["trace0000"], lambda wanted: "" if wanted in ROLES else "no such role")
