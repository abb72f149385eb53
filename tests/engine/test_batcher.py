"""The batcher over an engine that records what it is asked."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path

import pytest

from rsi.engine.batcher import Batcher
from rsi.engine.local import LocalEngine
from rsi.errors import ContractError, TransientError
from rsi.ports import Generation, Prompt
from rsi.records import ChatMessage

LONG = 60_000.0
"""Milliseconds: longer than any test, so that only a full batch or closing starts a pass."""


class Recorder:
    """An engine that answers with what it was asked; `held` keeps it busy, some texts make it fail."""

    base = "b" * 64

    def __init__(self) -> None:
        self.calls: list[tuple[str, str | None, list[str]]] = []
        self.held = threading.Event()
        self.held.set()
        self.entered = threading.Event()

    def _enter(self, kind: str, prompts: Sequence[Prompt], adapter: str | None) -> list[str]:
        texts = [prompt[-1].content for prompt in prompts]
        self.calls.append((kind, adapter, texts))
        self.entered.set()
        assert self.held.wait(10)
        if "refused" in texts:
            raise ContractError("refused")
        if "away" in texts:
            raise TransientError("away")
        return texts

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        texts = self._enter("choose", prompts, adapter)
        return [(float(len(text)), *map(float, map(len, choices))) for text in texts]

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        return [
            Generation(f"{text}/{max_tokens}/{temperature}/{seed}", (), (), "stop")
            for text in self._enter("generate", prompts, adapter)
        ]

    def logprobs(
        self, prompts: Sequence[Prompt], answers: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        raise NotImplementedError

    def load(self, name: str, folder: Path) -> None:
        raise NotImplementedError

    def unload(self, name: str) -> None:
        raise NotImplementedError

    def adapters(self) -> Mapping[str, Path]:
        return {}


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """A recorder that is never left holding."""
    recorder = Recorder()
    yield recorder
    recorder.held.set()


def ask(text: str) -> Prompt:
    """A prompt."""
    return (ChatMessage(role="user", content=text),)


def test_a_full_batch_is_one_call(recorder: Recorder) -> None:
    """As many as fit are asked together at once, in order of arrival, and each gets its own answer."""
    batcher = Batcher(recorder, size=3, wait_ms=LONG)
    futures = [batcher.choose_one(ask("x" * n), ["ab"], None) for n in (1, 2, 3)]
    assert [future.result(5) for future in futures] == [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)]
    assert recorder.calls == [("choose", None, ["x", "xx", "xxx"])]
    batcher.close()


def test_a_lone_request_waits_only_so_long(recorder: Recorder) -> None:
    """Without company a request is asked after the wait."""
    batcher = Batcher(recorder, size=8, wait_ms=20)
    assert batcher.generate_one(ask("a"), "L0-x", 4).result(5).text == "a/4/0.0/0"
    batcher.close()


def test_only_like_requests_share_a_call(recorder: Recorder) -> None:
    """Another kind, adapter, set of choices, bound, temperature or seed is another call."""
    batcher = Batcher(recorder, size=8, wait_ms=LONG)
    futures: list[Future[tuple[float, ...]] | Future[Generation]] = [
        batcher.choose_one(ask("a"), ["x"], None),
        batcher.choose_one(ask("b"), ["x"], None),
        batcher.choose_one(ask("c"), ["y"], None),
        batcher.choose_one(ask("d"), ["x"], "L0"),
        batcher.generate_one(ask("e"), None, 4),
        batcher.generate_one(ask("f"), None, 5),
        batcher.generate_one(ask("g"), None, 4, 0.5, 1),
        batcher.generate_one(ask("h"), None, 4, 0.5, 2),
        batcher.generate_one(ask("i"), None, 4, 0.0, 9),
    ]
    batcher.close()
    assert all(future.done() for future in futures)
    asked = sorted("".join(texts) for _, _, texts in recorder.calls)
    assert asked == ["ab", "c", "d", "ei", "f", "g", "h"]
    assert futures[-1].result() == Generation("i/4/0.0/0", (), (), "stop")


def test_who_waits_longest_goes_first(recorder: Recorder) -> None:
    """While the engine is busy requests gather; then the group with the oldest goes, whole."""
    batcher = Batcher(recorder, size=8, wait_ms=0)
    recorder.held.clear()
    first = batcher.choose_one(ask("first"), ["x"], None)
    assert recorder.entered.wait(5)
    later = [
        batcher.generate_one(ask("g1"), None, 4),
        batcher.choose_one(ask("c1"), ["x"], None),
        batcher.generate_one(ask("g2"), None, 4),
        batcher.choose_one(ask("c2"), ["x"], None),
    ]
    recorder.held.set()
    assert first.result(5) and all(future.result(5) for future in later)
    assert [texts for _, _, texts in recorder.calls] == [["first"], ["g1", "g2"], ["c1", "c2"]]
    batcher.close()


def test_equal_requests_are_asked_once(recorder: Recorder) -> None:
    """The same request twice in a batch is one prompt of the call, and both callers get its answer."""
    batcher = Batcher(recorder, size=3, wait_ms=LONG)
    futures = [batcher.generate_one(ask(text), None, 4) for text in ("a", "b", "a")]
    assert [future.result(5).text for future in futures] == ["a/4/0.0/0", "b/4/0.0/0", "a/4/0.0/0"]
    assert recorder.calls == [("generate", None, ["a", "b"])]
    batcher.close()


def test_a_bad_request_fails_alone(recorder: Recorder) -> None:
    """What the engine refuses is told to its caller, the company is answered, and the worker goes on."""
    batcher = Batcher(recorder, size=3, wait_ms=LONG)
    good, bad, other = (batcher.choose_one(ask(text), ["x"], None) for text in ("good", "refused", "other"))
    with pytest.raises(ContractError, match="refused"):
        bad.result(5)
    assert good.result(5) == (4.0, 1.0) and other.result(5) == (5.0, 1.0)
    assert batcher.choose_one(ask("good"), ["x"], None).cancelled() is False
    batcher.close()


def test_an_engine_that_is_away_fails_its_batch(recorder: Recorder) -> None:
    """Any other error goes to all who were asked for together, once, and the worker goes on."""
    batcher = Batcher(recorder, size=2, wait_ms=LONG)
    futures = [batcher.choose_one(ask(text), ["x"], None) for text in ("away", "good")]
    for future in futures:
        with pytest.raises(TransientError, match="away"):
            future.result(5)
    assert len(recorder.calls) == 1
    again = [batcher.choose_one(ask(text), ["x"], None) for text in ("a", "b")]
    assert [future.result(5) for future in again] == [(1.0, 1.0), (1.0, 1.0)]
    batcher.close()


def test_cancelled_requests_are_not_asked(recorder: Recorder) -> None:
    """A caller who went away costs nothing."""
    batcher = Batcher(recorder, size=2, wait_ms=LONG)
    gone = batcher.choose_one(ask("gone"), ["x"], None)
    assert gone.cancel()
    assert batcher.choose_one(ask("here"), ["x"], None).result(5) == (4.0, 1.0)
    assert recorder.calls == [("choose", None, ["here"])]
    with pytest.raises(CancelledError):
        gone.result(0)
    batcher.close()


def test_closing_answers_what_waits(recorder: Recorder) -> None:
    """Close drains in passes of the right size, and later requests are told to come again."""
    batcher = Batcher(recorder, size=2, wait_ms=LONG)
    recorder.held.clear()
    futures = [batcher.choose_one(ask(f"r{n}"), ["x"], None) for n in range(5)]
    threading.Timer(0.05, recorder.held.set).start()
    batcher.close()
    assert [future.result(0) for future in futures] == [(2.0, 1.0)] * 5
    assert [len(texts) for _, _, texts in recorder.calls] == [2, 2, 1]
    with pytest.raises(TransientError, match="shutting down"):
        batcher.choose_one(ask("late"), ["x"], None)
    batcher.close()


def test_over_the_real_engine(tiny_base: Path) -> None:
    """Each of many threads gets what the engine says of its prompt alone; an oversized one fails alone."""
    engine = LocalEngine(tiny_base, "b" * 64)
    batcher = Batcher(engine, size=8, wait_ms=5)
    prompts = [ask(f"request number {n}") for n in range(20)]
    alone = [engine.choose([prompt], ["chat", "code"], None)[0] for prompt in prompts]
    found: dict[int, tuple[float, ...]] = {}

    def call(place: int) -> None:
        found[place] = batcher.choose_one(prompts[place], ["chat", "code"], None).result(30)

    threads = [threading.Thread(target=call, args=(place,)) for place in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[place] == pytest.approx(alone[place], abs=1e-4) for place in range(20))
    good, bad = (batcher.generate_one(prompt, None, 2) for prompt in (prompts[0], ask("x" * 2000)))
    with pytest.raises(ContractError, match="context"):
        bad.result(30)
    assert good.result(30).token_ids == engine.generate(prompts[:1], None, 2)[0].token_ids
    batcher.close()
