"""Decontamination measured: copies of held-out items in other clothes, and clean requests on the same topics.

Held out are all items of the shipped suites (652); what is planted and what is clean stands in `planted`. With the
deployment's default bound of 0.33 the test prints:

| planted | copies | recall | precision |
| --- | --- | --- | --- |
| verbatim | 652 | 100% | 99.5% |
| case and spacing | 652 | 100% | 99.5% |
| base64 | 652 | 100% | 99.5% |
| hex | 652 | 100% | 99.5% |
| look-alike and unseen letters | 652 | 100% | 99.5% |
| one word changed | 652 | 99.7% | 99.5% |
| inside a longer request | 652 | 97.9% | 99.5% |
| paraphrase: every word that has a synonym replaced, two at least | 264 | 89.0% | 98.7% |

Precision of a kind sets its finds against the alarms on all clean requests: 3 of 5,203. Ten public items that copy a
held-out one but for a name, a date or a bracket are no clean ones; all ten are found. What is missed inside a longer
request are items of fewer than five words; what is missed of paraphrases has hardly two neighbouring words left.
"""

from collections.abc import Iterable
from itertools import starmap

import pytest

from rsi.settings import Deployment
from rsi.tasks.fingerprint import fingerprints
from rsi.tasks.overlap import HeldOut, Index, Overlap
from rsi.tasks.words import words
from tests.tasks import planted

BARS = {
    "verbatim": 1.0,
    "case and spacing": 1.0,
    "base64": 0.99,
    "hex": 0.98,
    "look-alike and unseen letters": 1.0,
    "inside a longer request": 0.95,
    "one word changed": 0.98,
    "paraphrase": 0.8,
}
"""Least recall by kind."""
PRECISION = 0.99
TEMPLATES = 3300


def found(index: Index, texts: Iterable[str]) -> list[Overlap]:
    """The overlaps of requests, each looked at alone."""
    return [one for one in index.overlaps([[text] for text in texts]) if one]


@pytest.mark.base
def test_planted_overlaps_are_found_and_clean_requests_pass(smollm, capsys):
    """Recall and precision by kind are printed; verbatim and case are all found, and hardly a clean one is."""
    held = planted.held_out()
    prints = zip(held, fingerprints(list(held.values())), strict=True)
    index = Index(starmap(HeldOut, prints), Deployment().expand.overlap)
    clean = planted.clean(TEMPLATES)
    distinct = {" ".join(words(text)): text for texts in clean.values() for text in texts.values()}
    alarms = found(index, distinct.values())
    dressed = planted.planted(list(held.values()))
    lines, recalls, precisions = [f"{'planted':30} copies  found  recall  precision"], {}, {}
    for kind, texts in dressed.items():
        hits = len(found(index, texts))
        recalls[kind], precisions[kind] = hits / len(texts), hits / (hits + len(alarms))
        lines.append(f"{kind:30} {len(texts):6} {hits:6} {recalls[kind]:7.1%} {precisions[kind]:10.1%}")
    lines.append(f"clean: {len(alarms)} alarms on {len(distinct)} different requests")
    for source, texts in clean.items():
        lines.append(f"  {source:28} {len(found(index, texts.values())):3} of {len(texts)}")
    copies = planted.copies()
    lines.append(
        f"public copies of held-out items: {len(found(index, copies.values()))} of {len(copies)} found"
    )
    with capsys.disabled():
        print("", *lines, sep="\n")

    assert min(map(len, dressed.values())) >= 200
    assert sum(map(len, dressed.values())) >= 500
    assert len(distinct) >= 5000
    assert {kind: recall for kind, recall in recalls.items() if recall < BARS[kind]} == {}
    assert {kind: one for kind, one in precisions.items() if one < PRECISION and kind != "paraphrase"} == {}
    assert len(alarms) <= (1 - PRECISION) * len(distinct)
