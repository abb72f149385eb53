import pytest

from rsi.errors import ContractError
from rsi.gate.difference import changed_role, changes
from rsi.harness.hcp import Harness, Prompts
from rsi.records import Version
from tests.gate.made import BASE, CANDIDATE, CHAMPION, HARNESS, OTHER


def version(adapters: dict[str, str], harness: str = HARNESS.digest, base: str = BASE) -> Version:
    return Version(base=base, adapters=adapters, harness=harness, parent=CHAMPION.digest)


def test_the_role_is_the_one_whose_adapter_changed() -> None:
    """New, replaced or dropped adapters name their role; a harness change names none."""
    assert changed_role(CHAMPION, CANDIDATE) == "L0"
    assert changed_role(CHAMPION, version({})) == "L0"
    assert changed_role(CHAMPION, version({**CHAMPION.adapters, "L2": "L2-x"})) == "L2"
    assert changed_role(CHAMPION, version(CHAMPION.adapters, OTHER.digest)) is None


def test_what_cannot_be_compared_is_refused() -> None:
    """Two roles at once, another base, or nothing at all."""
    with pytest.raises(ContractError, match="found L0, L2"):
        changed_role(CHAMPION, version({"L0": "L0-x", "L2": "L2-x"}))
    with pytest.raises(ContractError, match="on base cccccccccccc"):
        changed_role(CHAMPION, version(CANDIDATE.adapters, base="c" * 64))
    with pytest.raises(ContractError, match="nothing to compare"):
        changed_role(CHAMPION, version(CHAMPION.adapters))


def test_changes_are_told_a_line_each() -> None:
    """Adapters, texts and settings that differ; an unchanged harness is said to be so."""
    other = Harness(
        name="made", prompts=Prompts(route="Say it.", answer={"L2": "Write code."}), labels=HARNESS.labels
    )

    assert changes(CHAMPION, CANDIDATE, HARNESS, HARNESS) == (
        "adapter of L0: L0-old → L0-new",
        f"harness: unchanged (made {HARNESS.digest[:12]})",
    )
    assert changes(CHAMPION, version(CHAMPION.adapters, other.digest), HARNESS, other) == (
        "route text: “Say one word.” → “Say it.”",
        "answer text of L2: changed",
        f"harness: {HARNESS.digest[:12]} → {other.digest[:12]}",
    )
