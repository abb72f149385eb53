"""Contracts for the tiny model at the service desk."""

from pathlib import Path

import tomlkit

from rsi.gate import fingerprints
from rsi.gate.suites import digest_of
from rsi.gate.suites.worlds import Worlds
from rsi.ids import digest
from tests import night_made

DRAWN: dict[str, object] = {
    "source": "environment",
    "environment": "desk",
    "pool": "reworded",
    "seed": 3,
    "count": 4,
}


def contracts(root: Path) -> Path:
    """The tiny contract of routing, and one of the desk that has routing as its guard."""
    night_made.contracts(root)
    folder = root / "suites/small-desk/v1"
    folder.mkdir(parents=True)
    items = Worlds.model_validate({**DRAWN, "digest": "0" * 64}).draw()
    about = {"name": "small-desk", "version": 1, "verifier": "final_state", "hop": "world", "role": "L1"}
    drawn = {**DRAWN, "digest": digest([one.model_dump(mode="json") for one in items])}
    (folder / "suite.toml").write_text(tomlkit.dumps({**about, "description": "Episodes.", "items": drawn}))
    fingerprints.write(folder)
    bars = {"min_items": 1, "margin": 0.9, "champion_low": 0.0, "champion_high": 1.0, "max_tokens": 1}
    contract = {
        "schema_version": 1,
        "name": "agent/v1",
        "anchor": "genesis",
        "target": {
            "suite": "small-desk/v1",
            "digest": digest_of(folder),
            "min_items": 4,
            "min_hard_items": 0,
            "min_accuracy": 0.0,
            "max_tokens": 8,
        },
        "guards": [
            {"suite": "tiny-routing/v1", "digest": digest_of(root / "suites/tiny-routing/v1"), **bars}
        ],
    }
    (root / "gate/agent").mkdir()
    (root / "gate/agent/v1.toml").write_text(tomlkit.dumps(contract))
    return root
