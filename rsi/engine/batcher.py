"""Requests that come one by one, answered in batches.

A worker thread takes the request that has waited longest, lets others that can share its pass (same adapter,
same settings) join for a moment, and asks the engine once. Each caller holds a future.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

from rsi.errors import ContractError, TransientError
from rsi.ports import Engine, Generation, Prompt

Answer = TypeVar("Answer")
Row = tuple[float, ...]


class _Group(Generic[Answer]):
    """Requests that differ in their prompts only, in order of arrival."""

    def __init__(self, ask: Callable[[Sequence[Prompt]], Sequence[Answer]]) -> None:
        self._ask = ask
        self._waiting: deque[tuple[Prompt, Future[Answer], float]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def since(self) -> float:
        """When the oldest request came, on the monotonic clock."""
        return self._waiting[0][2]

    def add(self, prompt: Prompt) -> Future[Answer]:
        """Queue a request."""
        future: Future[Answer] = Future()
        self._waiting.append((prompt, future, time.monotonic()))
        return future

    def take(self, size: int) -> Callable[[], None]:
        """The oldest `size` requests off the queue, as work that settles their futures."""
        taken = [self._waiting.popleft()[:2] for _ in range(min(size, len(self._waiting)))]

        def work() -> None:
            live = [(prompt, future) for prompt, future in taken if future.set_running_or_notify_cancel()]
            answers = self._answers(list(dict.fromkeys(prompt for prompt, _ in live)))
            for prompt, future in live:
                answer = answers[prompt]
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

        return work

    def _answers(self, prompts: Sequence[Prompt]) -> dict[Prompt, Answer | Exception]:
        """An answer or an error for every prompt; a prompt that cannot be answered fails alone."""
        try:
            return dict(zip(prompts, self._ask(prompts), strict=True)) if prompts else {}
        except ContractError as error:
            if len(prompts) == 1:
                return {prompts[0]: error}
            return {prompt: answer for one in prompts for prompt, answer in self._answers([one]).items()}
        except Exception as error:
            return dict.fromkeys(prompts, error)


class Batcher:
    """Batches over one engine. Equal requests waiting together are asked once: they have equal answers."""

    def __init__(self, engine: Engine, size: int, wait_ms: float) -> None:
        """Start the worker.

        Args:
            engine: what answers.
            size: most requests in one call of the engine.
            wait_ms: how long the oldest request waits for company, in milliseconds.
        """
        self._engine = engine
        self._size = size
        self._wait_s = wait_ms / 1000
        self._choosing: dict[tuple[tuple[str, ...], str | None], _Group[Row]] = {}
        self._generating: dict[tuple[str | None, int, float, int], _Group[Generation]] = {}
        self._changed = threading.Condition()
        self._closing = False
        self._worker = threading.Thread(target=self._run, name="rsi-batcher", daemon=True)
        self._worker.start()

    def choose_one(self, prompt: Prompt, choices: Sequence[str], adapter: str | None) -> Future[Row]:
        """`Engine.choose` of one prompt.

        Raises:
            TransientError: the batcher is closed.
        """
        words = tuple(choices)
        with self._changed:
            self._check_open()
            group = self._choosing.setdefault(
                (words, adapter), _Group(lambda prompts: self._engine.choose(prompts, words, adapter))
            )
            self._changed.notify()
            return group.add(prompt)

    def generate_one(
        self, prompt: Prompt, adapter: str | None, max_tokens: int, temperature: float = 0.0, seed: int = 0
    ) -> Future[Generation]:
        """`Engine.generate` of one prompt. Who wants another draw of the same prompt asks with another seed.

        Raises:
            TransientError: the batcher is closed.
        """
        seed = seed if temperature else 0
        with self._changed:
            self._check_open()
            group = self._generating.setdefault(
                (adapter, max_tokens, temperature, seed),
                _Group(
                    lambda prompts: self._engine.generate(prompts, adapter, max_tokens, temperature, seed)
                ),
            )
            self._changed.notify()
            return group.add(prompt)

    def close(self) -> None:
        """Take no more, answer what waits, and end the worker."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._worker.join()

    def _check_open(self) -> None:
        if self._closing:
            raise TransientError("this server is shutting down and takes no more requests; ask again later")

    def _run(self) -> None:
        while (work := self._next()) is not None:
            work()

    def _next(self) -> Callable[[], None] | None:
        """Work for one pass, once it is due; None after closing, when nothing waits."""
        with self._changed:
            while True:
                groups: list[_Group[Row] | _Group[Generation]] = []
                groups += [*self._choosing.values(), *self._generating.values()]
                if not groups and self._closing:
                    return None
                if not groups:
                    self._changed.wait()
                    continue
                full = [group for group in groups if len(group) >= self._size]
                oldest = min(full or groups, key=lambda group: group.since)
                early = oldest.since + self._wait_s - time.monotonic()
                if full or self._closing or early <= 0:
                    work = oldest.take(self._size)
                    self._forget_empty()
                    return work
                self._changed.wait(early)

    def _forget_empty(self) -> None:
        self._choosing = {key: group for key, group in self._choosing.items() if len(group)}
        self._generating = {key: group for key, group in self._generating.items() if len(group)}
