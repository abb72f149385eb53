"""The approval form, and what the flows must not use."""

import re
from pathlib import Path

import httpx
import pytest
from markdown_it import MarkdownIt
from pydantic import ValidationError

from flows import reports
from flows.approval import Answer, question
from rsi.records import Decision, Proof, Rule
from rsi.registry import approval
from rsi.report.brief import brief
from rsi.settings import PROJECT, Home
from rsi.store.ledger import Ledger
from tests.made import FixedClock
from tests.registry.asked import ask, begin, passed
from tests.report.example import certificate, hostile

SOURCES = sorted((PROJECT / "flows").glob("*.py"))


def test_the_form_fills_in_nothing() -> None:
    """A run that is woken without an answer has no decision and no name: the model cannot be built from nothing."""
    schema = Answer.model_json_schema()
    assert set(schema["required"]) == {"decision", "approver", "reason", "evidence"}
    filled = {name: field["default"] for name, field in schema["properties"].items() if "default" in field}
    assert filled == {"signature": ""}
    with pytest.raises(ValidationError):
        Answer()  # type: ignore[call-arg]


def test_the_form_has_no_field_with_one_possible_value() -> None:
    """The older UI cannot submit a field whose schema is a const."""
    text = str(Answer.model_json_schema())
    assert "const" not in text
    assert {"approve", "reject"} == set(Answer.model_json_schema()["$defs"]["Decision"]["enum"])


def test_fields_stand_in_the_order_of_a_decision() -> None:
    """Decision, name, reason, evidence, and the proof where one is asked for."""
    fields = Answer.model_json_schema()["properties"]
    assert sorted(fields, key=lambda name: fields[name]["position"]) == [
        "decision",
        "approver",
        "reason",
        "evidence",
        "signature",
    ]


def test_an_unknown_field_is_refused() -> None:
    """What the form does not ask for cannot be slipped in."""
    said = {"decision": "approve", "approver": "ada", "reason": "good", "evidence": "0" * 8}
    assert Answer(**said).approval("f" * 64).decision is Decision.APPROVE  # type: ignore[arg-type]
    with pytest.raises(ValidationError):
        Answer(**said, via="command")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "text"),
    [("reason", "x" * 1_000_000), ("approver", "a" * 101), ("evidence", "0" * 65), ("signature", "x" * 20_000)],
    ids=lambda value: value if len(value) < 20 else "long",
)
def test_18_the_server_takes_no_megabyte(name: str, text: str) -> None:
    """Fields have limits in the schema that the server holds answers to."""
    said = {"decision": "approve", "approver": "ada", "reason": "good", "evidence": "0" * 8, name: text}
    with pytest.raises(ValidationError, match="at most"):
        Answer(**said)  # type: ignore[arg-type]


@pytest.fixture
def asked(home: Home) -> tuple[Home, approval.Request]:
    """A request whose contract wants a signature, with the brief of a hostile night."""
    begin(home)
    verdict = passed(home, "L0", "a", Rule(proof=Proof.SIGNATURE, signers="people/ml"))
    ask(home, verdict)
    (home.verdicts / verdict.digest / "brief.md").write_text(brief(hostile(), certificate()))
    return home, approval.requests(Ledger(home.ledger, FixedClock()))[0]


def test_35_text_from_outside_is_inert_in_the_form(asked: tuple[Home, approval.Request]) -> None:
    """What a person typed, titles of modes and requests of traces: shown as they are, without markup or address."""
    text = question(*asked, refused="unknown <img src=x> [link](javascript:x) `code`")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {"p", "strong", "h3", "table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li"}
    assert not re.search(r"https?:|javascript:|www\.", text)
    assert "unknown &lt;img src=x&gt; [link](javascript:x) `code`" in html


def test_the_form_says_what_proof_it_wants_and_where_the_report_is(
    asked: tuple[Home, approval.Request],
) -> None:
    """The command to sign with; a link where reports are served, and their path is the whole digest."""
    home, request = asked
    plain = question(home, request, None)
    assert f"has to carry a signature: `rsi sign {request.verdict[:8]}`" in plain
    assert f"`rsi report {request.verdict[:8]}`" in plain

    url = reports.serve(home, port=0)
    assert f"[Full report]({url}/{request.verdict})" in question(home, request, None)


def test_a_report_is_served_and_nothing_else(asked: tuple[Home, approval.Request]) -> None:
    """At its digest; no other file of the verdict, no path out of it, and no script on the page."""
    home, request = asked
    (home.verdicts / request.verdict / "report.html").write_text("<p>good")
    url = reports.serve(home, port=0)

    found = httpx.get(f"{url}/{request.verdict}", trust_env=False)
    assert (found.status_code, found.text) == (200, "<p>good")
    assert "default-src 'none'" in found.headers["content-security-policy"]
    for path in ("", "scorecard.json", f"{request.verdict}/scorecard.json", "f" * 64, f"../{home.root.name}"):
        assert httpx.get(f"{url}/{path}", trust_env=False).status_code == 404


def test_an_address_that_could_be_markup_is_no_link(home: Home) -> None:
    """Whoever can write the file cannot make the form point elsewhere by markup."""
    home.root.mkdir()
    (home.root / "reports.json").write_text('{"url": "http://x) ![i](http://evil"}')
    assert reports.address(home, "f" * 64) is None


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_20_no_flow_uses_what_is_known_to_lose_runs(path: Path) -> None:
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
