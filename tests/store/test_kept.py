"""Copies of banks, verdicts and versions for readers."""

from pathlib import Path

import orjson

from rsi.records import Version
from rsi.registry import versions
from rsi.settings import Home
from rsi.store.query import ask
from rsi.store.snapshot import refresh
from tests.traces.inputs import CLOCK

VERSION = Version(base="b" * 64, adapters={"L0": "L0-0123456789ab"}, harness="c" * 64, parent=None)


def test_a_version_is_copied_once_and_a_new_one_later(home: Home) -> None:
    """Also one that no ledger record tells of yet."""
    first = versions.save(home, VERSION)
    assert refresh(home, CLOCK)
    assert not refresh(home, CLOCK)
    second = versions.save(home, VERSION.model_copy(update={"parent": first}))
    assert refresh(home, CLOCK)

    assert ask(
        home, "select version, parent, generation, adapters from v_versions order by generation"
    ).rows == [
        (first, None, 0, '{"L0":"L0-0123456789ab"}'),
        (second, first, 1, '{"L0":"L0-0123456789ab"}'),
    ]


def test_what_cannot_be_read_is_left_out(home: Home) -> None:
    """Broken JSON, other JSON, a draft: readers get the rest, `rsi verify` names what is broken."""
    name = versions.save(home, VERSION)
    for other, text in (
        ("broken", b"{"),
        ("list", b"[]"),
        ("else", b'{"x": 1}'),
        (".draft", orjson.dumps({})),
    ):
        (home.versions / f"{other}.json").write_bytes(text)
    folder: Path = home.verdicts / ("d" * 64)
    folder.mkdir(parents=True)
    (folder / "verdict.json").write_bytes(b"not json")
    refresh(home, CLOCK)

    assert ask(home, "select version from versions").rows == [(name,)]
    assert ask(home, "from v_verdicts").rows == []
