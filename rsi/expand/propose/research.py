"""Probes that AutoResearch kept, as proposals: each was well defined and neither always nor never passed."""

from collections.abc import Iterable

from rsi.expand.material import Material, Want
from rsi.records import Task


def researched(material: Material, want: Want) -> Iterable[Task]:
    """What `rsi.discover.research` kept; nothing where it is off, or from the second round on."""
    if material.research is None or want.turn:
        return ()
    return material.research(want.have, want.most)
