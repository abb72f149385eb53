from pathlib import Path

import pytest

from rsi.errors import ContractError
from rsi.gate.contract import LIMIT, read
from tests.gate.made import world

GOOD = """
schema_version = 1
name = "demo/v1"
[target]
suite = "routing/v1"
digest = "{a}"
min_items = 200
min_accuracy = 0.9
[[guards]]
suite = "easy/v1"
digest = "{a}"
min_items = 150
max_tokens = 16
""".format(a="a" * 64)


def put(root: Path, text: str) -> Path:
    path = root / "gate/demo/v1.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return root


def test_a_contract_fills_in_its_defaults(tmp_path: Path) -> None:
    """What the file leaves out has the values of the documentation."""
    contract = read("demo/v1", put(tmp_path, GOOD))
    guard = contract.guards[0]

    assert (contract.target.min_label_accuracy, contract.target.min_hard_accuracy) == (0.8, 0.7)
    assert (guard.margin, guard.alpha, guard.champion_low, guard.champion_high) == (0.08, 0.05, 0.3, 0.9)
    assert contract.pins == {"routing/v1": "a" * 64, "easy/v1": "a" * 64}
    assert contract.anchor is None


def test_the_digest_follows_every_bar_and_pin(tmp_path: Path) -> None:
    """A changed number is another contract; spaces are not."""
    first = read("demo/v1", put(tmp_path, GOOD)).digest

    assert read("demo/v1", put(tmp_path, GOOD + "\n\n")).digest == first
    assert read("demo/v1", put(tmp_path, GOOD.replace("0.9", "0.89"))).digest != first
    assert read("demo/v1", put(tmp_path, GOOD.replace("a" * 64, "c" * 64))).digest != first


BROKEN = [
    ("min_accuracy = 0.9", "min_accuracy = 1.9", "target.min_accuracy"),
    ("min_items = 200", "min_items = 0", "target.min_items"),
    ("min_accuracy = 0.9", "min_accuracy = 0.9\nbar = 1", "target.bar"),
    ("max_tokens = 16", "", "guards.0.max_tokens"),
    ("max_tokens = 16", "max_tokens = 16\nmargin = 0.0", "guards.0.margin"),
    ("max_tokens = 16", "max_tokens = 16\nalpha = 0.9", "guards.0.alpha"),
    ("max_tokens = 16", "max_tokens = 16\nchampion_low = 0.95", "champion_low is not below"),
    ("a" * 64, "A" * 64, "target.digest"),
    ('suite = "easy/v1"', 'suite = "routing/v2"', "named twice"),
    ('suite = "easy/v1"', 'suite = "../../etc/v1"', "guards.0.suite"),
    ("schema_version = 1", "schema_version = 2", "schema_version"),
    ("schema_version = 1", 'schema_version = 1\nanchor = "yesterday"', "anchor"),
    ("schema_version = 1", "schema_version = ", "not valid TOML"),
    ('name = "demo/v1"', 'name = "demo/v2"', "name"),
    ("[[guards]]", "[guards]", "guards"),
]


@pytest.mark.parametrize(("found", "instead", "says"), BROKEN)
def test_39_a_broken_contract_names_file_and_key_in_one_line(
    tmp_path: Path, found: str, instead: str, says: str
) -> None:
    """Whoever wrote it can mend it from the message."""
    assert found in GOOD
    with pytest.raises(ContractError) as refused:
        read("demo/v1", put(tmp_path, GOOD.replace(found, instead, 1)))

    assert says in str(refused.value)
    assert "gate/demo/v1.toml" in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1 or "TOML" in str(refused.value)


def test_missing_too_large_and_misnamed_contracts(tmp_path: Path) -> None:
    """A missing file says where it was looked for; names cannot leave the folder."""
    with pytest.raises(ContractError, match=r"gate/demo/v1\.toml.*RSI_CONTRACTS"):
        read("demo/v1", tmp_path)
    put(tmp_path, GOOD + "#" * LIMIT)
    with pytest.raises(ContractError, match="bytes"):
        read("demo/v1", tmp_path)
    for name in ("../demo/v1", "demo", "demo/1", "demo/v0", "Demo/v1", "demo/v1/..", ""):
        with pytest.raises(ContractError, match="is not a name"):
            read(name, tmp_path)


def test_contracts_are_found_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``RSI_CONTRACTS`` names the folder."""
    made = world(tmp_path / "elsewhere")
    monkeypatch.setenv("RSI_CONTRACTS", str(tmp_path / "elsewhere"))

    assert read("made/v1") == made.contract
