"""OpenHands: lines of an evaluation's ``output.jsonl`` with their history, and the events of a session.

A line is one trace. Of a session, each event is a record that does not name it: the file does, or its folder.
"""

from rsi.ids import digest
from rsi.traces.formats import fields, openhands_events, openhands_sdk
from rsi.traces.formats.run import Judgement, Run, Step, Usage, rows
from rsi.traces.formats.session import of_name
from rsi.traces.rows import JsonObject, Place, Reason, Refusal, Rows

NAME = "openhands"
_ROOT = "run"
_BESIDE = ("instruction", "git_patch", "test_result", "base_commit", "issue_type", "result_explanation",
           "comment_success", "resolved", "report")  # fmt: skip


def matches(record: JsonObject) -> bool:
    """A history of actions and observations, or one event with its source."""
    history = record.get("history")
    if isinstance(history, list) and (
        "instance_id" in record or "instruction" in record or "git_patch" in record
    ):
        return any(_events(one) for one in history[:5]) or "metrics" in record
    is_event = openhands_events.is_event(record)
    return is_event and "source" in record and ("timestamp" in record or "id" in record)


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace, or a part of one."""
    if "history" not in record:
        return (rows(_event(record, place), NAME, place),)
    events = [event for one in fields.listing(record["history"]) for event in _events(one)]
    if not events and fields.named(record.get("error")) is None:
        return (Refusal(Reason.MISSING_FIELD, "a history without an action or an observation"),)
    return (rows(_line(record, events), NAME, place),)


def _events(value: object) -> list[JsonObject]:
    """An event, or a pair of action and observation as the oldest files have them."""
    found = value if isinstance(value, list) else [value]
    return [one for one in found if isinstance(one, dict) and openhands_events.is_event(one)]


def _event(event: JsonObject, place: Place) -> Run:
    """One event of a list; what a user asks is what the trace begins with."""
    name = openhands_events.key(event, 0)
    said = openhands_events.turns(event, name)
    step = openhands_events.step(event, name)
    by_user = bool(said) and said[0].role in ("user", "system")
    step = step._replace(asked=said) if by_user else step._replace(answered=said)
    return Run(
        native=openhands_sdk.conversation(place.uri) or of_name(place.uri) or place.uri or place.file_id,
        family=NAME,
        steps=(step,),
        start_ns=step.start_ns or step.end_ns,
        time_state=step.time_state,
        # Older events give calls without ids the ids of events, which begin again in each session.
        unique_calls=openhands_sdk.is_event(event),
    )


def _line(record: JsonObject, events: list[JsonObject]) -> Run:
    named = [(openhands_events.key(event, at), event) for at, event in enumerate(events)]
    said = [turn for name, event in named for turn in openhands_events.turns(event, name)]
    config = fields.table(fields.table(record.get("metadata")).get("llm_config"))
    issue, instance = fields.table(record.get("issue")), fields.table(record.get("instance"))
    task = fields.first(record, "instance_id") or fields.first(instance, "instance_id") or _of_issue(issue)
    error = fields.named(record.get("error"))
    metadata: JsonObject = {one: record[one] for one in _BESIDE if record.get(one) not in (None, "", {})}
    if issue:
        metadata["issue"] = issue
    return Run(
        native=f"{task or 'run'}",
        family=NAME,
        weak=digest(events),
        steps=(
            _root(record, error),
            *(openhands_events.step(event, name)._replace(tool=None) for name, event in named),
        ),
        turns=tuple({(one.native_id, one.role, one.answers): one for one in said}.values()),
        task_id=task,
        agent=fields.first(fields.table(record.get("metadata")), "agent_class"),
        model=fields.named(config.get("model")),
        error=error,
        metadata=metadata,
        session=task,
        judgements=_judgements(record),
    )


def _of_issue(issue: JsonObject) -> str | None:
    parts = [fields.named(issue.get(one)) for one in ("owner", "repo", "number")]
    return "{}/{}#{}".format(*parts) if all(parts) else None


def _root(record: JsonObject, error: str | None) -> Step:
    """The run as a whole, with its cost and all its tokens."""
    metrics = fields.table(record.get("metrics"))
    used = fields.table(metrics.get("accumulated_token_usage"))
    return Step(
        native_id=_ROOT,
        kind="agent",
        name="openhands",
        status="unset" if error is None else "error",
        error=error,
        usage=Usage(
            fields.whole(used.get("prompt_tokens")),
            fields.whole(used.get("completion_tokens")),
            fields.whole(used.get("cache_read_tokens")),
            fields.whole(used.get("cache_write_tokens")),
            cost_usd=fields.number(metrics.get("accumulated_cost")),
        ),
    )


def _judgements(record: JsonObject) -> tuple[Judgement, ...]:
    """Whether a model, asked afterwards, found the issue resolved; the report of the tests where it is at hand."""
    found = []
    if isinstance(record.get("success"), bool):
        comment = fields.named(record.get("result_explanation"))
        found.append(
            Judgement(
                "success", float(bool(record["success"])), source="llm", comment=comment, native_id="success"
            )
        )
    report = fields.table(record.get("report")) or fields.table(
        fields.table(record.get("test_result")).get("report")
    )
    resolved = record.get("resolved", report.get("resolved"))
    if isinstance(resolved, bool):
        found.append(
            Judgement("resolved", float(resolved), said=report or None, source="env", native_id="resolved")
        )
    return tuple(found)
