"""Feedback over HTTP."""

import httpx
import pytest

from rsi.records import Origin
from rsi.serve.service import Options
from rsi.settings import Home
from tests.serve.served import Site, opened, publish

TRACE = "0123456789abcdef" * 2


def post(site: Site, **body: object) -> httpx.Response:
    return httpx.post(f"{site.url}/v1/feedback", json=body)


def test_feedback_becomes_a_line(site: Site) -> None:
    """A completion's id is as good as a trace's; the trace need not be known here."""
    reply = post(site, trace_id=f"chatcmpl-{TRACE}", score=0.5, source="human", comment="so so")
    (line,) = site.lines()

    assert reply.status_code == 200
    assert reply.json()["feedback_id"] == line.pop("feedback_id")
    assert isinstance(line.pop("ts_ns"), int)
    assert line == {
        "schema": "rsi.feedback/1",
        "namespace": "test",
        "trace_id": TRACE,
        "name": "feedback",
        "score": 0.5,
        "correction": None,
        "source": "human",
        "comment": "so so",
    }


@pytest.mark.parametrize("said", ["L2", "code"])
def test_a_route_is_corrected_by_role_or_by_word(site: Site, said: str) -> None:
    """The line holds the role."""
    reply = post(site, trace_id=TRACE, name="route", score=0, correction=said, source="label")
    (line,) = site.lines()

    assert reply.json()["correction"] == "L2"
    assert (line["name"], line["correction"], line["score"]) == ("route", "L2", 0.0)


def test_a_route_that_does_not_exist_is_refused_with_those_that_do(site: Site) -> None:
    """422, nothing written."""
    reply = post(site, trace_id=TRACE, name="route", score=0, correction="poetry")

    assert reply.status_code == 422
    assert "L0 (chat), L1 (agent), L2 (code), L3 (ui)" in reply.json()["error"]["message"]
    assert site.lines() == []


def test_other_corrections_are_free_text(site: Site) -> None:
    """Only a route has a closed set."""
    assert post(site, trace_id=TRACE, correction="poetry").status_code == 200
    assert [line["correction"] for line in site.lines()] == ["poetry"]


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"trace_id": "not-an-id"}, "trace_id"),
        ({"trace_id": TRACE + "\n"}, "trace_id"),
        ({"score": 2}, "score"),
        ({"score": "NaN"}, "score"),
        ({"name": "a b"}, "name"),
        ({"source": "ghost"}, "source"),
        ({"score": None}, None),
    ],
)
def test_ill_formed_feedback_is_refused(site: Site, change: dict[str, object], param: str | None) -> None:
    """422 in OpenAI's shape with the place; feedback that says nothing is ill-formed too."""
    reply = post(site, **{"trace_id": TRACE, "score": 1, **change})

    assert reply.status_code == 422
    assert reply.json()["error"]["param"] == param
    assert site.lines() == []


def test_feedback_that_cannot_be_kept_is_not_acknowledged(home: Home) -> None:
    """503 where the disk refuses, 409 where nothing is written down at all."""
    publish(home, {})
    with opened(home) as site:
        home.inbox.rmdir()
        assert post(site, trace_id=TRACE, score=1).status_code == 503
        home.inbox.mkdir()
        assert post(site, trace_id=TRACE, score=1).status_code == 200
    with opened(home, Options(origin=Origin.GATE)) as site:
        assert post(site, trace_id=TRACE, score=1).status_code == 409
