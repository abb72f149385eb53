"""Inspect AI evaluation logs, version 2: one trace a sample; also one sample with its log's header (`archives`).

A sample is named by its uuid, in older logs by its run, id and epoch. Events are in `inspect_events`, messages and
attachments in `inspect_content`, scores in `inspect_scores`.
"""

from collections.abc import Iterator

import orjson

from rsi.ids import digest
from rsi.traces.formats import fields
from rsi.traces.formats.inspect_content import Content
from rsi.traces.formats.inspect_events import ROOT, Steps, usage
from rsi.traces.formats.inspect_scores import judgements
from rsi.traces.formats.run import Run, Step, Usage, rows
from rsi.traces.formats.turns import Turn
from rsi.traces.rows import Json, JsonObject, Place, Reason, Refusal, Rows

NAME = "inspect_ai"
_BESIDE = ("metadata", "store", "choices", "sandbox", "files", "setup", "model_usage", "role_usage", "total_time",
           "working_time", "limit", "retries", "invalidation")  # fmt: skip
_EVAL = (
    "task",
    "task_version",
    "task_args",
    "tags",
    "model_roles",
    "model_args",
    "solver",
    "revision",
    "packages",
)


def matches(record: JsonObject) -> bool:
    """`eval` of a log, or a sample alone."""
    if isinstance(record.get("eval"), dict):
        return "samples" in record or "plan" in record or "status" in record
    return "epoch" in record and "target" in record and "input" in record and "id" in record


def read(record: JsonObject, place: Place) -> tuple[Rows | Refusal, ...]:
    """One trace a sample."""
    if "eval" not in record:
        return (rows(_run(record, {}), NAME, place),)
    samples = record.get("samples")
    if samples is not None and not isinstance(samples, list):
        return (Refusal(Reason.BAD_VALUE, "samples is no list"),)
    if not samples:
        status = fields.named(record.get("status")) or "of no status"
        return (
            Refusal(
                Reason.MISSING_FIELD, f"a log without samples ({status}): nothing that happened is in it"
            ),
        )
    return tuple(_each(record, samples, place))


def _each(record: JsonObject, samples: list[Json], place: Place) -> Iterator[Rows | Refusal]:
    header = {
        key: value
        for key, value in record.items()
        if key not in ("samples", "reductions", "results", "stats")
    }
    for one in samples:
        part = orjson.dumps({**header, "samples": [one]}) if len(samples) > 1 else None
        if isinstance(one, dict):
            yield rows(_run(one, header), NAME, place, part)
        else:
            yield Refusal(Reason.BAD_VALUE, "a sample that is no object", part)


def _run(sample: JsonObject, log: JsonObject) -> Run:
    told = fields.table(log.get("eval"))
    content = Content(sample)
    steps = Steps(content)
    steps.add(sample.get("events") or fields.table(sample.get("transcript")).get("events"))
    kept = content.turns(sample.get("messages")) or content.asked({"input_refs": sample.get("message_refs")})
    said = kept or _opening(sample, content)
    scores = judgements(sample)
    native, weak = _named(sample, told)
    start, end, state = _times(sample, steps.found)
    error = _error(sample, log, bool(scores))
    named, task = fields.named(sample.get("id")), fields.named(told.get("task"))
    root = _root(sample, task, steps.found)._replace(
        start_ns=start, end_ns=end, time_state=state, status="error" if error else "unset", error=error
    )
    output = fields.table(sample.get("output"))
    return Run(
        native=native,
        family=NAME,
        weak=weak,
        steps=(root, *steps.found),
        turns=said,
        task_id=f"{task}/{named}" if task else named,
        trial=fields.whole(sample.get("epoch")),
        agent=task,
        model=fields.named(output.get("model")) or fields.named(told.get("model")),
        start_ns=start,
        end_ns=end,
        time_state=state,
        error=error,
        expected=_expected(sample, content),
        metadata=_metadata(sample, log, content),
        session=f"task {task}/{named}" if named is not None else None,
        judgements=scores,
    )


def _named(sample: JsonObject, told: JsonObject) -> tuple[str, str | None]:
    """The native id, and the content's digest where that does not name the sample for good."""
    if unique := fields.named(sample.get("uuid")):
        return unique, None
    run = fields.first(told, "eval_id", "run_id") or ""
    native = f"{run or 'run'}/{fields.named(sample.get('id'))}/{fields.named(sample.get('epoch'))}"
    return native, None if len(run) > 10 else digest(sample)


def _opening(sample: JsonObject, content: Content) -> tuple[Turn, ...]:
    """What a sample begins with and what came out, where the messages between were not kept."""
    choices = fields.tables(fields.table(sample.get("output")).get("choices"))
    return content.turns(sample.get("input")) + content.turns([one.get("message") for one in choices])


def _root(sample: JsonObject, task: str | None, steps: list[Step]) -> Step:
    """The sample as a whole; it carries the usage where no call of a model tells its own."""
    used = fields.table(sample.get("model_usage"))
    spent = (
        Usage() if any(one.kind == "llm" for one in steps) else _total([usage(one) for one in used.values()])
    )
    return Step(native_id=ROOT, kind="agent", name=task or "sample", usage=spent)


def _total(parts: list[Usage]) -> Usage:
    if not parts:
        return Usage()
    whole = [[value for value in column if value is not None] for column in zip(*parts, strict=True)]
    read = [int(sum(column)) if column else None for column in whole[:5]]
    return Usage(read[0], read[1], read[2], read[3], read[4], float(sum(whole[5])) if whole[5] else None)


def _times(sample: JsonObject, steps: list[Step]) -> tuple[int | None, int | None, str]:
    """As the sample says, else of its events."""
    start, state = fields.moment(sample.get("started_at"))
    end, _ = fields.moment(sample.get("completed_at"))
    if start is None:
        timed = [one for one in steps if one.start_ns is not None]
        first = min(timed, key=lambda one: one.start_ns or 0, default=None)
        start, state = (first.start_ns, first.time_state) if first else (None, state)
    ends = [one.end_ns or one.start_ns for one in steps if one.end_ns or one.start_ns]
    return start, end if end is not None else max((one for one in ends if one), default=None), state


def _error(sample: JsonObject, log: JsonObject, scored: bool) -> str | None:
    """The sample's error or limit; where it was not scored, the end of the whole run."""
    said = sample.get("error")
    error = fields.named(fields.table(said).get("message")) or fields.named(said)
    if error is not None:
        return error
    limit = sample.get("limit")
    reached = fields.named(fields.table(limit).get("type")) or fields.named(limit)
    if reached is not None:
        return f"{reached} limit"
    status = log.get("status")
    if scored or status not in ("cancelled", "error"):
        return None
    return fields.named(fields.table(log.get("error")).get("message")) or f"the run was {status}"


def _expected(sample: JsonObject, content: Content) -> JsonObject | None:
    target = content.value(sample.get("target"))
    return None if target is None or target in ("", []) else {"target": target}


def _metadata(sample: JsonObject, log: JsonObject, content: Content) -> JsonObject:
    told = fields.table(log.get("eval"))
    kept = {key: content.value(sample[key]) for key in _BESIDE if sample.get(key) not in (None, {}, [], "")}
    run: JsonObject = {key: told[key] for key in _EVAL if told.get(key) not in (None, {}, [], "")}
    run.update({key: told[key] for key in ("eval_id", "run_id", "created", "model") if told.get(key)})
    if dataset := fields.named(fields.table(told.get("dataset")).get("name")):
        run["dataset"] = dataset
    if log.get("status"):
        run["status"] = log["status"]
    if run:
        kept["eval"] = run
    if retried := [one.get("message") for one in fields.tables(sample.get("error_retries"))]:
        kept["error_retries"] = retried
    if error := fields.table(sample.get("error")):
        kept["traceback"] = error.get("traceback")
    return kept
