"""SWE-agent trajectories (``.traj``) of every generation, and those of mini-swe-agent.

`history` is the conversation; turns shown as a demonstration are no part of it. Newer agents call tools, older ones
write a command into their text: `trajectory` has it with what came back, and the state of the shell (an object, or
JSON text of one). Whether the issue was solved stands in a report elsewhere, so that there is no score.
"""

import re

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.run import Run, Step, ToolUse, Usage, rows
from rsi.traces.formats.turns import Turn, message_turns, tool_call
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "swe_agent"
_ROOT = "run"
_MINI = "mini-swe-agent"
_COMMANDS = {"open", "goto", "create", "edit", "submit", "insert"}
"""Commands of the agent that are one word; others have an underscore. Anything else is for the shell."""
_WORD = re.compile(r"\s*([A-Za-z]\w*)")
_INFO = ("exit_status", "submission", "model_stats", "swe_agent_version", "swe_agent_hash", "mini_version")


def matches(record: JsonObject) -> bool:
    """`trajectory` beside `info`, an agent's `history`, or a mini trajectory."""
    if str(record.get("trajectory_format")).startswith(_MINI):
        return True
    if isinstance(record.get("trajectory"), list) and "info" in record:
        return True
    history = record.get("history")
    first = history[0] if isinstance(history, list) and history else None
    return isinstance(first, dict) and "agent" in first and "role" in first


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace, named by its content; its task by the file where the record does not say it."""
    history = fields.tables(record.get("history")) or fields.tables(record.get("messages"))
    done = fields.tables(record.get("trajectory")) or _mini(history)
    told = [one for one in history if one.get("is_demo") is not True]
    said = tuple(turn for one in told for turn in message_turns(_plain(one))) or _said(done)
    if not said:
        return (Refusal(Reason.MISSING_FIELD, "a trajectory in which nothing is said"),)
    info = fields.table(record.get("info"))
    root = _root(info)
    task = _task(record, info) or _stem(place.uri)
    run = Run(
        native=digest([history, done])[:32],
        family=NAME,
        steps=(root, *_calls(told), *_actions(done, any(one.calls for one in said))),
        turns=said,
        task_id=task,
        agent=fields.named(history[0].get("agent")) if history else None,
        model=_model(record, info),
        error=root.error,
        metadata=_metadata(record, info, len(history) - len(told)),
        session=task,
    )
    return (rows(run, NAME, place),)


def _plain(message: JsonObject) -> JsonObject:
    """A message as the others write it: what a tool said answers the first of some calls."""
    ids = fields.listing(message.get("tool_call_ids"))
    return {**message, "tool_call_id": ids[0]} if ids and "tool_call_id" not in message else message


def _said(done: list[JsonObject]) -> tuple[Turn, ...]:
    """The conversation, where only what was done is kept."""
    turns: list[Turn] = []
    for one in done:
        turns += message_turns({"role": "assistant", "content": one.get("response")})
        turns += message_turns({"role": "user", "content": one.get("observation")})
    return tuple(turns)


def _mini(messages: list[JsonObject]) -> list[JsonObject]:
    """What was done in a mini trajectory: commands stand with the answer, output with the message behind."""
    found = []
    for message, behind in zip(messages, [*messages[1:], {}], strict=False):
        output = fields.table(behind.get("extra"))
        for action in fields.tables(fields.table(message.get("extra")).get("actions")):
            told = output.get("raw_output", behind.get("content"))
            found.append(
                {
                    "action": action.get("command"),
                    "observation": told,
                    "state": {"returncode": output.get("returncode")},
                }
            )
    return found


def _root(info: JsonObject) -> Step:
    """The run as a whole, with what all its calls cost; it failed if it did not submit."""
    stats = fields.table(info.get("model_stats"))
    status = fields.first(info, "exit_status", "exit_reason")
    failed = status is not None and not status.lower().startswith("submitted")
    return Step(
        native_id=_ROOT,
        kind="agent",
        name="swe_agent",
        status="error" if failed else "ok" if status else "unset",
        error=status if failed else None,
        usage=Usage(
            fields.whole(stats.get("tokens_sent")) or None,
            fields.whole(stats.get("tokens_received")) or None,
            cost_usd=fields.number(stats.get("instance_cost")),
        ),
    )


def _calls(told: list[JsonObject]) -> list[Step]:
    """One call of the model for each message of the assistant; some tell their usage."""
    steps = []
    for index, one in enumerate(told):
        if one.get("role") != "assistant":
            continue
        extra = fields.table(one.get("extra"))
        response = fields.table(extra.get("response"))
        usage = fields.table(response.get("usage"))
        end, state = fields.moment(extra.get("timestamp"))
        steps.append(
            Step(
                native_id=f"message {index}",
                kind="llm",
                name="chat",
                parent_id=_ROOT,
                end_ns=end,
                time_state=state,
                model=fields.named(response.get("model")),
                response_id=fields.named(response.get("id")),
                usage=Usage(
                    fields.whole(usage.get("prompt_tokens")),
                    fields.whole(usage.get("completion_tokens")),
                    cost_usd=fields.number(extra.get("cost")),
                ),
            )
        )
    return steps


def _actions(done: list[JsonObject], are_called: bool) -> list[Step]:
    """What was done; a tool of its own where the conversation does not tell it as a call."""
    steps = []
    for index, one in enumerate(done):
        action = fields.text(one.get("action"))
        if not action or not action.strip():
            continue
        name = _tool(action)
        state = one.get("state")
        parsed = fields.parsed(state)
        attributes: JsonObject = {"state": parsed if isinstance(parsed, dict) else state}
        attributes.update({key: one[key] for key in ("execution_time", "extra_info") if one.get(key)})
        use = ToolUse(tool_call(None, name, {"command": action}), fields.text(one.get("observation")))
        steps.append(
            Step(
                native_id=f"step {index}",
                kind="step" if are_called else "tool",
                name=name,
                parent_id=_ROOT,
                status="unset" if are_called else "ok",
                tool=None if are_called else use,
                attributes=attributes,
            )
        )
    return steps


def _tool(action: str) -> str:
    """The agent's own command, else the shell."""
    found = _WORD.match(action)
    word = found.group(1) if found else ""
    return word if word in _COMMANDS or "_" in word else "bash"


def _task(record: JsonObject, info: JsonObject) -> str | None:
    problem = fields.table(fields.table(fields.parsed(record.get("replay_config"))).get("problem_statement"))
    return (
        fields.first(record, "instance_id")
        or fields.first(info, "instance_id")
        or fields.first(problem, "id")
    )


def _stem(uri: str) -> str | None:
    return uri.replace("\\", "/").rpartition("/")[2].split(".traj")[0] or None


def _model(record: JsonObject, info: JsonObject) -> str | None:
    replay = fields.table(fields.parsed(record.get("replay_config")))
    config = fields.table(info.get("config"))
    for agent in (fields.table(replay.get("agent")), config):
        model = fields.table(agent.get("model"))
        if found := fields.first(model, "name", "model_name"):
            return found
    return None


def _metadata(record: JsonObject, info: JsonObject, shown: int) -> JsonObject:
    """How it ended. The configuration is left out: it may hold keys."""
    kept: JsonObject = {key: info[key] for key in _INFO if info.get(key) not in (None, "")}
    edited: list[Json] = [info[key] for key in sorted(info) if key.startswith("edited_files") and info[key]]
    if edited:
        kept["edited_files"] = edited[0]
    if record.get("environment"):
        kept["environment"] = record["environment"]
    if shown:
        kept["demonstration_turns"] = shown
    return kept
