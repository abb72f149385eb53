"""tau-bench trajectories: one run of an agent against a simulated user, with what the task expected.

`reward` is the environment's: the end state of its database (and what was said) against the expected one. The
expected actions are kept on the trace. One assistant message is one call of the model.
"""

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.run import Judgement, Run, Step, rows
from rsi.traces.formats.turns import Turn, turns
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
        return (Refusal(Reason.BAD_VALUE, f"reward {str(record['reward'])[:80]!r} is no number"),)
    task, trial = fields.named(record.get("task_id")), fields.whole(record.get("trial"))
    said = turns(trajectory)
    info = fields.table(record.get("info"))
    checked = fields.table(info.get("reward_info"))
    run = Run(
        native=f"{task}/{trial}",
        family=NAME,
        weak=digest(trajectory),
        steps=_calls(said),
        turns=said,
        task_id=task,
        trial=trial,
        error=fields.named(info.get("error")),
        expected=_expected(fields.table(info.get("task")), checked),
        metadata=_rest(info),
        session=f"task {task}" if task is not None else None,
        judgements=(_reward(reward, checked),),
    )
    return (rows(run, NAME, place),)


def _expected(task: JsonObject, checked: JsonObject) -> JsonObject | None:
    """``{"actions": [{"name", "arguments"}…], "outputs": […]}``; null where the run names no task."""
    actions = task.get("actions", checked.get("actions"))
    if not isinstance(actions, list):
        return None
    wanted: list[Json] = [
        {"name": one.get("name"), "arguments": one.get("kwargs", one.get("arguments"))}
        for one in fields.tables(actions)
    ]
    return {"actions": wanted, "outputs": fields.listing(task.get("outputs"))}


def _reward(reward: float, checked: JsonObject) -> Judgement:
    """The environment's word, and on what it was decided: the database (r_actions) or what was said (r_outputs)."""
    basis = sorted(key for key in fields.table(checked.get("info")) if key.startswith("r_"))
    fair = 0 <= reward <= 1
    return Judgement(
        "reward",
        reward if fair else None,
        said=None if fair else reward,
        source="env",
        basis="+".join(basis) or None,
        native_id="reward",
    )


def _rest(info: JsonObject) -> JsonObject:
    """What a run says beside, with what its database check found."""
    task, checked = fields.table(info.get("task")), fields.table(info.get("reward_info"))
    rest: JsonObject = {key: info[key] for key in ("source", "user_cost", "traceback") if key in info}
    rest.update({key: task[key] for key in ("user_id", "instruction") if key in task})
    if found := fields.table(checked.get("info")):
        rest["checks"] = found
    return rest


def _calls(said: tuple[Turn, ...]) -> tuple[Step, ...]:
    return tuple(
        Step(native_id=f"message {seq}", kind="llm", name="chat")
        for seq, one in enumerate(said)
        if one.role == "assistant"
    )
