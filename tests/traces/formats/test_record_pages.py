"""Pages of records in what APIs, indexes and collectors put around them."""

import orjson
import pytest
from hypothesis import given

from rsi.settings import Home
from rsi.traces.detect import detect, read
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows
from rsi.traces.values import Piece
from tests.traces.inputs import SAMPLES, chat, load, rows, write_lines
from tests.traces.mutated import mutated, sample

HERE = Place("default", None, "file", 1, 0)
PAGES = sample("pages.jsonl")
ONE = chat("one")


def found(record: object) -> tuple[Rows | Refusal, ...]:
    """What reading a record finds."""
    return read(Piece(1, 0, orjson.dumps(record)), HERE)[1]


def test_each_record_of_a_page_counts_and_finds_its_own_reader(home: Home) -> None:
    """Stored completions, hits of a search, traces of an API, rows of a viewer, lines of a collector."""
    totals = load(home, SAMPLES / "pages.jsonl")
    assert (totals.read, totals.loaded, totals.quarantined) == (8, 7, 1)
    assert rows(home, "select format, count(*) from traces group by all order by 1") == [
        ("chat", 6),
        ("mlflow", 1),
    ]
    assert rows(home, "select output_text from traces order by output_text") == [
        ("It is noon.",),
        ("Paris.",),
        ("Rome.",),
        ("The Nile.",),
        ("Trier.",),
        ("Under the mat.",),
        ("Word.",),
    ]


def test_a_page_is_what_its_records_are_alone(home: Home) -> None:
    """The same rows, so that a page after its records adds nothing."""
    records = [chat(f"question {number}") for number in range(3)]
    load(home, write_lines(home.root / "apart.jsonl", records))
    totals = load(home, write_lines(home.root / "page.jsonl", [{"object": "list", "data": records}]))
    assert (totals.read, totals.duplicates) == (3, 3)


def test_what_no_reader_takes_is_refused_alone() -> None:
    """With its own text; numbers and texts between the records as well."""
    good, odd, number = found({"data": [ONE, {"color": "red"}, 5], "meta": {}})
    assert isinstance(good, Rows)
    for refusal, part in ((odd, b'{"color":"red"}'), (number, b"5")):
        assert isinstance(refusal, Refusal)
        assert (refusal.reason, refusal.part) == (Reason.UNKNOWN_FORMAT, part)


@pytest.mark.parametrize(
    "record",
    [
        {"object": "list", "data": [{"object": "model", "id": "m"}] * 9},
        {"data": []},
        {"hits": {"hits": [{"_source": {"level": "info"}}]}},
        {"log": "plain text", "message": "{broken"},
        # Items of a conversation come newest first, and without it.
        {"object": "list", "data": [{"type": "message", "id": "m", "role": "user", "content": "x"}]},
    ],
)
def test_a_page_of_which_nothing_is_known_is_one_refusal(record: JsonObject) -> None:
    """Of the whole record, for another reader to take one day."""
    (refusal,) = found(record)
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.part) == (Reason.UNKNOWN_FORMAT, None)


def test_pages_inside_of_pages_are_opened_to_a_bound() -> None:
    """What lies deeper is refused, however deep it is."""
    record: Json = ONE
    depths = []
    for _ in range(40):
        record = {"data": [record]}
        (one,) = found(record)
        depths.append(isinstance(one, Rows))
    assert depths == [True] * 4 + [False] * 36
    wide: Json = [ONE]
    for _ in range(3):
        wide = [{"data": wide, "items": wide}, {"rows": wide}]
    assert sum(isinstance(one, Rows) for one in found({"data": wide})) == 27


def test_no_reader_takes_a_page_itself() -> None:
    """Else the sample would show nothing."""
    assert [detect(one) for one in PAGES] == [None] * len(PAGES)


def test_secrets_in_streams_of_a_page_are_found(home: Home) -> None:
    """A word that lies in two chunks of a body inside of a page."""
    parts = ("to jo", "hn.doe@exam", "ple.com")
    chunks = [
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": one}}]}
        for one in parts
    ]
    body = "".join(f"data: {orjson.dumps(one).decode()}\n\n" for one in chunks)
    record = {
        "request": {"url": "https://api.example.com/v1/chat/completions", "method": "POST"},
        "request_body": {"model": "m", "messages": [{"role": "user", "content": "x"}]},
        "response_body": body,
    }
    totals = load(home, write_lines(home.root / "a.jsonl", [{"logs": [record]}]))
    assert (totals.loaded, totals.redacted) == (1, {"email": 1})
    ((text,),) = rows(home, "select output_text from traces")
    assert str(text).startswith("to <email:")


@given(mutated(PAGES))
def test_damaged_pages_never_break(record: JsonObject) -> None:
    """Something is found, and no reader broke."""
    said = found(record)
    assert said
    assert not any(isinstance(one, Refusal) and one.reason is Reason.READER_FAILED for one in said)
