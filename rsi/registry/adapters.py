"""Adapters by digest, and the only code that judges weights from outside.

An adapter is a folder of exactly three files: ``adapter_config.json`` and ``adapter_model.safetensors`` as
PEFT writes them, and ``adapter.json``: role, base, rank and the log-probs that training measured on the probe
prompts. Its name carries the digest of all three. `admit` opens nothing but safetensors, reads the header
before the data, and refuses what a serving engine could not load or what is not what its name says.
"""

import json
import math
import struct
from pathlib import Path
from typing import TypeGuard

import orjson
from pydantic import Field, ValidationError

from rsi.errors import ContractError, IntegrityError, RefusedError
from rsi.ids import canonical, digest_file, digest_files, safe_name
from rsi.records import Adapter, Record
from rsi.settings import Home
from rsi.store.files import publish_folder

FILES = ("adapter.json", "adapter_config.json", "adapter_model.safetensors")
TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
"""All linear layers of a decoder block; the embedding and the head stay as they are."""
RANK_LIMIT = 64
HEADER_LIMIT = 4 * 1024 * 1024
"""Largest safetensors header in bytes."""
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}
"""Bytes of a number of each type that weights may have."""
FREE = frozenset(
    (
        "base_model_name_or_path",
        "inference_mode",
        "init_lora_weights",
        "lora_dropout",
        "megatron_core",
        "peft_version",
        "qalora_group_size",
        "revision",
        "target_modules",
        "task_type",
    )
)
"""Keys of a configuration that change nothing in a trained adapter, or are judged by rules of their own."""


class Card(Record):
    """``adapter.json``."""

    role: str
    base: str
    """Digest of the base model."""
    rank: int = Field(ge=1, le=RANK_LIMIT)
    alpha: int = Field(ge=1)
    files: dict[str, str]
    """File -> SHA-256 of the other two files, so that a changed one can be named."""
    harness: str
    """Digest of the harness it was trained under; the probe prompts are rendered by it."""
    probe: tuple[tuple[float, ...], ...]
    """Log-probs (nats) of that harness's labels on the probe prompts, one row a prompt, as training measured them."""


def hashes(place: Path) -> dict[str, str]:
    """SHA-256 of configuration and weights."""
    return {file: digest_file(place / file) for file in FILES[1:]}


def freeze(home: Home, draft: Path, card: Card) -> Adapter:
    """Publish a trained folder (config and weights) under its content's name."""
    seal(draft, card)
    name = name_of(draft)

    def fill(target: Path) -> None:
        for file in FILES:
            (target / file).write_bytes((draft / file).read_bytes())

    publish_folder(home.adapters / name, fill)
    return describe(home, name)


def seal(draft: Path, said: Card) -> None:
    """Lay the card beside configuration and weights."""
    (draft / FILES[0]).write_bytes(canonical(said.model_dump(mode="json")))


def name_of(place: Path) -> str:
    """The name that a sealed folder's content gives it."""
    role = Card.parse((place / FILES[0]).read_bytes()).role
    return f"{role}-{digest_files(place, FILES)[:12]}"


def folder(home: Home, name: str) -> Path:
    """Where an adapter of that name lies."""
    return home.adapters / safe_name(name)


def card(home: Home, name: str) -> Card:
    """What an adapter says of itself."""
    path = folder(home, name) / "adapter.json"
    try:
        return Card.parse(path.read_bytes())
    except FileNotFoundError:
        raise IntegrityError(f"adapter {name} is missing: expected {path}") from None
    except ValidationError as error:
        raise IntegrityError(f"{path} is not an adapter's card ({error.error_count()} errors)") from None


def describe(home: Home, name: str) -> Adapter:
    """The adapter's record, with its content checked against its name.

    Raises:
        IntegrityError: a file is missing or changed.
    """
    place = folder(home, name)
    said = card(home, name)
    missing = [file for file in FILES if not (place / file).is_file()]
    if missing:
        raise IntegrityError(f"adapter {name} lacks {missing[0]} in {place}")
    changed = [file for file, known in hashes(place).items() if said.files.get(file) != known]
    if changed or name_of(place) != name:
        raise IntegrityError(
            f"adapter {name} is not what its name says: {place / (changed or FILES)[0]} was changed; restore it from "
            "a backup, or train the adapter again"
        )
    config = json.loads((place / "adapter_config.json").read_bytes())
    return Adapter(
        name=name,
        role=said.role,
        sha256=digest_files(place, FILES),
        base=said.base,
        rank=said.rank,
        alpha=said.alpha,
        targets=tuple(sorted(config.get("target_modules") or ())),
    )


def admit(home: Home, name: str, base: str, shapes: dict[str, tuple[int, int]]) -> Adapter:
    """Judge an adapter before any engine sees it.

    Args:
        home: where it lies.
        name: its content-addressed name.
        base: digest of the base it must belong to.
        shapes: linear layer name (``model.layers.0.self_attn.q_proj``) -> (out, in) of the base.

    Raises:
        IntegrityError: content and name disagree.
        RefusedError: a foreign file, a link, another base, rank, target or shape, or a weight that is not finite.
    """
    place = folder(home, name)
    if place.is_symlink():
        raise RefusedError(f"adapter {name} is a link; only folders are admitted")
    adapter = describe(home, name)
    for path in place.iterdir():
        if path.name not in FILES or path.is_symlink() or not path.is_file():
            raise RefusedError(
                f"adapter {name} holds {path.name}; only {', '.join(FILES)} are admitted, as files"
            )
    if adapter.base != base:
        raise RefusedError(
            f"adapter {name} was trained on base {adapter.base[:12]}, this deployment serves {base[:12]}"
        )
    _check_config(name, adapter, orjson.loads((place / "adapter_config.json").read_bytes()))
    _check_weights(name, adapter, place / "adapter_model.safetensors", shapes)
    return adapter


def _check_config(name: str, adapter: Adapter, config: dict[str, object]) -> None:
    wanted: dict[str, object] = {
        "peft_type": "LORA",
        "r": adapter.rank,
        "lora_alpha": adapter.alpha,
        "bias": "none",
    }
    for key, value in wanted.items():
        if config.get(key, value) != value:
            raise RefusedError(
                f"adapter {name}: adapter_config.json says {key}={config[key]!r}, expected {value!r}"
            )
    for key in sorted(config.keys() - wanted.keys() - FREE):
        # What plain LoRA does not have is off by a null, a false or an empty value; engines refuse or misread the rest.
        if config[key]:
            raise RefusedError(
                f"adapter {name}: adapter_config.json says {key}={str(config[key])[:100]!r}; only plain LoRA is "
                "admitted"
            )
    if config.get("init_lora_weights", True) not in (True, False, "gaussian"):
        raise RefusedError(
            f"adapter {name}: adapter_config.json says init_lora_weights={config['init_lora_weights']!r}; such weights "
            "belong to a changed base"
        )
    foreign = set(adapter.targets) - set(TARGETS)
    if foreign or not adapter.targets:
        raise RefusedError(
            f"adapter {name} targets {sorted(foreign) or 'nothing'}; allowed are {', '.join(TARGETS)}"
        )


def _header(path: Path) -> dict[str, dict[str, object]]:
    with path.open("rb") as file:
        start = file.read(8)
        size = struct.unpack("<Q", start)[0] if len(start) == 8 else HEADER_LIMIT + 1
        if size > HEADER_LIMIT:
            raise RefusedError(f"{path} is no safetensors file: its header would have {size} bytes")
        try:
            header = orjson.loads(file.read(size))
        except orjson.JSONDecodeError:
            raise RefusedError(f"{path} is no safetensors file: its header is not JSON") from None
    if not isinstance(header, dict) or not all(isinstance(value, dict) for value in header.values()):
        raise RefusedError(f"{path} is no safetensors file: its header is not an object of objects")
    return {key: value for key, value in header.items() if key != "__metadata__"}


def _check_layout(name: str, path: Path, header: dict[str, dict[str, object]]) -> None:
    """Tensors lie one behind the other, each as long as type and shape say, and fill the file to its end."""
    with path.open("rb") as file:
        data = path.stat().st_size - 8 - int(struct.unpack("<Q", file.read(8))[0])
    places = []
    for key, value in header.items():
        place, shape, width = (
            value.get("data_offsets"),
            value.get("shape"),
            WIDTHS.get(str(value.get("dtype"))),
        )
        if width is None:
            raise RefusedError(
                f"adapter {name}: tensor {key[:100]} has type {value.get('dtype')!r}, expected {', '.join(WIDTHS)}"
            )
        if not (_counts(place) and len(place) == 2 and _counts(shape)) or (
            place[1] - place[0] != math.prod(shape) * width
        ):
            raise RefusedError(
                f"adapter {name}: tensor {key[:100]} of shape {shape} lies at {place}, which is not its size"
            )
        places.append((place[0], place[1], key))
    end = 0
    for start, stop, key in sorted(places):
        if start != end or stop > data:
            raise RefusedError(
                f"adapter {name}: tensor {key[:100]} lies at {start} to {stop} of {data} bytes, expected to begin "
                f"at {end}: tensors overlap, leave a hole or reach out of the file"
            )
        end = stop
    if end != data:
        raise RefusedError(f"adapter {name}: {data - end} bytes of {path.name} belong to no tensor")


def _counts(said: object) -> TypeGuard[list[int]]:
    """Whether it is a list of numbers that can count something."""
    return isinstance(said, list) and all(type(one) is int and 0 <= one < 2**48 for one in said)


def shapes(base: Path) -> dict[str, tuple[int, int]]:
    """Linear layers of a base folder that an adapter may change: name -> (out, in)."""
    found = {}
    for file in sorted(base.glob("*.safetensors")):
        for key, value in _header(file).items():
            layer = key.removesuffix(".weight")
            size = value.get("shape")
            if layer.rsplit(".", 1)[-1] in TARGETS and isinstance(size, list) and len(size) == 2:
                found[layer] = (int(size[0]), int(size[1]))
    if not found:
        raise ContractError(
            f"no linear layer named {', '.join(TARGETS)} in {base}; is it a base model folder?"
        )
    return found


def _check_weights(name: str, adapter: Adapter, path: Path, shapes: dict[str, tuple[int, int]]) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    header = _header(path)
    _check_layout(name, path, header)
    expected = {}
    for layer, (rows, columns) in shapes.items():
        if layer.rsplit(".", 1)[-1] in adapter.targets:
            expected[f"base_model.model.{layer}.lora_A.weight"] = [adapter.rank, columns]
            expected[f"base_model.model.{layer}.lora_B.weight"] = [rows, adapter.rank]
    found = {key: value.get("shape") for key, value in header.items()}
    if found != expected:
        odd = sorted(key for key in {*found, *expected} if found.get(key) != expected.get(key))[0]
        raise RefusedError(
            f"adapter {name}: tensor {odd} has shape {found.get(odd)}, the base wants {expected.get(odd)}"
        )
    try:
        tensors = load_file(path)
    except (SafetensorError, ValueError, TypeError, KeyError) as error:
        raise RefusedError(f"adapter {name}: {path.name} cannot be read as safetensors: {error}") from None
    moved = 0.0
    for key, value in tensors.items():
        size = float(abs(value).sum())
        if not math.isfinite(size):
            raise RefusedError(f"adapter {name}: tensor {key} has a value that is not finite")
        if ".lora_B." in key:
            moved += size
    if moved == 0.0:
        raise RefusedError(f"adapter {name} changes nothing: every lora_B is zero")


def names(home: Home) -> tuple[str, ...]:
    """All adapters on disk, by name."""
    if not home.adapters.is_dir():
        return ()
    return tuple(sorted(path.name for path in home.adapters.iterdir() if not path.name.startswith(".")))
