"""A job's folder on an fsspec URL (``s3://bucket/jobs/…``): the same files under the same names.

``job.json`` is written last when a job is brought, ``complete.json`` last when its results are. While a worker is at
it, ``resume.tar`` holds what a folder would: one object, so that a reader finds the old one or the new one whole.
"""

import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import fsspec

from rsi import faults
from rsi.errors import ContractError, IntegrityError, TransientError
from rsi.ids import canonical
from rsi.registry import adapters
from rsi.settings import Home
from rsi.update import job as jobs
from rsi.update.job import Done, Job

ASKED, DONE, LOG = "job.json", "complete.json", "metrics.jsonl"
RESUME, CLAIM = "resume.tar", "claim.json"
_GIVEN = {"manifest.json", "tasks.parquet", "harness.toml", jobs.SHOWN}
_HERE = {"lock", "actor"}
"""What is a worker's own: it neither travels nor says anything about the job."""


def is_url(place: str) -> bool:
    """Whether a place lies elsewhere; ``file://`` does not."""
    return "://" in place and not place.startswith("file://")


def here(place: str) -> Path:
    """The folder that a path or a ``file://`` URL names."""
    return Path(place.removeprefix("file://")).resolve()


class Depot:
    """The files of one job at a URL."""

    def __init__(self, url: str) -> None:
        """Reach the URL's file system.

        Raises:
            ContractError: nobody knows that kind of URL here.
        """
        self.url = url.rstrip("/")
        with self._reached():
            self._fs, self._root = fsspec.url_to_fs(self.url, use_listings_cache=False)

    def names(self) -> list[str]:
        """All files there are."""
        with self._reached():
            found = self._fs.find(self._root)
        names = [path.removeprefix(self._root).lstrip("/") for path in found]
        odd = [name for name in names if ".." in PurePosixPath(name).parts]
        if odd:
            raise IntegrityError(
                f"{self.url} has a file named {odd[0]!r}, which would leave the job's folder"
            )
        return sorted(names)

    def read(self, name: str) -> bytes | None:
        """A file's content; None where there is none."""
        with self._reached():
            try:
                return bytes(self._fs.cat_file(self._at(name)))
            except FileNotFoundError:
                return None

    def write(self, name: str, data: bytes) -> None:
        """Replace a file."""
        with self._reached():
            self._fs.pipe_file(self._at(name), data)

    def create(self, name: str, data: bytes) -> bool:
        """Write a file that is not there; whether it was not."""
        with self._reached():
            try:
                self._fs.pipe_file(self._at(name), data, mode="create")
            except FileExistsError:
                return False
        return True

    def remove(self, name: str) -> None:
        """Take a file away, if it is there."""
        with self._reached():
            try:
                self._fs.rm_file(self._at(name))
            except FileNotFoundError:
                return

    def put(self, path: Path, name: str) -> None:
        """Bring a file."""
        with self._reached():
            self._fs.put_file(str(path), self._at(name))

    def get(self, name: str, path: Path) -> None:
        """Fetch a file, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.draft")
        with self._reached():
            self._fs.get_file(self._at(name), str(draft))
        draft.replace(path)

    def _at(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Say in our own errors what a file system said; each has a family of its own."""
        try:
            yield
        except ImportError as error:
            raise ContractError(f"{self.url}: {error}; pip install 'rsi[remote]'") from None
        except (ValueError, PermissionError) as error:
            raise ContractError(
                f"{self.url} cannot be used: {error}; check address and credentials"
            ) from None
        except FileNotFoundError as error:
            raise ContractError(
                f"{self.url}: {error} is not there; make the bucket or mend the URL"
            ) from None
        except Exception as error:
            raise TransientError(f"{self.url} cannot be reached: {error}") from error


def asked(depot: Depot) -> Job:
    """The job at a URL.

    Raises:
        ContractError: there is none, or not of this version.
    """
    data = depot.read(ASKED)
    if data is None:
        raise ContractError(f"{depot.url} is no job's folder: expected {depot.url}/{ASKED}")
    return jobs.parse(data, f"{depot.url}/{ASKED}")


def done(depot: Depot) -> Done | None:
    """How the job ended, or None while it has not."""
    data = depot.read(DONE)
    return None if data is None else Done.parse(data)


def bring(place: Path, url: str) -> Depot:
    """Bring a submitted job to a URL, or find it there.

    Raises:
        IntegrityError: another job lies there.
    """
    depot, job = Depot(url), jobs.read(place)
    there = depot.read(ASKED)
    if there is None:
        for name in (*_inputs(_files(place)), ASKED):
            depot.put(place / name, name)
    elif jobs.parse(there, f"{depot.url}/{ASKED}").digest != job.digest:
        raise IntegrityError(f"{depot.url} holds another job than {job.digest[:12]}; name another URL")
    return depot


def fetch(depot: Depot, place: Path) -> None:
    """Fetch a job with the adapters it needs, and what was published of its work.

    Raises:
        IntegrityError: something is not what the job names.
    """
    names = depot.names()
    if RESUME in names:
        _unpack(depot, place)
    for name in (*_inputs(names), ASKED):
        depot.get(name, place / name)
    job = jobs.read(place)
    for name in job.adapters:
        adapters.describe(Home(place), name)


def _unpack(depot: Depot, place: Path) -> None:
    packed = place / RESUME
    depot.get(RESUME, packed)
    try:
        with tarfile.open(packed) as tar:
            tar.extractall(place, filter="data")
    except tarfile.TarError as error:
        raise IntegrityError(f"{depot.url}/{RESUME} is torn ({error}); remove it to begin anew") from None
    packed.unlink()


def publish(depot: Depot, place: Path) -> None:
    """Publish what a worker elsewhere would go on from, and the log for those who watch."""
    made = _made(place)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        packed = Path(folder) / RESUME
        with tarfile.open(packed, "w") as tar:
            for name in made:
                tar.add(place / name, name)
        depot.put(packed, RESUME)
    if LOG in made:
        depot.put(place / LOG, LOG)


def deliver(depot: Depot, place: Path, end: Done) -> None:
    """Bring the results of a job that has ended, ``complete.json`` last."""
    for name in _made(place):
        if not name.startswith("checkpoints/") and name != DONE:
            depot.put(place / name, name)
    faults.point("remote.before_complete")
    depot.write(DONE, canonical(end.model_dump(mode="json")))
    depot.remove(RESUME)


def collect(depot: Depot, place: Path) -> Done:
    """Fetch the results of a job that has ended into the folder that it was submitted in.

    Raises:
        IntegrityError: it has not ended.
    """
    end = done(depot)
    if end is None:
        raise IntegrityError(f"{depot.url} has no {DONE}; whoever worked on it stopped before its end")
    names = depot.names()
    for name in sorted(set(names) - {*_inputs(names), ASKED, DONE, RESUME, CLAIM}):
        depot.get(name, place / name)
    return jobs.finish(place, end)


def _files(place: Path) -> list[str]:
    """What lies in a job's folder and may travel."""
    found = (path.relative_to(place) for path in place.rglob("*") if path.is_file())
    return sorted(
        path.as_posix()
        for path in found
        if path.parts[0] not in _HERE and not any(part.startswith(".") for part in path.parts)
    )


def _inputs(names: Iterable[str]) -> list[str]:
    """Those that say what to do, but for ``job.json``."""
    return [name for name in names if name in _GIVEN or name.startswith("adapters/")]


def _made(place: Path) -> list[str]:
    """What working on the job has left so far."""
    files = _files(place)
    return sorted(set(files) - {*_inputs(files), ASKED})
