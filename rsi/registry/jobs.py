"""Training jobs as lineage sees them: which adapter came of what. `rsi.update.job` writes their folders."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from rsi.settings import Home


class Trained(NamedTuple):
    """A job that left an adapter."""

    job: str
    """Its digest."""
    adapter: str
    bank: str | None
    warm_start: str | None
    """The adapter that it began with."""


def training(home: Home) -> Iterator[Trained]:
    """All whose folders are there, by digest."""
    for marker in sorted(home.jobs.glob("*/complete.json")):
        adapter = _read(marker).get("adapter")
        if isinstance(adapter, str):
            asked = _read(marker.with_name("job.json"))
            yield Trained(
                marker.parent.name, adapter, _name(asked.get("bank")), _name(asked.get("warm_start"))
            )


def _read(path: Path) -> dict[str, object]:
    try:
        said = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _name(said: object) -> str | None:
    return said if isinstance(said, str) else None
