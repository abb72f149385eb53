from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from rsi.errors import ContractError, IntegrityError
from rsi.gate.suites import digest_of, load
from rsi.records import Split
from tests.gate.made import EASY, ROUTING, easy_lines, routing_lines, write_suite

REF = {"package": "bfcl-eval", "file": "data/x.json", "item": "live_simple_0-0-0"}
LINE = {"id": "a", "split": "gate", "expected": "L2", "text": "write a query"}


def routing(root: Path, *lines: dict[str, object], **about: object) -> Path:
    write_suite(root / "suites/routing/v1", {**ROUTING, **about}, lines or [LINE])
    return root


def test_items_come_with_text_expectation_and_cluster(tmp_path: Path) -> None:
    """A line becomes an item: one user turn, its own cluster, written by us."""
    routing(tmp_path, {**LINE, "hard": True}, {**LINE, "id": "b", "cluster": "twins"})
    first, second = load("routing/v1", None, tmp_path).items

    assert [m.model_dump() for m in first.messages] == [{"role": "user", "content": "write a query"}]
    assert (first.expected, first.hard, first.cluster, first.source) == ("L2", True, "a", "own")
    assert (second.hard, second.cluster) == (False, "twins")


def test_a_list_of_spellings_reaches_the_verifier_as_json(tmp_path: Path) -> None:
    """`exact` takes a JSON list."""
    write_suite(tmp_path / "suites/easy/v1", EASY, easy_lines(2))
    suite = load("easy/v1", None, tmp_path)

    assert suite.items[1].expected == '["fact1"]'
    assert (suite.name, suite.about.role) == ("easy/v1", "L0")


def test_gate_and_vault_are_loaded_apart_under_one_digest(tmp_path: Path) -> None:
    """The digest names the whole suite, whichever split is asked."""
    routing(tmp_path, LINE, {**LINE, "id": "b", "split": "vault", "text": "another"})
    gate, vault = (load("routing/v1", None, tmp_path, split=split) for split in (Split.GATE, Split.VAULT))

    assert ([i.item_id for i in gate.items], [i.item_id for i in vault.items]) == (["a"], ["b"])
    assert gate.digest == vault.digest == digest_of(tmp_path / "suites/routing/v1")


def test_another_digest_than_the_one_pinned_stops_everything(tmp_path: Path) -> None:
    """One changed letter in an item, and the message names what was found and what was expected."""
    routing(tmp_path)
    pin = digest_of(tmp_path / "suites/routing/v1")
    assert load("routing/v1", pin, tmp_path).digest == pin
    items = tmp_path / "suites/routing/v1/items.jsonl"
    items.write_bytes(items.read_bytes().replace(b"query", b"Query"))
    found = digest_of(items.parent)

    with pytest.raises(IntegrityError, match=f"found {found}, expected {pin}"):
        load("routing/v1", pin, tmp_path)


def test_public_items_are_resolved_by_reference(tmp_path: Path) -> None:
    """The text comes from the resolver, the source is the package."""
    routing(tmp_path, {"id": "p", "split": "gate", "expected": "L1", "ref": REF, "source": "bfcl-eval"})
    suite = load("routing/v1", None, tmp_path, resolve=lambda ref: f"{ref.package}|{ref.file}|{ref.item}")

    assert suite.items[0].messages[0].content == "bfcl-eval|data/x.json|live_simple_0-0-0"
    assert suite.items[0].source == "bfcl-eval"


BROKEN: list[tuple[Callable[[Path], Path], str]] = [
    (lambda root: routing(root, {**LINE, "expected": "two words"}), "line 1.*does not accept its own"),
    (lambda root: routing(root, {**LINE, "expected": ["a", "b c"]}), "line 1.*does not accept its own"),
    (lambda root: routing(root, LINE, LINE), "line 2: id 'a' was used on line 1"),
    (lambda root: routing(root, {**LINE, "split": "train"}), "line 1: split"),
    (lambda root: routing(root, {**LINE, "ref": REF}), "one of text, messages and ref"),
    (lambda root: routing(root, {**LINE, "text": None}), "one of text, messages and ref"),
    (lambda root: routing(root, {**LINE, "source": "bfcl-eval"}), "source is 'bfcl-eval', expected 'own'"),
    (lambda root: routing(root, {**LINE, "answer": "x"}), "line 1: answer"),
    (lambda root: routing(root, verifier="chioce"), r"suite\.toml: .*'chioce'"),
    (lambda root: routing(root, role="L0"), "role belongs to every hop but route"),
    (lambda root: routing(root, name="other"), "says other/v1, expected routing/v1"),
    (lambda root: routing(root, version=2), "says routing/v2, expected routing/v1"),
    (lambda root: root, r"suite\.toml is missing"),
]


@pytest.mark.parametrize(("make", "says"), BROKEN)
def test_a_broken_suite_is_refused_with_file_and_line(
    tmp_path: Path, make: Callable[[Path], Path], says: str
) -> None:
    """The author is told which line to mend."""
    with pytest.raises(ContractError, match=says):
        load("routing/v1", None, make(tmp_path))


def test_a_suite_name_cannot_leave_the_folder(tmp_path: Path) -> None:
    """Only ``name/vN`` is a name."""
    for name in ("../../etc", "routing", "/etc/v1", "routing/v1/../.."):
        with pytest.raises(ContractError, match="is not a name"):
            load(name, None, tmp_path)


def test_the_digest_does_not_depend_on_the_fingerprints(tmp_path: Path) -> None:
    """Files beside the two that are named do not count; the order of lines does."""
    folder = tmp_path / "suites/routing/v1"
    before = write_suite(folder, ROUTING, routing_lines(2))
    (folder / "fingerprints.json").write_bytes(orjson.dumps({}))

    assert digest_of(folder) == before
    assert write_suite(tmp_path / "b/v1", ROUTING, routing_lines(2)[::-1]) != before
