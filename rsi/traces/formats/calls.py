"""Calls of tools as a conversation tells them: asked in one message, answered in a later one."""

from collections.abc import Sequence

from rsi.ids import uid
from rsi.traces.formats.turns import Call, Turn
from rsi.traces.rows import ToolCall

UNNAMED = "unnamed"
"""Name of the tool in a result that tells only the id of its call; the record that asked knows it."""


class CallUids(dict[tuple[str, int], str]):
    """Uids of a trace's calls by name and by how many had that name before: history repeats them."""

    def __init__(self, trace_uid: str) -> None:
        """None so far."""
        super().__init__()
        self.trace_uid = trace_uid

    def __missing__(self, key: tuple[str, int]) -> str:
        name, count = key
        found = self[key] = uid(self.trace_uid, name, str(count))
        return found


def called(uids: CallUids, said: Sequence[Turn], at_ns: int) -> list[ToolCall]:
    """Calls with their results; `seq` is the place of the asking message.

    A result belongs to the first unanswered call with its id, else of its tool. Producers repeat ids.
    """
    if not any(one.calls for one in said):
        return []
    asked: list[tuple[int, Call, str]] = []
    waiting: list[int] = []
    results: dict[int, Turn] = {}
    for seq, one in enumerate(said):
        if one.calls:
            waiting.extend(range(len(asked), len(asked) + len(one.calls)))
            asked.extend((seq, call, one.role) for call in one.calls)
        elif one.role == "tool" and waiting:
            answered = next((i for i in waiting if _answers(one, asked[i][1])), None)
            if answered is not None:
                waiting.remove(answered)
                results[answered] = one
    seen: dict[str, int] = {}
    found = []
    trace_uid = uids.trace_uid
    for index, (seq, call, role) in enumerate(asked):
        result = results.get(index)
        name = call_name(call)
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.append(
            ToolCall(
                uids[name, count],
                trace_uid,
                at_ns,
                seq,
                call.native_id,
                call.name,
                "user" if role == "user" else "assistant",
                call.arguments,
                call.state,
                call.raw,
                result.content if result else None,
                status(result.content, result.failed) if result else "no_result",
            )
        )
    return found


def known_by_id(
    trace_uid: str, asked: Sequence[ToolCall], said: Sequence[tuple[int, Sequence[Turn]]]
) -> tuple[ToolCall, ...]:
    """Calls named by their ids alone, and of results whose calls other records tell what is known: the result.

    `said` has the turns of each step with its time. Only for traces in which the ids are unique.
    """
    seen: dict[str, list[str]] = {}
    found = []
    for row in asked:
        if row.native_id is not None:
            same = seen.setdefault(row.native_id, [])
            if row.call_uid not in same:
                same.append(row.call_uid)
            row = row._replace(call_uid=_named(trace_uid, row.native_id, same.index(row.call_uid)))
        found.append(row)
    for at_ns, turns in said:
        for seq, turn in enumerate(turns):
            if turn.role == "tool" and turn.answers is not None and turn.answers not in seen:
                found.append(
                    ToolCall(
                        call_uid=_named(trace_uid, turn.answers, 0),
                        trace_uid=trace_uid,
                        at_ns=at_ns,
                        seq=seq,
                        native_id=turn.answers,
                        name=turn.tool or UNNAMED,
                        arguments_state="missing",
                        result=turn.content,
                        status=status(turn.content, turn.failed),
                    )
                )
    return tuple(found)


def _named(trace_uid: str, native_id: str, count: int) -> str:
    return uid(trace_uid, "call", native_id, *([str(count)] if count else []))


def call_name(call: Call) -> str:
    """What tells calls apart, up to repetition: the id (which tool spans have too), else all of it."""
    return (
        f"{call.name}\0{call.native_id}"
        if call.native_id
        else f"{call.name}\0\0{call.arguments or call.raw or ''}"
    )


def status(result: str | None, failed: bool = False) -> str:
    """ok or error: what the tool says of itself, or a result that begins with "Error"."""
    return "error" if failed or (result or "").lstrip().startswith("Error") else "ok"


def _answers(result: Turn, call: Call) -> bool:
    if result.answers is not None and call.native_id is not None:
        return result.answers == call.native_id
    return result.tool is None or result.tool == call.name
