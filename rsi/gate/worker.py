"""The gate as a process of its own, the only one that is given the contracts' place. ``python -m rsi.gate.worker``.

It reads one request as JSON from standard input, and answers with lines of JSON: progress, and at the end what was made
or why nothing was. ``RSI_CONTRACTS`` names a folder, or a commit of a git repository: ``git+/srv/contracts@<commit>``
(its root, or with ``#folder`` a folder in it), which is then read and nothing that was written since. A person or a
service starts it for the loop, whose ``RSI_GATE`` is the command (`rsi.gate.examiner`).
"""

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Literal

import orjson
from pydantic import ValidationError

from rsi.context import Context, Start
from rsi.errors import ContractError, RsiError
from rsi.gate.commit import checked_out, commit_of
from rsi.ids import Digest
from rsi.ports import Progress
from rsi.records import Record
from rsi.settings import Deployment, Home, contracts_dir, contracts_said, quiet_dependencies, said
from rsi.store.files import write_whole

FINGERPRINTS = "suites/*/v*/fingerprints.json"


class Request(Record):
    """What the loop asks."""

    ask: Literal["judge", "watch", "fingerprints"]
    home: str
    """Folder of the deployment."""
    start: Start | None = None
    """Of the night, to judge."""
    night: str = ""
    """That looks, to watch."""
    candidate: str | None = None
    """Digest of the version to judge."""


class Line(Record):
    """One line of the answer; exactly one of these is there."""

    progress: tuple[str, int, int, str] | None = None
    made: str | None = None
    """Digest of the verdict, JSON of what was looked at, or the folder of the fingerprints."""
    error: tuple[str, str] | None = None
    """Name of one of `rsi.errors`, and its message."""


def main() -> None:
    """Answer the request on standard input."""
    quiet_dependencies()
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        # What libraries print is no answer.
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

        def progress(what: str, done: int, total: int, note: str = "") -> None:
            _tell(answers, Line(progress=(what, done, total, note)))

        try:
            with checked_out(commit_of(contracts_said())):
                made = answer(_request(sys.stdin.buffer), progress)
        except RsiError as error:
            _tell(answers, Line(error=(type(error).__name__, str(error))))
            sys.exit(error.exit_code)
        _tell(answers, Line(made=made))


def _request(file: IO[bytes]) -> Request:
    try:
        return Request.parse(file.read())
    except ValidationError as error:
        raise ContractError(f"the gate was asked what it does not understand: {said(error)}") from None


def _tell(file: IO[bytes], line: Line) -> None:
    file.write(orjson.dumps(line.model_dump(mode="json", exclude_none=True)) + b"\n")
    file.flush()


def answer(request: Request, progress: Progress) -> str:
    """Judge a candidate, look at the version in service, or tell the loop what it may know of the suites.

    Raises:
        ContractError: the deployment file is not the one that the night began with.
    """
    home = Home(Path(request.home))
    if request.ask == "fingerprints":
        return str(publish(home, contracts_dir()))
    from rsi.world import real

    deployment = Deployment.read(home.deployment_file)
    world = replace(real(deployment, progress), examiner=None)
    if request.ask == "watch":
        from rsi.gate.watch import watch
        from rsi.serve.client import replicas

        return watch(home, deployment, world, request.night, partial(replicas, home, world.engine)).model_dump_json()
    from rsi.gate.stage import judge

    if request.start is None or request.candidate is None:
        raise ContractError("the gate was asked to judge without a night or a candidate")
    if deployment.digest != request.start.deployment:
        raise ContractError(f"{home.deployment_file} is not the one that night {request.start.night} began with")
    return judge(Context(home, deployment, world, request.start), Digest(request.candidate))


def publish(home: Home, root: Path) -> Path:
    """Bring the home's copy of all fingerprints up to date; where it lies."""
    there = {path.relative_to(root): path for path in root.glob(FINGERPRINTS)}
    if not there:
        raise ContractError(f"no suite with fingerprints below {root}; RSI_CONTRACTS names the contracts' place")
    for path in home.fingerprints.glob(FINGERPRINTS):
        if path.relative_to(home.fingerprints) not in there:
            path.unlink()
            path.parent.rmdir()
    for name, path in there.items():
        data, copy = path.read_bytes(), home.fingerprints / name
        if not copy.exists() or copy.read_bytes() != data:
            write_whole(copy, data)
    return home.fingerprints


if __name__ == "__main__":
    main()
