"""Topics within a mode: the same in any order, and known again when the mode has grown."""

import random

import numpy as np
import pytest

from rsi.discover.topics import LEAST, MEMBERS, topics
from rsi.ids import digest

KINDS = {
    "bags": "luggage suitcase bags weight overhead checked carry allowance",
    "food": "meal vegan dinner snack allergy breakfast kosher drinks",
    "seat": "window aisle legroom row exit recline upgrade middle",
}


def texts(start: int, count: int) -> dict[str, str]:
    """So many requests of three kinds, in changing words; ids say the kind."""
    found = {}
    for number in range(start, start + count):
        kind = sorted(KINDS)[number % 3]
        found[f"{kind}-{number}"] = "about " + " ".join(random.Random(number).sample(KINDS[kind].split(), 5))
    return found


def test_topics_are_the_kinds_of_requests() -> None:
    """Each with its words, its count and members of its own."""
    found = topics("m-1", texts(0, 90))

    assert len(found.topics) == 3
    for topic in found.topics:
        (kind,) = {member.split("-")[0] for member in topic.members}
        assert set(topic.terms) <= set(KINDS[kind].split())
        assert len(topic.members) == min(topic.count, MEMBERS)
    assert sum(one.count for one in found.topics) >= 80
    assert all(trace in texts(0, 90) for trace in found.of)


@pytest.mark.parametrize("seed", range(5))
def test_order_does_not_matter(seed: int) -> None:
    """The same texts in another order give the same topics, byte for byte."""
    said = texts(0, 90)
    shuffled = dict(random.Random(seed).sample(list(said.items()), len(said)))

    assert digest([one.members for one in topics("m-1", said).topics]) == digest(
        [one.members for one in topics("m-1", shuffled).topics]
    )
    assert topics("m-1", said) == topics("m-1", shuffled)


def test_topics_are_known_again_when_the_mode_grows() -> None:
    """Twice as many texts, and ten times: the ids stay; a new kind gets a new one."""
    first = topics("m-1", texts(0, 90))
    second = topics("m-1", texts(0, 180), first.topics)
    third = topics("m-1", texts(0, 900), second.topics)
    pets = {
        f"pets-{number}": f"my dog cat {'kennel vet' if number % 2 else 'cage paws'} flies"
        for number in range(60)
    }
    fourth = topics("m-1", {**texts(0, 180), **pets}, second.topics)

    ids = {one.topic_id for one in first.topics}
    assert ids == {one.topic_id for one in second.topics} == {one.topic_id for one in third.topics}
    assert ids < {one.topic_id for one in fourth.topics}


def test_few_texts_or_none_have_no_topics() -> None:
    """Nothing is clustered below a least number, nor what says no word."""
    assert topics("m-1", texts(0, LEAST - 1)).topics == ()
    assert topics("m-1", {f"t{number}": "12 34" for number in range(50)}).topics == ()


def test_another_embedder_can_take_the_place() -> None:
    """Whatever turns texts into rows of length one."""

    class ByLetter:
        def embed(self, said):  # type: ignore[no-untyped-def]
            rows = np.zeros((len(said), 3))
            for at, text in enumerate(said):
                rows[
                    at,
                    sorted(KINDS).index(next(k for k in KINDS if set(text.split()) & set(KINDS[k].split()))),
                ] = 1
            return rows

    found = topics("m-1", texts(0, 90), embedder=ByLetter())
    assert sorted(one.count for one in found.topics) == [30, 30, 30]
