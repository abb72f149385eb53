"""Adjacent chunks of one stream become one record; everything else passes."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsi.traces import streams
from rsi.traces.decode import decode_record
from rsi.traces.formats import openai_stream
from rsi.traces.formats.assembly import unstreamed
from rsi.traces.pieces import Left, pieces
from rsi.traces.rows import JsonObject, Place, Reason, Rows
from rsi.traces.streams import MAX_OPEN, joined
from rsi.traces.values import Cut, Flaw, Piece
from tests.traces.inputs import SAMPLES, SHARED, chat
from tests.traces.mutated import sample

HERE = Place("default", None, "file", 1, 0)


def chunk(text: str | None, stream: str = "a", finish: str | None = None) -> dict[str, object]:
    delta = {} if text is None else {"content": text}
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": stream, "object": "chat.completion.chunk", "created": 1, "choices": choices}


def cut(*lines: object) -> list[Piece | Flaw | Left]:
    """Pieces of a file with these lines, which are records or text."""
    found: list[Piece | Flaw | Left] = []
    for number, line in enumerate(lines):
        body = line.encode() if isinstance(line, str) else orjson.dumps(line)
        found.append(Piece(number + 1, 100 * number, body))
    return found


def bodies(found: list[Piece | Flaw | Left]) -> list[object]:
    return [orjson.loads(one.body) if isinstance(one, Piece) else one for one in found]


def texts(piece: Piece | Flaw | Left) -> str:
    """What a joined stream says."""
    assert isinstance(piece, Piece)
    record = orjson.loads(piece.body)
    listed = record.get("chunks", [record])
    return "".join(one["choices"][0]["delta"].get("content", "") for one in listed if one["choices"])


def test_adjacent_chunks_are_one_record() -> None:
    """At the place of the first; with the chunks as they were; what is around them is untouched."""
    before, after = chat("before"), chat("after")
    given_ = cut(before, chunk("a"), chunk("b"), chunk(None, finish="stop"), after)
    found = list(joined(iter(given_)))
    assert found[0] is given_[0]
    assert found[2] is given_[4]
    assert bodies(found[1:2]) == [{"chunks": [chunk("a"), chunk("b"), chunk(None, finish="stop")]}]
    assert isinstance(found[1], Piece)
    assert (found[1].line, found[1].byte_offset) == (2, 100)


def test_streams_one_after_the_other_and_mixed() -> None:
    """By id; a proxy writes two at once."""
    lines = [chunk("1"), chunk("x", "b"), chunk("2"), chunk(None, "b", "stop"), chunk("3"), chunk("z", "c")]
    assert [texts(one) for one in joined(iter(cut(*lines)))] == ["123", "x", "z"]


def test_an_id_used_again_is_another_stream() -> None:
    """After its end, when it says something again; the usage behind the end still belongs to it."""
    usage = {**chunk(None), "choices": [], "usage": {"prompt_tokens": 1}}
    lines = [chunk("1"), chunk(None, finish="stop"), usage, chunk("2"), chunk(None, finish="stop")]
    first, second = joined(iter(cut(*lines)))
    assert (texts(first), texts(second)) == ("1", "2")
    assert len(orjson.loads(first.body)["chunks"]) == 3  # type: ignore[union-attr]


def test_events_begin_their_stream() -> None:
    """Those of the Responses and the Messages API, which carry no id."""
    responses, message = sample("openai_stream.jsonl")[2:4]
    lines = [*responses["events"], *responses["events"], *message["events"], *message["events"]]  # type: ignore[misc]
    found = list(joined(iter(cut(*lines))))
    assert bodies(found) == [{"chunks": one["events"]} for one in (responses, responses, message, message)]


def test_server_sent_events_in_a_file() -> None:
    """Lines without data belong to the stream around them; the line of the first is the stream's."""
    lines = [chat("before"), "event: x", f"data: {orjson.dumps(chunk('a')).decode()}", ": ping",
             f"data: {orjson.dumps(chunk('b')).decode()}", "data: [DONE]", chat("after")]  # fmt: skip
    found = list(joined(iter(cut(*lines))))
    assert bodies(found)[1:2] == [{"chunks": [chunk("a"), chunk("b")]}]
    assert [one.line for one in found if isinstance(one, Piece)] == [1, 2, 7]


def test_lines_that_only_look_like_a_stream_pass() -> None:
    """Fields without events, text about chunks, broken chunks."""
    lines = [
        "event: x",
        "id: 5",
        chat("a chat.completion.chunk"),
        '{"object": "chat.completion.chunk", "choi',
        "event: y",
    ]
    given_ = cut(*lines)
    assert list(joined(iter(given_))) == given_


def test_many_lines_without_data_pass_too() -> None:
    """None is held for ever, none is lost."""
    given_ = cut(*["event: x"] * (MAX_OPEN * 3))
    assert list(joined(iter(given_))) == given_


def test_flaws_and_what_is_left_pass() -> None:
    """A stream ends before them."""
    flaw, left = Flaw(2, 5, Reason.NOT_JSON, "x"), Left(9)
    lines = cut(chunk("a"), chunk("b"))
    found = list(joined(iter([*lines, flaw, chunk_piece("c"), left])))
    assert [texts(one) if isinstance(one, Piece) else one for one in found] == ["ab", flaw, "c", left]


def chunk_piece(text: str) -> Piece:
    return Piece(3, 300, orjson.dumps(chunk(text)), Cut.PERHAPS)


def test_nothing_is_read_ahead() -> None:
    """Pieces that are of no stream come out one by one."""
    asked = 0

    def counted() -> Iterator[Piece | Flaw | Left]:
        nonlocal asked
        for one in cut(*[chat(str(number)) for number in range(5)]):
            asked += 1
            yield one

    through = joined(counted())
    next(through)
    assert asked == 1


def test_a_stream_that_is_too_large_is_a_flaw(monkeypatch: pytest.MonkeyPatch) -> None:
    """One, with its place and size; others are not touched by it, and what is held stays bounded."""
    monkeypatch.setattr(streams, "MAX_RECORD", 2000)
    lines = [chunk("x" * 50, "b")] + [chunk("y" * 100)] * 100 + [chat("after")]
    other, flaw, after = joined(iter(cut(*lines)))
    assert isinstance(flaw, Flaw)
    assert (flaw.reason, flaw.line) == (Reason.TOO_LARGE, 2)
    assert texts(other) == "x" * 50
    assert isinstance(after, Piece)


def test_more_streams_than_are_held() -> None:
    """The oldest comes out first; nothing is lost."""
    lines = [chunk(str(number), str(number)) for number in range(MAX_OPEN * 2)]
    found = list(joined(iter(cut(*lines))))
    assert [texts(one) for one in found] == [str(number) for number in range(MAX_OPEN * 2)]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.text(max_size=3)), max_size=30))
def test_every_word_comes_out_once(said: list[tuple[str, str]]) -> None:
    """Whatever is mixed with what."""
    found = list(joined(iter(cut(*[chunk(text, stream) for stream, text in said]))))
    for stream in "abc":
        heard = "".join(texts(one) for one in found if isinstance(one, Piece) and first_id(one) == stream)
        assert heard == "".join(text for name, text in said if name == stream)


def first_id(piece: Piece) -> str:
    record = orjson.loads(piece.body)
    return str(record.get("chunks", [record])[0]["id"])


def test_records_that_may_hold_a_stream() -> None:
    """Whatever `unstreamed` changes is found by its bytes; plain logs are not."""
    for name in ("openai_stream.jsonl", "http_exchange.jsonl", "chat.jsonl", "otlp.json"):
        for record in sample(name):
            body = orjson.dumps(record)
            assert streams.holds_stream(body) or unstreamed(record) is record
            assert not streams.holds_stream(body) or name in ("openai_stream.jsonl", "http_exchange.jsonl")


def test_samples_pass_untouched() -> None:
    """No file of another format holds a stream."""
    for path in sorted(SAMPLES.glob("*.*json*")):
        if path.name not in ("openai_stream.jsonl", "codex_exec.jsonl"):
            given_ = list(pieces(path))
            assert list(joined(iter(given_))) == given_, path


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"no shared trace files at {SHARED}")
@pytest.mark.parametrize(
    ("name", "answer", "arguments"),
    [
        ("example", "Santa Claus is a popular figure in Christmas", None),
        ("function_example", None, '{"answer":"Boston"}'),
        ("json_example", '{"answer": "Santa Claus is a popular figure in Christmas."}', None),
    ],
)
def test_recorded_streams(name: str, answer: str | None, arguments: str | None) -> None:
    """A file is one record: one answer, with its tokens."""
    path: Path = SHARED / "openai_chat_stream" / f"tensorzero.chat_completions_streaming_{name}.jsonl"
    (piece,) = joined(pieces(path))
    assert isinstance(piece, Piece)
    record = decode_record(piece.body)
    assert isinstance(record, dict)
    (found,) = openai_stream.read(record, HERE)
    assert isinstance(found, Rows)
    assert [one.content for one in found.messages] == [answer]
    assert [one.arguments for one in found.tool_calls] == ([arguments] if arguments else [])
    assert [(one.input_tokens, one.output_tokens) for one in found.spans] == [(57, 17)]


def test_one_chunk_alone_is_itself() -> None:
    """As it stood in the file."""
    given_ = cut(chunk("a"))
    found: list[Piece | Flaw | Left] = list(joined(iter(given_)))
    assert found == given_
    record: JsonObject = orjson.loads(given_[0].body)  # type: ignore[union-attr]
    assert openai_stream.matches(record)
