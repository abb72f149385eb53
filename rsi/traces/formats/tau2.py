"""tau2-bench: results ``{info, tasks, simulations}``, or one simulation alone.

A run kept as a folder has the tasks and models in one file and each simulation in its own: both are parts of the
same traces, named by the simulation's id. Outcomes are in `tau2_checks`, the conversation in `tau2_said`.
"""

from collections.abc import Iterator

import orjson

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.run import Run, rows
from rsi.traces.formats.tau2_checks import judgements
from rsi.traces.formats.tau2_said import Models, told
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "tau2"
_ENDED = ("user_stop", "agent_stop")
"""Reasons to end that are no fault."""


def matches(record: JsonObject) -> bool:
    """`simulations` beside `info` or `tasks`, or a task's id beside messages or ticks and how it ended."""
    if "simulations" in record or "simulation_index" in record:
        return "info" in record or "tasks" in record
    return (
        "task_id" in record
        and ("messages" in record or "ticks" in record)
        and ("termination_reason" in record or "reward_info" in record)
    )


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace a simulation; an index of simulations gives what it knows of each."""
    if "simulations" not in record and "simulation_index" not in record:
        return (rows(_run(record, {}, {}), NAME, place),)
    simulations = record.get("simulations") or record.get("simulation_index")
    if not isinstance(simulations, list) or not simulations:
        return (Refusal(Reason.MISSING_FIELD, "results without a simulation"),)
    return tuple(_each(record, simulations, place))


def _each(record: JsonObject, simulations: list[Json], place: Place) -> Iterator[Rows | Refusal]:
    tasks = {fields.named(one.get("id")): one for one in fields.tables(record.get("tasks"))}
    info = fields.table(record.get("info"))
    key = "simulations" if record.get("simulations") else "simulation_index"
    for one in simulations:
        if not isinstance(one, dict):
            yield Refusal(Reason.BAD_VALUE, "a simulation that is no object", orjson.dumps(one))
            continue
        task = tasks.get(fields.named(one.get("task_id")), {})
        part = {"info": info, "tasks": [task] if task else [], key: [one]} if len(simulations) > 1 else None
        yield rows(_run(one, task, info), NAME, place, orjson.dumps(part) if part else None)


def _run(simulation: JsonObject, task: JsonObject, info: JsonObject) -> Run:
    agent, user = fields.table(info.get("agent_info")), fields.table(info.get("user_info"))
    audio = fields.table(info.get("audio_native_config"))
    model = fields.named(audio.get("model")) or fields.named(agent.get("llm"))
    conversation = told(simulation, Models(model, fields.named(user.get("llm"))))
    native, named = fields.named(simulation.get("id")), fields.named(simulation.get("task_id"))
    trial = fields.whole(simulation.get("trial"))
    start, state = fields.moment(simulation.get("start_time"))
    return Run(
        native=native or f"{named}/{trial}",
        family=NAME,
        weak=None if native else digest(simulation),
        steps=conversation.steps,
        turns=conversation.turns,
        task_id=named,
        trial=trial,
        agent=fields.named(agent.get("implementation")),
        model=model,
        start_ns=start,
        end_ns=fields.moment(simulation.get("end_time"))[0],
        time_state=state if "start_time" in simulation else None,
        error=_error(simulation),
        expected=_expected(task, fields.table(simulation.get("reward_info"))),
        metadata=_metadata(simulation, task, info),
        session=f"task {named}" if named is not None else None,
        judgements=judgements(simulation),
    )


def _error(simulation: JsonObject) -> str | None:
    """Why it broke off: neither side ended it."""
    reason = fields.named(simulation.get("termination_reason"))
    if reason is None or reason in _ENDED:
        return None
    told_ = fields.table(simulation.get("info")).get("error")
    return f"{reason}: {told_}" if isinstance(told_, str) and told_ else reason


def _expected(task: JsonObject, checked: JsonObject) -> JsonObject | None:
    """Actions and outputs as in tau-bench, with assertions; from the checks where the task is not at hand."""
    criteria = fields.table(task.get("evaluation_criteria"))
    if not criteria:
        actions = [fields.table(one.get("action")) for one in fields.tables(checked.get("action_checks"))]
        outputs = [one.get("info") for one in fields.tables(checked.get("communicate_checks"))]
        if not actions and not outputs:
            return None
        return {"actions": [_action(one) for one in actions], "outputs": outputs}
    wanted: JsonObject = {
        "actions": [_action(one) for one in fields.tables(criteria.get("actions"))],
        "outputs": fields.listing(criteria.get("communicate_info")),
    }
    wanted.update({key: criteria[key] for key in ("env_assertions", "nl_assertions") if criteria.get(key)})
    return wanted


def _action(action: JsonObject) -> JsonObject:
    kept = {key: action.get(key) for key in ("name", "arguments")}
    kept.update({key: action[key] for key in ("requestor", "compare_args") if action.get(key) is not None})
    return kept


def _metadata(simulation: JsonObject, task: JsonObject, info: JsonObject) -> JsonObject:
    keys = ("termination_reason", "duration", "reward", "agent_cost", "user_cost", "agent_usage", "seed", "mode",
            "provider_session_id", "hallucination_retries_used", "speech_environment", "info", "policy")  # fmt: skip
    kept = {key: simulation[key] for key in keys if simulation.get(key) is not None}
    kept.update({key: task[key] for key in ("user_scenario", "description", "ticket") if task.get(key)})
    kept.update({key: info[key] for key in ("git_commit", "max_steps", "retrieval_config") if info.get(key)})
    user = fields.table(info.get("user_info"))
    if user.get("llm") is not None:
        kept["user_model"] = user["llm"]
    if domain := fields.named(fields.table(info.get("environment_info")).get("domain_name")):
        kept["domain"] = domain
    heard = [one.get("user_transcript") for one in fields.tables(simulation.get("ticks"))]
    if any(heard):
        kept["user_transcript"] = "".join(text for text in heard if isinstance(text, str))
    return kept
