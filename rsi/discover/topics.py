"""What the traces of one mode are about: clusters of their texts, within the mode's signature.

Sampling of big modes: of the traces of a mode at most `READ` are read, and of those at most `CLUSTERED` are
clustered (HDBSCAN on the vectors); both are those with the smallest hash of their id, so that a mode that grows keeps
its sample. The other texts go to the topic whose centre is nearest, where they are as near to it as nine in ten
of the topic's own. What fits no topic has none.

A topic is known again from the night before by its members: last night's topic is the one tonight that holds most
of the members it kept, at least half of them; else the one with which it shares at least half of the words. The
order of the traces does not matter.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rsi.discover.vectors import TfidfSvd, terms
from rsi.ids import digest
from rsi.mode_parts import Topic
from rsi.ports import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

READ = 10_000
CLUSTERED = 2_000
LEAST = 20
"""Traces with a text from which a mode has topics."""
MEMBERS = 50
_SMALLEST = 5
_SHARE = 0.04
_TERMS = 8
_SAME = 0.5
_NEAR = 0.1
"""Share of a topic's own members that may lie farther from its centre than what is added."""


class Found(NamedTuple):
    """The topics of a mode."""

    topics: tuple[Topic, ...]
    """Most traces first."""
    of: Mapping[str, str]
    """Trace -> topic, where it has one."""


NOTHING = Found((), {})


def sampled(traces: Sequence[str]) -> list[str]:
    """The traces of a mode whose texts are read."""
    return sorted(traces, key=digest)[:READ]


def topics(
    mode_id: str, texts: Mapping[str, str], known: Sequence[Topic] = (), embedder: Embedder | None = None
) -> Found:
    """The topics of a mode; `texts` by trace, `known` those of the night before."""
    if len(texts) < LEAST:
        return NOTHING
    traces = sorted(texts, key=digest)
    said = [texts[one] for one in traces]
    vectors = (embedder or TfidfSvd()).embed(said)
    groups = _grown(vectors, _clusters(vectors[:CLUSTERED]))
    if not groups:
        return NOTHING
    words = terms(said, groups, _TERMS)
    members = [[traces[at] for at in group] for group in groups]
    names = _names(mode_id, members, words, known)
    found = [
        Topic(topic_id=name, terms=word, count=len(held), members=tuple(held[:MEMBERS]))
        for name, word, held in zip(names, words, members, strict=True)
    ]
    of = {trace: name for name, held in zip(names, members, strict=True) for trace in held}
    return Found(tuple(sorted(found, key=lambda one: (-one.count, one.topic_id))), of)


def _clusters(vectors: "NDArray[np.float64]") -> list[list[int]]:
    from sklearn.cluster import HDBSCAN

    filled = np.flatnonzero(np.any(vectors != 0, axis=1))
    smallest = max(_SMALLEST, int(_SHARE * len(filled)))
    if len(filled) < 2 * smallest:
        return []
    labels = HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(vectors[filled])
    return [[int(at) for at in filled[labels == label]] for label in range(int(labels.max()) + 1)]


def _grown(vectors: "NDArray[np.float64]", clusters: Sequence[Sequence[int]]) -> list[list[int]]:
    """The clusters, with every other text that is near enough to the nearest of their centres."""
    if not clusters:
        return []
    taken = {at for cluster in clusters for at in cluster}
    centres = np.stack([_centre(vectors[list(cluster)]) for cluster in clusters])
    near = np.round(vectors @ centres.T, 6)
    bounds = [np.quantile(near[list(cluster), place], _NEAR) for place, cluster in enumerate(clusters)]
    best = near.argmax(axis=1)
    grown = [list(cluster) for cluster in clusters]
    for at in range(len(vectors)):
        if at not in taken and near[at, best[at]] >= bounds[best[at]]:
            grown[best[at]].append(at)
    return grown


def _centre(vectors: "NDArray[np.float64]") -> "NDArray[np.float64]":
    centre = vectors.mean(axis=0)
    return np.asarray(centre / (np.linalg.norm(centre) or 1.0))


def _names(
    mode_id: str,
    members: Sequence[Sequence[str]],
    words: Sequence[tuple[str, ...]],
    known: Sequence[Topic],
) -> list[str]:
    """Last night's ids where they are known again, new ones elsewhere."""
    held = [frozenset(one) for one in members]
    pairs = []
    for old in known:
        for at, now in enumerate(held):
            shared = len(now.intersection(old.members)) / len(old.members)
            alike = len(set(words[at]).intersection(old.terms)) / max(len({*words[at], *old.terms}), 1)
            if max(shared, alike) >= _SAME:
                pairs.append((-shared, -alike, old.topic_id, at))
    names: dict[int, str] = {}
    for _, _, name, at in sorted(pairs):
        if at not in names and name not in names.values():
            names[at] = name
    for at, traces in enumerate(members):
        if at not in names:
            names[at] = f"c-{digest([mode_id, words[at], min(traces)])[:8]}"
    return [names[at] for at in range(len(members))]
