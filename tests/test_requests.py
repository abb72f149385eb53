"""The requests written for this project, the public ones, and their frozen splits."""

from collections import Counter
from itertools import starmap

import orjson
import pytest

from rsi import assets
from rsi.settings import PROJECT
from rsi.tasks.fingerprint import fingerprints as fingerprints_of
from rsi.tasks.overlap import HeldOut, How, Index

BOUND = 0.5
"""Similarity of pairs of words from which two requests count as near-duplicates."""
WRITTEN = {"L0": 250, "L1": 150, "L2": 150, "L3": 200}
"""Least number of requests of our own, by label."""


def lines(path):
    """Rows of a JSON lines file."""
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture(scope="module")
def requests(smollm):
    """(split, label, hard, source, text) of every request there is."""
    traffic = lines(PROJECT / "data" / "requests" / "traffic.jsonl")
    suite = lines(PROJECT / "contracts" / "suites" / "routing" / "v1" / "items.jsonl")
    rows = [("traffic", row["label"], row) for row in traffic] + [
        (row["split"], row["expected"], row) for row in suite
    ]
    return [
        (
            split,
            label,
            row["hard"],
            row["source"],
            row.get("text") or assets.resolve(assets.PublicRef(**row["ref"])),
        )
        for split, label, row in rows
    ]


@pytest.mark.base
def test_enough_of_each_is_written_for_this_project_and_a_quarter_is_hard(requests):
    """Counted over all splits."""
    own = Counter(label for _, label, _, source, _ in requests if source == "own")
    hard = Counter(label for _, label, is_hard, source, _ in requests if source == "own" and is_hard)

    assert all(own[label] >= least for label, least in WRITTEN.items()), own
    assert all(hard[label] >= own[label] / 4 for label in WRITTEN), hard


@pytest.mark.base
def test_the_gate_has_what_its_contract_promises(requests):
    """200 items, 50 a label, 25 of each our own, 40 hard."""
    gate = [row for row in requests if row[0] == "gate"]
    own = Counter(label for _, label, _, source, _ in gate if source == "own")

    assert len(gate) >= 200
    assert min(Counter(label for _, label, *_ in gate).values()) >= 50
    assert min(own.values()) >= 25
    assert sum(hard for _, _, hard, _, _ in gate) >= 40


@pytest.mark.base
def test_no_split_holds_a_near_duplicate_of_another(requests):
    """Traffic, gate and vault are apart."""
    for split in ("traffic", "gate", "vault"):
        texts = [text for other, *_, text in requests if other == split]
        prints = zip(texts, fingerprints_of(texts), strict=True)
        index = Index(starmap(HeldOut, prints), BOUND)
        rest = [text for other, *_, text in requests if other != split]
        found = zip(rest, index.overlaps([[text] for text in rest]), strict=True)
        assert [(text, one.item) for text, one in found if one and one.how is not How.RUN] == []


def test_public_text_is_named_and_not_copied():
    """An item has either text of our own or a reference."""
    for path in [
        PROJECT / "data" / "requests" / "traffic.jsonl",
        *sorted((PROJECT / "contracts" / "suites").glob("*/v1/items.jsonl")),
    ]:
        for row in lines(path):
            assert ("text" in row) != ("ref" in row)
            assert ("text" in row) == (row["source"] == "own")
