"""The deployment file's section on redaction."""

from pathlib import Path

import pytest

from rsi.errors import ContractError
from rsi.intake import Kind, Redaction
from rsi.settings import Deployment, Workers


def test_redaction_is_on_for_all_kinds_and_the_raw_text(tmp_path: Path) -> None:
    """A file that does not mention it has it."""
    path = tmp_path / "deployment.toml"
    path.write_text('name = "shop"\n')
    assert Deployment.read(path).redaction == Redaction(
        enabled=True, allow=(), kinds=tuple(Kind), keep_raw=False
    )


def test_kinds_and_allowed_values_are_read(tmp_path: Path) -> None:
    """What is written is read again."""
    path = tmp_path / "deployment.toml"
    path.write_text('[redaction]\nkinds = ["email", "card"]\nallow = ["*@example.com"]\nkeep_raw = true\n')
    found = Deployment.read(path)
    assert found.redaction == Redaction(
        kinds=(Kind.EMAIL, Kind.CARD), allow=("*@example.com",), keep_raw=True
    )
    found.write(path)
    assert Deployment.read(path) == found


def test_an_unknown_kind_is_refused_with_its_place(tmp_path: Path) -> None:
    """And the kinds there are."""
    path = tmp_path / "deployment.toml"
    path.write_text('[redaction]\nkinds = ["iban"]\n')
    with pytest.raises(ContractError, match=r"redaction\.kinds\.0.*'email'"):
        Deployment.read(path)


def test_redaction_does_not_change_what_a_night_does() -> None:
    """It happened when the traces came in."""
    assert Deployment(redaction=Redaction(enabled=False)).digest == Deployment().digest


def test_where_jobs_are_worked_on_does_not_change_what_a_night_does() -> None:
    """A night may be put into a pool, or taken out of it, between a kill and its resume."""
    pooled = Workers(pool="rsi-gpu", store="s3://bucket/jobs")
    assert Deployment(workers=pooled).digest == Deployment().digest
