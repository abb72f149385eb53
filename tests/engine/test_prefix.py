"""Where prompts are cut, how they are grouped, and what is kept."""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from rsi.engine import prefix
from rsi.engine.prefix import PrefixCache, Tokens, passes, shared_start

TURN, END = 1, 2
SPECIAL = {TURN, END}


def chat(system: int, *user: int) -> Tokens:
    """A ChatML-like prompt: a system text of so many tokens, a user's words, and where the answer begins."""
    return (TURN, 10, *range(100, 100 + system), END, TURN, 11, *user, END, TURN, 12)


def test_the_cut_is_after_the_system_text() -> None:
    """Requests that begin alike, unlike, or come alone are all cut at the same place."""
    cut = len(chat(9)) - 4
    assert chat(9)[cut - 1] == TURN
    assert shared_start([chat(9, 50, 51), chat(9, 60)], SPECIAL) == cut
    assert shared_start([chat(9, 50, 51), chat(9, 50, 52), chat(9, 50)], SPECIAL) == cut
    assert shared_start([chat(9, 70)], SPECIAL) == cut


def test_a_long_shared_text_is_shared_whole() -> None:
    """Where users' words go on alike for long, the cut is where they part."""
    words = tuple(range(200, 260))
    assert shared_start([chat(9, *words, 1000), chat(9, *words, 1001)], SPECIAL) == len(chat(9)) - 3 + len(
        words
    )


def test_what_is_not_worth_sharing() -> None:
    """No prompts, short starts, different systems, and prompts without turns share nothing."""
    assert shared_start([], SPECIAL) == 0
    assert shared_start([chat(2, 50), chat(2, 60)], SPECIAL) == 0
    assert shared_start([chat(9, 50), (TURN, 11, 50)], SPECIAL) == 0
    assert shared_start([tuple(range(100, 150))], SPECIAL) == 0
    assert shared_start([(), chat(9)], SPECIAL) == 0


@given(st.lists(st.lists(st.integers(0, 3), max_size=30).map(tuple), max_size=6))
def test_the_cut_is_shared_and_leaves_something(prompts: list[Tokens]) -> None:
    """Whatever the prompts: equal up to the cut, a token or more left of each, in any order the same."""
    cut = shared_start(prompts, SPECIAL)
    assert cut == 0 or cut >= prefix.SHORTEST
    assert all(prompt[:cut] == prompts[0][:cut] and len(prompt) > cut for prompt in prompts if cut)
    assert shared_start(prompts[::-1], SPECIAL) == cut


@given(st.lists(st.integers(1, 400), max_size=120))
def test_passes_cover_every_prompt_once(lengths: list[int]) -> None:
    """Each place is in one pass; passes keep their bounds, pad little, and are the same in any order."""
    prompts = [(place,) * length for place, length in enumerate(lengths)]
    found = passes(prompts)
    assert sorted(place for group in found for place in group) == list(range(len(prompts)))
    for group in found:
        longest = max(lengths[place] for place in group)
        assert len(group) <= prefix.ROWS and (len(group) == 1 or len(group) * longest <= prefix.PASS_TOKENS)
        padding = len(group) * longest - sum(lengths[place] for place in group)
        assert len(group) <= 4 or padding <= 0.15 * len(group) * longest
    order = list(range(len(prompts)))
    random.Random(0).shuffle(order)
    again = passes([prompts[place] for place in order])
    assert [[prompts[order[place]] for place in group] for group in again] == [
        [prompts[place] for place in group] for group in found
    ]


def test_a_pass_holds_so_many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long prompts are run in smaller passes, one alone if it must be."""
    monkeypatch.setattr(prefix, "PASS_TOKENS", 100)
    prompts = [tuple(range(40))] * 5 + [tuple(range(300))]
    assert [len(group) for group in passes(prompts)] == [2, 2, 1, 1]
    assert [len(group) for group in passes(prompts, start=11)] == [1, 1, 1, 1, 1, 1]


def test_kept_prefixes() -> None:
    """Each (adapter, tokens) is computed once while kept; the least recently used goes, or by adapter."""
    kept = PrefixCache(20)
    made: list[tuple[str | None, Tokens]] = []

    def ask(adapter: str | None, tokens: Tokens) -> None:
        def compute() -> prefix.KeyValues:
            made.append((adapter, tokens))
            return ((torch.tensor(len(made)), torch.tensor(0)),)

        kept.get(adapter, tokens, compute)

    one, two, three = (tuple(range(n, n + 8)) for n in (0, 10, 20))
    for adapter, tokens in [(None, one), ("a", one), (None, one), ("b", two), (None, one), ("a", one)]:
        ask(adapter, tokens)
    assert made == [(None, one), ("a", one), ("b", two), ("a", one)]
    assert len(kept) == 2
    kept.forget("a")
    assert len(kept) == 1
    ask(None, one)
    ask("a", one)
    assert made[4:] == [("a", one)]
    ask(None, tuple(range(50)))
    assert len(kept) == 2, "a prefix larger than the whole is not kept and displaces nothing"
    ask(None, three)
    ask("a", one)
    assert made[5:] == [(None, tuple(range(50))), (None, three)]
