"""The demo's labelled requests: some go through the gateway, the others become traces of earlier days."""

import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import orjson
from pydantic import ValidationError

from rsi import assets
from rsi.errors import ContractError
from rsi.ids import canonical
from rsi.records import Record
from rsi.settings import PROJECT

FILE = PROJECT / "data" / "requests" / "traffic.jsonl"
SEED = 29


class Request(Record):
    """One request with the role that should answer it."""

    id: str
    label: str
    """The role."""
    hard: bool
    source: str
    """own, or the public package the text is taken from."""
    text: str


def read(path: Path = FILE) -> tuple[Request, ...]:
    """All labelled requests, with the texts of public ones looked up.

    Raises:
        ContractError: the file is missing, a line is no request, or an asset is not there.
    """
    if not path.exists():
        raise ContractError(
            f"no labelled requests at {path}; the demo runs from a checkout of the repository"
        )
    return tuple(
        _request(line, path, number) for number, line in enumerate(path.read_bytes().splitlines(), 1)
    )


def _request(line: bytes, path: Path, number: int) -> Request:
    try:
        said = orjson.loads(line)
        ref = said.pop("ref", None)
        if ref is not None:
            said["text"] = assets.resolve(assets.PublicRef.model_validate(ref))
        return Request.model_validate(said)
    except (ValidationError, orjson.JSONDecodeError, AttributeError) as error:
        raise ContractError(f"{path} line {number} is no labelled request: {error}") from None


def sample(requests: Sequence[Request], count: int, seed: int = SEED) -> tuple[Request, ...]:
    """`count` of them, as many of each label as the others up to one, mixed; the same for the same seed."""
    draw = random.Random(seed)
    pools: dict[str, list[Request]] = defaultdict(list)
    for one in sorted(requests, key=lambda request: request.id):
        pools[one.label].append(one)
    for pool in pools.values():
        draw.shuffle(pool)
    labels = sorted(pools)
    turns = range(max(map(len, pools.values()), default=0))
    chosen = [pools[label][turn] for turn in turns for label in labels if turn < len(pools[label])][:count]
    draw.shuffle(chosen)
    return tuple(chosen)


def past_log(requests: Sequence[Request]) -> bytes:
    """Chat JSONL of a time before there was a router: a request, and by its label who should have answered."""
    return b"".join(
        canonical(
            {
                "id": one.id,
                "messages": [{"role": "user", "content": one.text}],
                "scores": [
                    {"name": "route", "correction": one.label, "source": "label", "basis": "written label"}
                ],
            }
        )
        + b"\n"
        for one in requests
    )
