"""tau-bench trajectories: one run of an agent against a simulated user, with what the task expected.

`reward` is the environment's: the end state of its database (and what was said) against the expected one. The
expected actions are kept on the trace. One assistant message is one call of the model.
"""

from rsi.ids import digest, uid
from rsi.records import Origin, Score, Span, Trace
from rsi.traces.formats import conversation, fields
from rsi.traces.formats.conversation import Turn
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "tau"


def matches(record: JsonObject) -> bool:
    """`traj` beside `reward`."""
    return "traj" in record and "reward" in record


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace; the same task and trial with another trajectory is another trace."""
    trajectory = record["traj"]
    if not isinstance(trajectory, list):
        return (Refusal(Reason.BAD_VALUE, "traj is no list of messages"),)
    reward = fields.number(record["reward"])
    if reward is None:
        return (Refusal(Reason.BAD_VALUE, f"reward {record['reward']!r} is no number"),)
    task, trial = fields.named(record.get("task_id")), fields.whole(record.get("trial"))
    native = f"{task}/{trial}"
    trace_uid = uid(place.namespace, NAME, native, digest(trajectory))
    said = conversation.turns(trajectory)
    info = fields.table(record.get("info"))
    checked = fields.table(info.get("reward_info"))
    trace = Trace(
        trace_uid=trace_uid,
        namespace=place.namespace,
        format=NAME,
        native_id=native,
        task_id=task,
        trial=trial,
        origin=place.origin or Origin.TRAFFIC,
        input_text=conversation.opening(said, "user"),
        output_text=conversation.last(said, "assistant"),
        error=fields.named(info.get("error")),
        expected=_expected(fields.table(info.get("task")), checked),
        metadata=fields.written(_rest(info)),
    )
    score = Score(
        score_uid=uid(trace_uid, "reward", str(reward)),
        trace_uid=trace_uid,
        name="reward",
        value=reward,
        source="env",
        basis=_basis(checked),
    )
    rows = Rows(
        trace_uid=trace_uid,
        namespace=place.namespace,
        native=trace_uid,
        session=f"task {task}" if task is not None else None,
        trace=trace,
        spans=_spans(trace_uid, said),
        messages=conversation.message_rows(trace_uid, said),
        tool_calls=conversation.call_rows(trace_uid, said),
        scores=(score,),
    )
    return (rows,)


def _expected(task: JsonObject, checked: JsonObject) -> str | None:
    """``{"actions": [{"name", "arguments"}…], "outputs": […]}``; null where the run names no task."""
    actions = task.get("actions", checked.get("actions"))
    if not isinstance(actions, list):
        return None
    wanted: list[Json] = [
        {"name": one.get("name"), "arguments": one.get("kwargs", one.get("arguments"))}
        for one in fields.tables(actions)
    ]
    return fields.written({"actions": wanted, "outputs": fields.listing(task.get("outputs"))})


def _basis(checked: JsonObject) -> str | None:
    """What the reward was decided on: the database (r_actions) or what was said (r_outputs), if told."""
    said = sorted(key for key in fields.table(checked.get("info")) if key.startswith("r_"))
    return "+".join(said) or None


def _rest(info: JsonObject) -> JsonObject:
    task = fields.table(info.get("task"))
    rest: JsonObject = {key: info[key] for key in ("source", "user_cost") if key in info}
    rest.update({key: task[key] for key in ("user_id", "instruction") if key in task})
    return rest


def _spans(trace_uid: str, said: tuple[Turn, ...]) -> tuple[Span, ...]:
    return tuple(
        Span(
            span_uid=uid(trace_uid, "llm", str(seq)),
            trace_uid=trace_uid,
            native_id=f"message {seq}",
            seq=seq,
            kind="llm",
            name="chat",
        )
        for seq, one in enumerate(said)
        if one.role == "assistant"
    )
