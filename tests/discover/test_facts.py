"""What discover reads of the traces in a store."""

from pathlib import Path

from rsi.discover.facts import TraceFacts, read_facts
from rsi.records import Origin
from rsi.settings import Home
from rsi.store.database import store_batch
from tests.traces.inputs import CLOCK, load, request, write_lines


def airline(task: int, trial: int, reward: float) -> dict[str, object]:
    """A run of two calls, the second of which is refused."""

    def asks(name: str, number: str) -> dict[str, object]:
        function = {"name": name, "arguments": '{"seat": "12A"}'}
        return {"role": "assistant", "content": None, "tool_calls": [{"id": number, "function": function}]}

    return {
        "task_id": task,
        "trial": trial,
        "reward": reward,
        "info": {"task": {"actions": [], "outputs": [], "instruction": "You are kim_77.", "user_id": "kim_77"}},
        "traj": [
            {"role": "system", "content": "be good"},
            {"role": "user", "content": f"seat 12A, please ({trial})"},
            asks("think", "a"),
            {"role": "tool", "tool_call_id": "a", "content": ""},
            asks("book", "b"),
            {"role": "tool", "tool_call_id": "b", "content": "Error: taken"},
            {"role": "assistant", "content": "It is taken."},
        ],
    }  # fmt: skip


def read(home: Home, until: int = 99) -> list[TraceFacts]:
    with store_batch(home, CLOCK, "test") as connection:
        return sorted(read_facts(connection, [Origin.TRAFFIC], until), key=lambda one: one.trial or 0)


def test_a_failed_run_comes_with_its_conversation_and_a_passed_one_without(
    home: Home, tmp_path: Path
) -> None:
    """Calls of both with their places; results as hashes, empty ones as none."""
    load(home, write_lines(tmp_path / "runs.jsonl", [airline(3, 0, 1.0), airline(3, 1, 0.0)]))
    passed, failed = read(home)
    assert passed.task == failed.task
    assert (passed.task or "").endswith("/tau/3")
    assert [(one.outcome, one.trial, one.messages, one.last_role) for one in (passed, failed)] == [
        ("pass", 0, 7, "assistant"),
        ("fail", 1, 7, "assistant"),
    ]
    assert passed.turns == ()
    assert passed.instruction is None
    assert passed.prompt == failed.prompt is not None
    assert failed.instruction == "You are kim_77."
    assert [turn.role for turn in failed.turns] == [
        "system", "user", "assistant", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    think, book = failed.calls
    assert (think.name, think.answer, think.status) == ("think", None, "ok")
    assert (book.name, book.status, book.error) == ("book", "error", "Error: taken")
    assert book.answer is not None
    assert book.at == failed.turns[4].at
    assert book.call_uid != passed.calls[1].call_uid


def test_a_night_reads_what_came_before_it(home: Home, tmp_path: Path) -> None:
    """By the number of the batch; other origins are not read."""
    load(home, write_lines(tmp_path / "one.jsonl", [airline(1, 0, 0.0)]))
    load(home, write_lines(tmp_path / "two.jsonl", [airline(2, 0, 0.0)]))
    load(home, write_lines(tmp_path / "three.jsonl", [airline(4, 0, 0.0)]), origin=Origin.DEMO)
    assert len(read(home, until=1)) == 1
    assert len(read(home)) == 2


def test_time_tokens_and_answers_that_were_cut(home: Home, tmp_path: Path) -> None:
    """From the spans, where they say so."""
    cut = request(1, answer={"content": "an ans", "finish_reason": "length"})
    load(home, write_lines(tmp_path / "spool.jsonl", [cut, request(2)]))
    found = {one.cut is not None: one for one in read(home)}
    assert found.keys() == {True, False}
    for one in found.values():
        assert one.seconds == 1.0
        assert one.tokens == 5
        assert one.version == "v1"
