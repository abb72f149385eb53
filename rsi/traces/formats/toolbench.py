"""ToolBench answers: a tree of thoughts and calls of tools, searched for a way to an answer.

The way that was taken (finished nodes, else the last that was tried) is the conversation; the other branches are
steps beside it. `win` says that an answer was given, not that it is right. Runs that failed lack some keys.
"""

from collections.abc import Iterator

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.run import Judgement, Run, Step, ToolUse, rows
from rsi.traces.formats.turns import Turn, message_turns, said, tool_call
from rsi.traces.rows import JsonObject, Place, Refusal, Rows

NAME = "toolbench"
_FINE = (0, 3, 4)
"""Codes of observations: the tool answered, the final answer, giving up. Others are errors."""
_INPUT, _ACTION, _THOUGHT = "Action Input", "Action", "Thought"


def matches(record: JsonObject) -> bool:
    """`win` beside `answer_generation`."""
    return "win" in record and isinstance(record.get("answer_generation"), dict)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace, named by its content."""
    answer = fields.table(record["answer_generation"])
    root = fields.table(fields.table(record.get("tree")).get("tree"))
    chain = _way(root) or _tried(record)
    task = place.uri.replace("\\", "/").rpartition("/")[2].split(".")[0] or None
    run = Run(
        native=digest([answer.get("query"), root, chain])[:32],
        family=NAME,
        steps=tuple(_steps(root, "node", None)),
        turns=(*_opening(answer), *_conversation(chain)),
        task_id=task,
        agent="toolbench",
        output_text=_final(answer),
        metadata=_metadata(record, answer),
        session=f"query {digest(answer.get('query'))[:16]}",
        judgements=_judgements(record, answer),
    )
    return (rows(run, NAME, place),)


def _opening(answer: JsonObject) -> list[Turn]:
    """What the model was told first, and the query."""
    told = fields.listing(answer.get("train_messages"))
    first = [one for one in fields.tables(told[-1]) if one.get("role") == "system"][:1] if told else []
    query = fields.text(answer.get("query"))
    found = [turn for one in first for turn in message_turns(one)]
    return [*found, said("user", query)] if query is not None else found


def _way(node: JsonObject) -> list[JsonObject]:
    """The nodes that led to the answer, or the last that were tried."""
    found = []
    children = fields.tables(node.get("children"))
    while children:
        node = next((one for one in children if _finishes(one)), children[-1])
        found.append(node)
        children = fields.tables(node.get("children"))
    return found


def _finishes(node: JsonObject) -> bool:
    return node.get("finished") is True or any(map(_finishes, fields.tables(node.get("children"))))


def _tried(record: JsonObject) -> list[JsonObject]:
    """The last chain, where attempts follow each other instead."""
    attempts = fields.tables(record.get("trys"))
    return fields.tables(attempts[-1].get("chain")) if attempts else []


def _conversation(nodes: list[JsonObject]) -> Iterator[Turn]:
    """A thought and the call behind it are one turn."""
    thought: str | None = None
    action: str | None = None
    for one in nodes:
        kind, text = one.get("node_type"), fields.text(one.get("description"))
        if kind == _THOUGHT:
            if thought is not None:
                yield said("assistant", thought)
            thought = text
        elif kind == _ACTION:
            action = text
        elif kind == _INPUT:
            call = tool_call(None, action, text)
            yield Turn("assistant", thought, "absent" if thought is None else "full", (call,))
            thought = None
            seen = fields.text(one.get("observation"))
            yield said("tool", seen)._replace(tool=call.name, failed=_failed(one))
    if thought is not None:
        yield said("assistant", thought)


def _steps(node: JsonObject, path: str, action: str | None) -> Iterator[Step]:
    """Every node below one, named by its place in the tree. One call of the model may be a thought and an action."""
    for index, one in enumerate(fields.tables(node.get("children"))):
        native, kind = f"{path}.{index}", one.get("node_type")
        text = fields.text(one.get("description"))
        use = None
        if kind == _INPUT:
            use = ToolUse(tool_call(None, action, text), fields.text(one.get("observation")), _failed(one))
        keys = ("Elo", "pruned", "finished", "is_terminal", "observation_code", "depth", "expand_num")
        attributes: JsonObject = {key: one[key] for key in keys if key in one}
        if kind == _THOUGHT:
            attributes["thought"] = text
        yield Step(
            native_id=native,
            kind="tool" if use else "llm" if _begins(one, node) else "step",
            name=(action if use else text if kind == _ACTION else None) or str(kind or "node").lower(),
            parent_id=path if path != "node" else None,
            status="unset" if use is None else "error" if _failed(one) else "ok",
            tool=use,
            attributes=attributes,
        )
        yield from _steps(one, native, text if kind == _ACTION else action)


def _begins(node: JsonObject, parent: JsonObject) -> bool:
    """Whether a call of the model begins with this node."""
    kinds = node.get("node_type"), parent.get("node_type")
    return kinds[0] == _THOUGHT or (kinds[0] == _ACTION and kinds[1] != _THOUGHT)


def _failed(node: JsonObject) -> bool:
    code = fields.whole(node.get("observation_code"))
    return code is not None and code not in _FINE


def _final(answer: JsonObject) -> str | None:
    """The answer itself, which may stand in what the model wrote to finish."""
    told = fields.text(answer.get("final_answer"))
    written = fields.table(fields.parsed(told)) if told else {}
    return fields.text(written.get("final_answer")) or told or None


def _metadata(record: JsonObject, answer: JsonObject) -> JsonObject:
    kept: JsonObject = {
        key: answer[key]
        for key in ("query_count", "total_tokens", "finish_type", "valid_data")
        if key in answer
    }
    kept["forward_args"] = record.get("forward_args")
    if tools := [one.get("name") for one in fields.tables(answer.get("function"))]:
        kept["tools"] = tools
    return {key: value for key, value in kept.items() if value is not None}


def _judgements(record: JsonObject, answer: JsonObject) -> tuple[Judgement, ...]:
    value = fields.number(record["win"])
    fair = value is not None and 0 <= value <= 1
    return (
        Judgement(
            "win",
            value if fair else None,
            said=None if fair else record["win"],
            basis=fields.named(answer.get("finish_type")),
            native_id="win",
        ),
    )
