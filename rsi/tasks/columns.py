"""A bank's tasks in the columns of other trainers: rows of plain JSON values, one a task.

The answer goes where a trainer's reward function finds it, never into the prompt.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from rsi.errors import ContractError
from rsi.harness.hcp import Harness
from rsi.ids import canonical
from rsi.records import Task
from rsi.store.files import whole, write_whole
from rsi.tasks.check import oracle
from rsi.tasks.prompt import render

Row = dict[str, object]


def verl(task: Task, harness: Harness, index: int) -> Row:
    """verl 0.9: data_source, prompt, ability, reward_model, extra_info."""
    return {
        "data_source": f"rsi/{task.verifier}",
        "prompt": _turns(task, harness),
        "ability": task.hop,
        "reward_model": {"style": "rule", "ground_truth": task.expected},
        "extra_info": {"split": "train", "index": index, **_about(task)},
    }


def trl(task: Task, harness: Harness, index: int) -> Row:
    """TRL's GRPOTrainer: `prompt` is a conversation; reward functions get the other columns by their names."""
    return {"prompt": _turns(task, harness), "expected": task.expected, "index": index, **_about(task)}


def messages(task: Task, harness: Harness, index: int) -> Row:
    """Conversations for supervised training, with the right answer as the last turn."""
    answer = oracle(task) or ""
    if task.hop == "route":
        answer = harness.word(task.expected)
    return {"messages": [*_turns(task, harness), {"role": "assistant", "content": answer}], **_about(task)}


FORMATS: Mapping[str, Callable[[Task, Harness, int], Row]] = {"verl": verl, "trl": trl, "messages": messages}
"""Name -> row of one task."""


def rows(tasks: Iterable[Task], harness: Harness, name: str) -> list[Row]:
    """Rows in one of `FORMATS`, in the order of the tasks."""
    return [FORMATS[name](task, harness, index) for index, task in enumerate(tasks)]


def write(path: Path, found: Sequence[Row]) -> None:
    """Rows into a file: Parquet, or JSON lines where its name ends in .jsonl.

    Raises:
        ContractError: its name says neither.
    """
    if path.suffix == ".jsonl":
        write_whole(path, b"".join(canonical(one) + b"\n" for one in found))
        return
    if path.suffix != ".parquet":
        raise ContractError(f"{path} should end in .parquet or .jsonl")
    import pyarrow as pa
    import pyarrow.parquet as pq

    with whole(path) as file:
        pq.write_table(pa.Table.from_pylist(list(found)), file, compression="zstd")


def _turns(task: Task, harness: Harness) -> list[dict[str, str]]:
    return [{"role": one.role, "content": one.content} for one in render(task, harness)]


def _about(task: Task) -> Row:
    return {
        "task_id": task.task_id,
        "verifier": task.verifier,
        "hop": task.hop,
        "mode_id": task.mode_id or "",
        "source": task.source,
        "licence": task.licence,
    }
