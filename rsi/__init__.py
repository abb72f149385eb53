"""Recursive self-improvement of a deployed language model and its harness, safely, every night.

The names below are the public ones; everything else may change. Each is loaded when it is first asked for.
"""

from importlib import import_module

_PLACES = {
    "Approval": "rsi.records",
    "Deployment": "rsi.settings",
    "Ending": "rsi.night",
    "Home": "rsi.settings",
    "Modes": "rsi.records",
    "RsiError": "rsi.errors",
    "Verdict": "rsi.records",
    "Version": "rsi.records",
    "ingest": "rsi.traces.ingest",
    "open_snapshot": "rsi.store.snapshot",
    "promote": "rsi.registry.promote",
    "rollback": "rsi.registry.promote",
    "run_night": "rsi.night",
}

__all__ = [
    "Approval",
    "Deployment",
    "Ending",
    "Home",
    "Modes",
    "RsiError",
    "Verdict",
    "Version",
    "ingest",
    "open_snapshot",
    "promote",
    "rollback",
    "run_night",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'rsi' has no attribute {name!r}")
    found: object = getattr(import_module(_PLACES[name]), "run" if name == "run_night" else name)
    return found
