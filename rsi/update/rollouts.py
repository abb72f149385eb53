"""What a job's model said: ``rollouts.parquet``, a row an answer, for people to read and for tools to count.

While a job runs there is a part for each draw under ``rollouts/``, whole or absent; a resumed job drops the parts of
steps that it makes again, and at the end all parts become one file, a row group a draw. The same job gives the same
bytes, however often it was killed. What it may grow to is bounded: see `rsi.algorithm.Keep`.
"""

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rsi import faults
from rsi.algorithm import Keep
from rsi.errors import ContractError
from rsi.ids import digest
from rsi.records import Task
from rsi.store.files import whole
from rsi.update.practice import Around, Drawn, Practice, Rollout

FILE = "rollouts.parquet"
_TOKENS = pa.list_(pa.int32())
SCHEMA = pa.schema(
    [
        pa.field("step", pa.int32(), nullable=False),
        pa.field("draw", pa.int32(), nullable=False),
        pa.field("group", pa.int32(), nullable=False),
        pa.field("sample", pa.int32(), nullable=False),
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("harness", pa.string(), nullable=False),
        pa.field("prompt", _TOKENS),
        pa.field("response", _TOKENS),
        pa.field("sampled", pa.list_(pa.bool_())),
        pa.field("logprobs", pa.list_(pa.float32())),
        pa.field("tokens", pa.int32(), nullable=False),
        pa.field("reward", pa.float32()),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("stop", pa.string(), nullable=False),
        pa.field("text", pa.string()),
    ]
)
"""`step` counts from 1, `draw` from 0 (later ones refill groups without signal), `group` and `sample` within a draw.
`sampled` has a value a token of `response`: whether the policy sampled it; `tokens` counts those that it did."""


class Rollouts:
    """The rollouts of one job in its folder."""

    def __init__(
        self, place: Path, keep: Keep, seed: int, harness: str, text: Callable[[Sequence[int]], str]
    ) -> None:
        """`harness` is the digest that rollouts are made under; `text` reads tokens."""
        self._place, self._keep, self._seed, self._harness, self._text = place, keep, seed, harness, text
        self._held = 0

    @property
    def _parts(self) -> Path:
        return self._place / "rollouts"

    def resume(self, steps: int) -> None:
        """Drop what was drawn after so many finished steps."""
        for path in sorted(self._parts.glob("*.parquet")):
            if int(path.stem.split("-")[0]) > steps:
                path.unlink()
        self._held = sum(path.stat().st_size for path in self._parts.glob("*.parquet"))

    def add(self, step: int, draw: int, rollouts: Iterable[Rollout]) -> None:
        """Write the part of one draw of step `step` (from 1)."""
        self._parts.mkdir(exist_ok=True)
        path = self._parts / f"{step:06d}-{draw:02d}.parquet"
        full = self._held >= self._keep.megabytes * 1e6
        rows = [self._row(step, draw, one, full) for one in rollouts]
        before = path.stat().st_size if path.exists() else 0
        with whole(path) as file, pq.ParquetWriter(file, SCHEMA, **_FORMAT) as writer:
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))
        self._held += path.stat().st_size - before
        faults.point("rollouts.after_part")

    def finish(self) -> None:
        """Make one file of all parts; nothing where nothing was drawn."""
        parts = sorted(self._parts.glob("*.parquet"))
        if not parts:
            return
        with whole(self._place / FILE) as file, pq.ParquetWriter(file, SCHEMA, **_FORMAT) as writer:
            for part in parts:
                writer.write_table(pq.read_table(part))
        faults.point("rollouts.after_merge")

    def clear(self) -> None:
        """Remove the parts of a complete job."""
        with suppress(OSError):
            shutil.rmtree(self._parts)

    def _row(self, step: int, draw: int, one: Rollout, full: bool) -> dict[str, object]:
        readable = self._readable(step, draw, one)
        tokens: dict[str, object] = {
            "prompt": one.prompt,
            "response": one.response,
            "sampled": one.sampled,
            "logprobs": one.logprobs,
        }
        return {
            "step": step,
            "draw": draw,
            "group": one.group,
            "sample": one.sample,
            "task_id": one.task_id,
            "harness": self._harness,
            "tokens": sum(one.sampled),
            "reward": one.reward,
            "outcome": one.outcome.value,
            "stop": one.stop,
            "text": self._text([*one.prompt, *one.response]) if readable else None,
            **(tokens if readable or not full else {}),
        }

    def _readable(self, step: int, draw: int, one: Rollout) -> bool:
        drawn = int(digest([self._seed, "readable", step, draw, one.group, one.sample])[:8], 16)
        return drawn < self._keep.readable * 16**8


# Lists of token ids repeat from row to row of a group; plain pages let zstd see that, a dictionary hides it.
_FORMAT = {
    "compression": "zstd",
    "use_dictionary": ["task_id", "harness", "outcome", "stop"],
    "store_schema": False,
}


class Recorded(Around):
    """A `Practice` whose answers are kept as they are drawn; what is only shown is nobody's rollout."""

    def __init__(self, practice: Practice, rollouts: Rollouts) -> None:
        """`rollouts` takes what `practice` draws."""
        super().__init__(practice)
        self._rollouts = rollouts

    def draw(self, tasks: Sequence[Task], step: int, again: int = 0) -> Drawn:
        """Draw, and write down what came."""
        drawn = super().draw(tasks, step, again)
        self._rollouts.add(step + 1, again, drawn.rollouts())
        return drawn


class Read(NamedTuple):
    """A rollout for a person."""

    step: int
    task_id: str
    reward: float | None
    outcome: str
    stop: str
    text: str


def readable(place: Path) -> tuple[Read, ...]:
    """The rollouts with text of a job's folder, in the order in which they were drawn, also while it runs.

    Raises:
        ContractError: it holds none.
    """
    parts = [place / FILE] if (place / FILE).exists() else sorted((place / "rollouts").glob("*.parquet"))
    if not parts:
        raise ContractError(
            f"{place} holds no rollouts: expected {FILE}, or parts under rollouts/ while it runs"
        )
    columns = list(Read._fields)
    return tuple(
        Read(**row)
        for part in parts
        for row in pq.read_table(part, columns=columns, filters=pc.field("text").is_valid()).to_pylist()
    )
