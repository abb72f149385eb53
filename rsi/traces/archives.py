"""Inspect logs kept as zip files (``.eval``): each sample with its log's header as one record.

A finished log has its header and the samples; one that was killed has its start, summaries, and the samples so
far. Samples that were not kept whole are read from their summaries; newer logs may keep a sample in pieces.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import orjson

from rsi.traces import zips
from rsi.traces.decode import decode
from rsi.traces.rows import Json, JsonObject, Reason, Refusal
from rsi.traces.values import Flaw, Piece
from rsi.traces.zips import Member

MAGIC = zips.MAGIC
_SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json", re.DOTALL)
_SHELL = re.compile(r"(samples/.+_epoch_\d+)/sample\.json", re.DOTALL)
"""A sample that is kept in pieces, beside this member of it."""
_NUMBERED = re.compile(r"(samples/.+)/(\d{1,12})\.json", re.DOTALL)
"""A part of one of its sequences, named by the number of the first in it."""
_HEADERS = ("header.json", "_journal/start.json", "start.json")
_RESULTS = "results.json"
_SUMMARIES = ("summaries.json", "summary.json")
_JOURNAL = ("_journal/summaries/", "summaries/")
_UNKEPT = ("samples", "reductions", "results", "stats")
_MAX_VALUE = 64 << 10
"""Bytes of one field of a header that go with every sample."""
_LEAST_BUDGET = 1 << 30
_RATIO = 300
"""What an archive may unpack to: so many times its size, but a gibibyte at least."""


def records(path: Path, limit: int) -> Iterator[Piece | Flaw]:
    """Records of at most about `limit` bytes, numbered in order; what cannot be read is a flaw."""
    try:
        with path.open("rb") as file:
            yield from _Archive(file, path.stat().st_size, limit).records()
    except OSError as error:
        yield Flaw(0, 0, Reason.UNREADABLE, str(error).splitlines()[0])


class _Archive:
    """One open archive; its members by name, the last of a name standing."""

    def __init__(self, file: IO[bytes], size: int, limit: int) -> None:
        self._file, self._limit = file, limit
        self._left = max(_LEAST_BUDGET, size * _RATIO)
        found, self._wrong = zips.members(file)
        self._members = {one.name: one for one in found}
        self._numbered: dict[str, list[tuple[int, Member]]] = {}
        for name, one in self._members.items():
            if numbered := _NUMBERED.fullmatch(name):
                self._numbered.setdefault(numbered.group(1), []).append((int(numbered.group(2)), one))
        self._line = 0

    def records(self) -> Iterator[Piece | Flaw]:
        if self._wrong is not None:
            yield self._flaw(self._wrong)
        samples = [
            one for name, one in self._members.items() if _SAMPLE.fullmatch(name) or _SHELL.fullmatch(name)
        ]
        if not samples and not any(name in self._members for name in _HEADERS):
            if self._wrong is None or self._members:
                detail = "a zip file that is no Inspect log (no header.json and no samples); unpack it first"
                yield self._flaw(Refusal(Reason.UNKNOWN_FORMAT, detail))
            return
        header, flaws = self._header()
        yield from flaws
        front = orjson.dumps(header)[:-1] + b',"samples":['
        yielded = False
        for member in samples:
            yielded = True
            yield self._sample(front, member)
        for offset, summary in self._summaries():
            yielded = True
            whole = summary if isinstance(summary, Flaw) else front + orjson.dumps(summary) + b"]}"
            yield whole if isinstance(whole, Flaw) else self._piece(whole, offset)
        if not yielded:
            yield self._piece(front + b"]}", 0)

    def _sample(self, front: bytes, member: Member) -> Piece | Flaw:
        shell = _SHELL.fullmatch(member.name)
        body = self._joined(shell.group(1), member) if shell else self._content(member)
        if isinstance(body, Refusal):
            return self._flaw(body, member.offset)
        body = body.strip()
        if not body.startswith(b"{") or not body.endswith(b"}"):
            return self._flaw(_no_object(member, body), member.offset)
        return self._piece(front + body + b"]}", member.offset)

    def _joined(self, prefix: str, shell: Member) -> bytes | Refusal:
        """A sample that is kept in pieces, as one; what is numbered there is named by its number."""
        sample = self._decoded(shell)
        beside = self._members.get(f"{prefix}/metadata.json")
        told = self._decoded(beside) if beside is not None else {}
        if not isinstance(sample, dict) or not isinstance(told, dict):
            return next((one for one in (sample, told) if isinstance(one, Refusal)), _no_object(shell))
        items: dict[str, list[Json]] = {"messages": [], "events": [], "attachments": []}
        left = self._left - self._limit
        for sequence, kept in items.items():
            for _, member in sorted(self._numbered.get(f"{prefix}/{sequence}", ())):
                part = self._decoded(member)
                if isinstance(part, Refusal):
                    return part
                if self._left < left:
                    detail = f"sample {zips.shown(prefix)} unpacks to more than {self._limit} bytes"
                    return Refusal(Reason.TOO_LARGE, detail)
                kept.extend(part if isinstance(part, list) else [])
        sample.update(metadata=told, events=items["events"], events_data={"messages": items["messages"]})
        sample["attachments"] = {str(index): text for index, text in enumerate(items["attachments"])}
        return orjson.dumps(sample)

    def _header(self) -> tuple[JsonObject, list[Flaw]]:
        """What every sample is told of its log; an empty `eval` where the header cannot be read."""
        header: JsonObject = {}
        flaws = []
        for name in (next((one for one in _HEADERS if one in self._members), None), _RESULTS):
            member = self._members.get(name) if name else None
            if member is None or (name == _RESULTS and "status" in header):
                continue
            found = self._decoded(member)
            if isinstance(found, dict):
                header.update(found)
            else:
                refusal = found if isinstance(found, Refusal) else _no_object(member)
                flaws.append(self._flaw(refusal, member.offset))
        return _slim(header), flaws

    def _summaries(self) -> Iterator[tuple[int, JsonObject | Flaw]]:
        """Of samples that are not kept whole, each with a place of its own."""
        names = [name for name in _SUMMARIES if name in self._members][:1] or sorted(
            name for name in self._members if name.startswith(_JOURNAL) and name.endswith(".json")
        )
        for name in names:
            member = self._members[name]
            found = self._decoded(member)
            if isinstance(found, Refusal):
                yield 0, self._flaw(found, member.offset)
                continue
            for place, one in enumerate(found if isinstance(found, list) else [], 1):
                if isinstance(one, dict) and not self._has(one):
                    yield member.offset + place, one

    def _has(self, summary: JsonObject) -> bool:
        name = f"samples/{summary.get('id')}_epoch_{summary.get('epoch')}"
        return f"{name}.json" in self._members or f"{name}/sample.json" in self._members

    def _decoded(self, member: Member) -> Json | Refusal:
        body = self._content(member)
        found = body if isinstance(body, Refusal) else decode(body)
        if isinstance(found, Refusal) and found is not body:
            return Refusal(found.reason, f"{found.detail} (member {zips.shown(member.name)})")
        return found

    def _content(self, member: Member) -> bytes | Refusal:
        if self._left <= 0:
            detail = f"member {zips.shown(member.name)} was not read: the archive unpacks to too much"
            return Refusal(Reason.TOO_LARGE, detail)
        found = zips.content(self._file, member, self._limit)
        if not isinstance(found, Refusal):
            self._left -= len(found)
        elif found.reason is Reason.TOO_LARGE:
            self._left -= self._limit
        return found

    def _piece(self, body: bytes, offset: int) -> Piece:
        self._line += 1
        return Piece(self._line, offset, body)

    def _flaw(self, refusal: Refusal, offset: int = 0) -> Flaw:
        self._line += 1
        return Flaw(self._line, offset, refusal.reason, refusal.detail, (refusal.part or b"")[:200])


def _no_object(member: Member, body: bytes | None = None) -> Refusal:
    return Refusal(Reason.NOT_JSON, f"member {zips.shown(member.name)} is no JSON object", body)


def _slim(header: JsonObject) -> JsonObject:
    """A header that can go with every sample: without results, lists of sample ids and what else is long."""
    told = header.get("eval")
    told = dict(told) if isinstance(told, dict) else {}
    if isinstance(dataset := told.get("dataset"), dict):
        told["dataset"] = {key: value for key, value in dataset.items() if key != "sample_ids"}
    kept: JsonObject = {key: value for key, value in header.items() if key not in _UNKEPT}
    kept["eval"] = {key: value for key, value in told.items() if _is_short(value)}
    kept.setdefault("status", "started")
    return {key: value for key, value in kept.items() if key == "eval" or _is_short(value)}


def _is_short(value: Json) -> bool:
    return len(orjson.dumps(value)) <= _MAX_VALUE
