"""Turns that go on from what was read before, against engines that read everything anew."""

from pathlib import Path

import pytest
import torch

from rsi.engine.local import LocalEngine
from rsi.ports import Generation
from tests.engine.adapters import make_adapter

TOLD = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14], [5, 6, 7], [20, 21]]
"""What is said between two answers, by row."""
TURNS, TOKENS = 3, 5


@pytest.fixture(scope="module")
def lora(tiny_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the adapters `one` and `two`."""
    root = tmp_path_factory.mktemp("turns")
    make_adapter(tiny_base, root / "one", seed=1)
    make_adapter(tiny_base, root / "two", seed=2)
    return root


def engine(tiny_base: Path, lora: Path) -> LocalEngine:
    """An engine that has read nothing yet."""
    made = LocalEngine(tiny_base, "b" * 64)
    made.load("one", lora / "one")
    made.load("two", lora / "two")
    return made


def rows() -> list[list[int]]:
    """Prompts with a common start, the last two equal."""
    common = [1, *range(30, 45), 1]
    ends = [[50, 51], [60], [70, 71, 72, 73, 74, 75, 76, 77], [80, 81, 82], [80, 81, 82]]
    return [common + end for end in ends]


def converse(asked: LocalEngine, temperature: float, *, fresh: bool) -> list[list[Generation]]:
    """Some turns, each prompt the one before with its answer and what was told; `fresh` forgets between them."""
    prompts, found = rows(), []
    for turn in range(TURNS):
        if fresh:
            asked.generate_tokens([[3, 4]], None, 1, 0.0, [0])
        said = asked.generate_tokens(
            prompts, "one", TOKENS, temperature, [turn * 10 + row for row in range(5)]
        )
        found.append(said)
        prompts = [
            [*prompt, *one.token_ids, *told] for prompt, one, told in zip(prompts, said, TOLD, strict=True)
        ]
    return found


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_turns_that_go_on_say_what_turns_read_anew_say(
    tiny_base: Path, lora: Path, temperature: float
) -> None:
    """The same tokens, log-probs but for last bits."""
    going = converse(engine(tiny_base, lora), temperature, fresh=False)
    anew = converse(engine(tiny_base, lora), temperature, fresh=True)

    for ours, theirs in zip(going, anew, strict=True):
        assert [one.token_ids for one in ours] == [one.token_ids for one in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_only_new_tokens_are_read_and_equal_prompts_once(tiny_base: Path, lora: Path) -> None:
    """The first turn reads four prompts of five; the second what was told behind the answer's last token."""
    asked = engine(tiny_base, lora)
    shapes: list[tuple[int, ...]] = []
    asked.model.get_decoder().register_forward_pre_hook(
        lambda _, __, given: shapes.append(tuple(given["input_ids"].shape)), with_kwargs=True
    )

    said = asked.generate_tokens(rows(), "one", 1, 0.0, range(5))
    first, shapes = sum(wide * high for high, wide in shapes), []
    prompts = [[*row, *one.token_ids, 90, 91] for row, one in zip(rows(), said, strict=True)]
    asked.generate_tokens(prompts, "one", 1, 0.0, range(5))

    assert first == 17 + 3 * 3 + 8, "the shared start, three rests padded to three, and a long one"
    assert shapes == [(4, 3)]


def test_a_call_gives_the_same_bits_in_whatever_order(tiny_base: Path, lora: Path) -> None:
    """Also where its rows go on from others, some of them with equal words behind unequal ones."""
    found = []
    for step in (1, -1):
        asked = engine(tiny_base, lora)
        said = asked.generate_tokens(rows()[::step], "one", TOKENS, 1.0, list(range(5))[::step])
        prompts = [[*row, *one.token_ids, 90, 91] for row, one in zip(rows()[::step], said, strict=True)]
        found.append(asked.generate_tokens(prompts, "one", TOKENS, 1.0, list(range(5))[::step])[::step])

    assert found[0] == found[1]


def test_another_adapter_goes_on_from_nothing_of_this_one(tiny_base: Path, lora: Path) -> None:
    """Nor does a call go on from the last but one."""
    asked, bare = engine(tiny_base, lora), engine(tiny_base, lora)
    said = asked.generate_tokens(rows(), "one", TOKENS, 0.0, range(5))
    prompts = [[*row, *one.token_ids, 90, 91] for row, one in zip(rows(), said, strict=True)]

    assert asked.generate_tokens(prompts, "two", 3, 0.0, range(5)) == bare.generate_tokens(
        prompts, "two", 3, 0.0, range(5)
    )
    assert asked.generate_tokens(prompts, "one", 3, 0.0, range(5)) == bare.generate_tokens(
        prompts, "one", 3, 0.0, range(5)
    )


def test_what_finds_no_room_is_read_anew(
    tiny_base: Path, lora: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some rows go on and others do not, in one pass, to the same answers."""
    monkeypatch.setattr("rsi.engine.local.TURN_TOKENS", 20)
    going = converse(engine(tiny_base, lora), 0.0, fresh=False)
    anew = converse(engine(tiny_base, lora), 0.0, fresh=True)

    assert [[one.token_ids for one in turn] for turn in going] == [
        [one.token_ids for one in turn] for turn in anew
    ]


@pytest.mark.base
def test_a_real_model_goes_on_as_a_plain_forward_does(smollm: Path) -> None:
    """Log-probs of a second turn are those of its whole prompt, read by itself."""
    asked = LocalEngine(smollm, "b" * 64)
    prompts = [[1, *range(200, 220), 1, 300 + row, 301] for row in range(3)]
    said = asked.generate_tokens(prompts, None, 4, 1.0, range(3))
    prompts = [[*row, *one.token_ids, 400, 401] for row, one in zip(prompts, said, strict=True)]
    for row, one in zip(prompts, asked.generate_tokens(prompts, None, 4, 1.0, range(3)), strict=True):
        with torch.inference_mode():
            logits = asked.model(input_ids=torch.tensor([[*row, *one.token_ids]])).logits[0]
        plain = logits.log_softmax(-1)[len(row) - 1 : -1].gather(1, torch.tensor(one.token_ids)[:, None])
        assert one.logprobs == pytest.approx(plain[:, 0].tolist(), abs=1e-4)
