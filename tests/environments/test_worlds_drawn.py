"""What all generators of tasks have in common."""

from collections import Counter
from string import Formatter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from rsi.engine.chat import Dialogue
from rsi.environments import kind
from rsi.environments.generator import KEPT
from rsi.harness.loop import Play, Table, demonstrate
from rsi.harness.rules import Rules
from rsi.records import Pool
from rsi.verifiers import final_state
from tests.worlds_made import GENERATORS

FROZEN = {
    "chains": ["w-0e493fd8f4e023f9", "w-b4a8ca23e1fb5286", "w-3bc55f53b0451247"],
    "desk": ["w-b14029c372d05b8b", "w-22f4d0f1e47e9249", "w-7d39684809621007"],
}
worlds = pytest.mark.parametrize("name", sorted(GENERATORS))


@worlds
@given(data=st.data(), seed=st.integers(0, 2**64), pool=st.sampled_from(list(Pool)))
@settings(max_examples=60)
def test_a_seed_gives_the_same_task_to_the_byte(name, data, seed, pool):
    """And what is asked lies in the pool it says, in a phrasing of that pool."""
    level = data.draw(st.sampled_from(GENERATORS[name].levels))
    one, again = (GENERATORS[name].task(seed, level, pool) for _ in range(2))

    assert one.model_dump_json() == again.model_dump_json()
    assert (one.level, one.pool) == (level, pool)


@worlds
def test_the_generator_stays_what_it_was(name):
    """Frozen figures name tasks by seed: a change here is a change of every task."""
    first = kind(name).tasks(3, 0, Pool.TRAIN)

    assert [one.task_id for one in first] == FROZEN[name]
    assert kind(name).tasks(3, 0, Pool.TRAIN) == first


@worlds
@given(data=st.data(), one=st.integers(100, 999), other=st.integers(100, 999))
def test_a_pool_follows_from_what_is_asked_alone(name, data, one, other):
    """Not from the words: a family and its values have one pool."""
    family = data.draw(st.sampled_from(sorted(GENERATORS[name].phrasings)))
    pool_of, slots = GENERATORS[name].pool_of, {"ticket": one, "amount": other}

    assert pool_of(family, slots) is pool_of(family, dict(reversed(slots.items())))


def test_eight_tenths_are_for_training():
    """The rest is held out, half of it reworded."""
    shares = Counter(GENERATORS["desk"].pool_of("close", {"ticket": number}) for number in range(4000))

    assert shares[Pool.TRAIN] == pytest.approx(3200, abs=120)
    assert shares[Pool.HELD_OUT] == pytest.approx(400, abs=80)


@worlds
def test_every_family_has_many_phrasings_with_the_same_fields(name):
    """Eight to train on at least, and some that training never uses."""
    known = GENERATORS[name].phrasings
    for family, phrasings in known.items():
        fields = {frozenset(field for _, field, _, _ in Formatter().parse(one) if field) for one in phrasings}
        assert len(fields) == 1, family
        assert len(set(phrasings)) == len(phrasings) >= 8 + KEPT
    every = [one for phrasings in known.values() for one in phrasings]
    assert len(set(every)) == len(every)


@pytest.mark.base
@pytest.mark.parametrize("name", ["desk", "long-chains"])
def test_prompts_and_answers_are_short_for_the_real_tokenizer(name, smollm):
    """Up to 128 tokens before the first answer, up to 24 an answer, with its end."""
    table = Table(Dialogue(AutoTokenizer.from_pretrained(smollm)), Rules(turns=7), final_state.check)
    for pool in Pool:
        tasks = kind(name).tasks(120, 5, pool)
        for one in sorted(tasks, key=lambda one: len(one.request))[-20:]:
            shown = demonstrate(Play(one, 0, kind(name).open), table)
            assert shown.turns[0].end <= 128, one.request
            assert all(turn.end - turn.start <= 24 for turn in shown.turns if turn.speaker == "answer")
            assert shown.reward == 1
