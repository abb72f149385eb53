"""Banks in the columns of other trainers."""

from pathlib import Path

import datasets
import orjson
import pytest

from rsi.errors import ContractError
from rsi.records import ChatMessage
from rsi.tasks.bank import task
from rsi.tasks.calls import expectation
from rsi.tasks.columns import FORMATS, rows, write
from rsi.tasks.prompt import render
from rsi.verifiers import verify
from rsi.verifiers.calls import Call
from tests.made import router, routing_tasks

DEFINITION = {"name": "open", "parameters": {"type": "object", "properties": {"what": {"type": "string"}}}}
TOOLS = orjson.dumps([{"type": "function", "function": DEFINITION}]).decode()
CALL = task(
    "tool",
    (
        ChatMessage(role="system", content="You open things."),
        ChatMessage(role="user", content="open the door"),
    ),
    "tool_call",
    expectation([Call("open", {"what": "door"})], TOOLS),
    "m-1",
    ("t",),
    "expected_action",
    tools=TOOLS,
)
TASKS = [*routing_tasks()[:3], CALL]


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_datasets_reads_what_is_written(tmp_path: Path, name: str, suffix: str) -> None:
    """One row a task, in their order."""
    path = tmp_path / f"bank{suffix}"
    made = rows(TASKS, router(), name)
    write(path, made)

    kind = "parquet" if suffix == ".parquet" else "json"
    read = datasets.load_dataset(kind, data_files=str(path), split="train", cache_dir=str(tmp_path / "cache"))

    assert len(read) == len(TASKS)
    assert set(read.column_names) == set(made[0])


def test_verl_gets_its_five_columns() -> None:
    """The answer is the ground truth of the reward."""
    for index, (one, row) in enumerate(zip(TASKS, rows(TASKS, router(), "verl"), strict=True)):
        assert row.keys() == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
        assert row["reward_model"] == {"style": "rule", "ground_truth": one.expected}
        assert row["prompt"] == [
            {"role": turn.role, "content": turn.content} for turn in render(one, router())
        ]
        assert row["extra_info"]["index"] == index  # type: ignore[index]


def test_trl_gets_a_conversation_and_the_rest_for_reward_functions() -> None:
    """None of the names is one that its trainer gives."""
    row = rows(TASKS, router(), "trl")[0]

    assert row["prompt"][-1]["role"] == "user"  # type: ignore[index]
    assert {"expected", "verifier", "task_id"} <= row.keys()
    assert not row.keys() & {"completions", "completion_ids", "prompts", "trainer_state", "environments"}


def test_supervised_rows_end_with_an_answer_that_is_right() -> None:
    """A route's is the label that the router says."""
    made = rows(TASKS, router(), "messages")

    last = [row["messages"][-1] for row in made]  # type: ignore[index]
    assert [one["role"] for one in last] == ["assistant"] * 4
    assert [router().labels[one["content"]] for one in last[:3]] == [one.expected for one in TASKS[:3]]
    assert verify(CALL.verifier, last[3]["content"], CALL.expected).score == 1.0


def test_functions_stand_in_one_system_turn_with_what_was_there() -> None:
    """The policy reads one set of instructions."""
    first, second = render(CALL, router())

    assert (first.role, second.role) == ("system", "user")
    assert first.content.startswith("You open things.")
    assert '"name":"open"' in first.content


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    """With the kinds there are."""
    with pytest.raises(ContractError, match=r"should end in \.parquet or \.jsonl"):
        write(tmp_path / "bank.csv", [])
