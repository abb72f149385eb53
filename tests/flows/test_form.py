"""The approval form, and what the flows must not use."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from flows.approval import Answer, question
from rsi.records import Decision
from rsi.settings import PROJECT

SOURCES = sorted((PROJECT / "flows").glob("*.py"))


def test_the_form_fills_in_nothing() -> None:
    """A run that is woken without an answer has no decision and no name: the model cannot be built from nothing."""
    schema = Answer.model_json_schema()
    assert set(schema["required"]) == {"decision", "approver", "reason", "evidence"}
    assert not [name for name, field in schema["properties"].items() if "default" in field]
    with pytest.raises(ValidationError):
        Answer()  # type: ignore[call-arg]


def test_the_form_has_no_field_with_one_possible_value() -> None:
    """The older UI cannot submit a field whose schema is a const."""
    text = str(Answer.model_json_schema())
    assert "const" not in text
    assert {"approve", "reject"} == set(Answer.model_json_schema()["$defs"]["Decision"]["enum"])


def test_fields_stand_in_the_order_of_a_decision() -> None:
    """Decision, name, reason, evidence."""
    fields = Answer.model_json_schema()["properties"]
    assert sorted(fields, key=lambda name: fields[name]["position"]) == [
        "decision",
        "approver",
        "reason",
        "evidence",
    ]


def test_an_unknown_field_is_refused() -> None:
    """What the form does not ask for cannot be slipped in."""
    said = {"decision": "approve", "approver": "ada", "reason": "good", "evidence": "0" * 8}
    assert Answer(**said).approval("f" * 64).decision is Decision.APPROVE  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Answer(**said, via="command")  # type: ignore[arg-type]


def test_a_refused_answer_is_quoted_without_acting_as_markup() -> None:
    """What a person typed comes back in the description, and is inert there."""
    text = question("# card", "2026-01-09", "unknown <img src=x> [link](javascript:1)")
    assert "<img" not in text
    assert "](" not in text
    assert text.endswith("# card")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_flow_uses_what_is_known_to_lose_runs(path: Path) -> None:
    """No blocking pause, no limit that cancels, no pickled result."""
    text = path.read_text()
    assert not re.search(r"\bpause_flow_run\b|CANCEL_NEW|pickle|concurrency_limit", text)


def test_every_flow_and_task_keeps_its_result_as_json() -> None:
    """Prefect's own default is none, or pickled."""
    from prefect import Flow, Task

    from flows import nightly, promote, stages

    found = [one for module in (stages, nightly, promote) for one in vars(module).values()]
    runs = [one for one in found if isinstance(one, Flow | Task)]
    assert len({one.name for one in runs}) >= 10
    assert {(one.persist_result, one.result_serializer) for one in runs} == {(True, "json")}


def test_only_the_flows_import_prefect() -> None:
    """The core runs a whole night without it."""
    importing = [
        path
        for path in (PROJECT / "rsi").rglob("*.py")
        if re.search(r"^\s*(from|import) prefect", path.read_text(), re.M)
    ]
    assert importing == []
