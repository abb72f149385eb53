"""Fakes of what the core takes as a parameter."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from rsi.environments import kind
from rsi.harness import calls
from rsi.ports import Dialogue, Engine, Generation, Prompt, ToolResult
from rsi.records import Argument, WorldTask
from tests.made import router


class Taught:
    """A real engine, but whatever is not genesis (an adapter, another route text) routes known requests right."""

    def __init__(self, real: Engine, answers: Mapping[str, Sequence[str]]) -> None:
        self._real = real
        self._roles = {text: role for role, texts in answers.items() for text in texts}
        self._words = {role: word for word, role in router().labels.items()}

    @property
    def base(self) -> str:
        return self._real.base

    def choose(
        self, prompts: Sequence[Prompt], choices: Sequence[str], adapter: str | None
    ) -> list[tuple[float, ...]]:
        """The real numbers, or certainty where a version that is not genesis is asked what it was taught."""
        rows = self._real.choose(prompts, choices, adapter)
        genesis = router().prompts.route
        for at, prompt in enumerate(prompts):
            role = self._roles.get(prompt[-1].content)
            if role and (adapter or prompt[0].content != genesis):
                rows[at] = tuple(0.0 if word == self._words[role] else -50.0 for word in choices)
        return rows

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        return self._real.generate_tokens(prompts, adapter, max_tokens, temperature, seeds)

    def generate(
        self,
        prompts: Sequence[Prompt],
        adapter: str | None,
        max_tokens: int,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> list[Generation]:
        return self._real.generate(prompts, adapter, max_tokens, temperature, seed)

    def load(self, name: str, folder: Path) -> None:
        self._real.load(name, folder)

    def unload(self, name: str) -> None:
        self._real.unload(name)

    def adapters(self) -> Mapping[str, Path]:
        return self._real.adapters()


class Scripted:
    """A sampler that says given texts, turn by turn; it knows a row by the tokens that it had before."""

    def __init__(self, dialogue: Dialogue, answers: Mapping[int, Sequence[str]], ended: bool = True) -> None:
        """`answers` by place of the row in the first call; an answer is cut before its turn's end unless `ended`."""
        self._dialogue, self._ended = dialogue, ended
        self._answers = {place: list(texts) for place, texts in answers.items()}
        self._rows: list[tuple[int, ...]] = []
        self.asked: list[list[tuple[int, ...]]] = []
        self.seeds: list[tuple[int, ...]] = []

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        """The next text of each row, whatever `max_tokens` says; log-prob -0.5 a token."""
        rows = [tuple(prompt) for prompt in prompts]
        self.asked.append(rows)
        self.seeds.append(tuple(seeds))
        if len(self.asked) == 1:
            self._rows = list(rows)
        found = []
        for row in rows:
            place = next(at for at, known in enumerate(self._rows) if row[: len(known)] == known)
            text = self._answers[place].pop(0)
            ids = self._dialogue.answer(text.encode(errors="replace").decode())
            ids = ids if self._ended else ids[:-1]
            self._rows[place] = (*row, *ids)
            found.append(Generation(text, ids, (-0.5,) * len(ids), "stop" if self._ended else "length"))
        return found


class Cabinet:
    """A world of one drawer: `put(what)` fills it, and the right state is a full one. It breaks where it is told to."""

    def __init__(self, breaks: str = "", hangs_s: float = 0.0) -> None:
        """`breaks` names the method that raises, or hangs for `hangs_s` seconds."""
        self._breaks, self._hangs_s = breaks, hangs_s
        self._held: list[str] = []
        self.closed = False

    @property
    def tools(self) -> tuple[Mapping[str, object], ...]:
        parameters = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
        return ({"type": "function", "function": {"name": "put", "parameters": parameters}},)

    @property
    def policy(self) -> str:
        return "Be tidy."

    def reset(self, task: WorldTask, seed: int) -> str:
        self._reach("reset")
        return task.request

    def call(self, tool: str, arguments: Mapping[str, Argument]) -> ToolResult:
        self._reach("call")
        if arguments["what"] == "nothing":
            return ToolResult("there is nothing to put", failed=True)
        self._held.append(str(arguments["what"]))
        return ToolResult(f"{len(self._held)} in it")

    def final_state(self) -> str:
        self._reach("final_state")
        return orjson.dumps({"drawer": [{"what": one} for one in self._held]}).decode()

    def close(self) -> None:
        self.closed = True
        self._reach("close")

    def _reach(self, method: str) -> None:
        if method == self._breaks:
            time.sleep(self._hangs_s)
            raise RuntimeError(f"{method} broke")


class Clerk(Taught):
    """A taught engine whose adapters of L1 also solve the tasks of a world that it was given, turn by turn."""

    def __init__(
        self,
        real: Engine,
        answers: Mapping[str, Sequence[str]],
        dialogue: Dialogue,
        tasks: Sequence[WorldTask],
    ) -> None:
        super().__init__(real, answers)
        self._dialogue = dialogue
        self.known: list[str] = []
        """Requests that it was asked and knows, one an answer."""
        self._prompts = {dialogue.answer(one.request)[:-1]: one for one in tasks}

    def generate_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        adapter: str | None,
        max_tokens: int,
        temperature: float,
        seeds: Sequence[int],
    ) -> list[Generation]:
        """What solves the task, whatever `max_tokens` says; what the real engine says where it knows none."""
        if adapter is None or not adapter.startswith("L1-"):
            return super().generate_tokens(prompts, adapter, max_tokens, temperature, seeds)
        return [self._solution(tuple(one)) for one in prompts]

    def _solution(self, prompt: tuple[int, ...]) -> Generation:
        task = next((one for ids, one in self._prompts.items() if _holds(prompt, ids)), None)
        text = "done"
        if task is not None:
            self.known.append(task.request)
            desk = kind(task.environment).open()
            written = [calls.write(one, calls.tools_of(desk.tools)) for one in task.oracle]
            said = sum(_holds(prompt, self._dialogue.answer(one)[:-1]) for one in dict.fromkeys(written))
            text = (
                written[said] + ("" if said + 1 < len(written) else " done") if said < len(written) else text
            )
        ids = self._dialogue.answer(text)
        return Generation(text, ids, (-0.5,) * len(ids), "stop")


def _holds(prompt: tuple[int, ...], ids: tuple[int, ...]) -> bool:
    return any(prompt[at : at + len(ids)] == ids for at in range(len(prompt) - len(ids) + 1))
