"""What a role says now and shall go on saying while it learns something else: a price on moving away from it.

Who trains a router on labels alone moves the weights with which it also talks. After Learning without Forgetting
(arXiv 1606.09282), with the full distribution instead of its temperature-softened one: before the first step the
weights that a job starts from answer some requests of its tasks, as chat; from then on each step pays
KL(start || policy), in nats a token, on some of these answers. No text from outside is needed, and nothing held out.

The start's logits are made again from its last hidden states, which are kept: the head is frozen, and a hidden state
is some hundred times smaller than a vocabulary.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch.utils.checkpoint import checkpoint

from rsi.algorithm import Rehearse
from rsi.engine import chat
from rsi.engine.local import LocalEngine
from rsi.harness import hcp
from rsi.ids import digest
from rsi.records import Task
from rsi.update.prefix import capture, replay
from rsi.update.scoring import HEAD_TOKENS, Decoder

PROMPT_TOKENS = 512
"""Longer requests are not rehearsed: they would cost more than the steps do."""


class Answered(NamedTuple):
    """A request, as tokens, and what was answered."""

    prompt: Sequence[int]
    response: Sequence[int]


def answered(
    engine: LocalEngine, adapter: str | None, harness: hcp.Harness, role: str, tasks: Sequence[Task], rules: Rehearse
) -> list[Answered]:
    """Greedy answers of a role to some requests, drawn by the names of their tasks; fewer where there are fewer."""
    asked: dict[tuple[int, ...], None] = {}
    for task in sorted(tasks, key=lambda one: digest(one.task_id)):
        if len(asked) == rules.requests:
            break
        tokens = tuple(chat.tokens(engine.tokenizer, harness.answer_prompt(role, task.messages)))
        if len(tokens) <= PROMPT_TOKENS:
            asked[tokens] = None
    said = engine.generate_tokens(list(asked), adapter, rules.tokens, 0.0, [0] * len(asked))
    return [Answered(prompt, one.token_ids) for prompt, one in zip(asked, said, strict=True)]


class Rehearsal:
    """Answers of the weights that a job starts from, and how far the policy is from them."""

    def __init__(self, model: Decoder, answers: Sequence[Answered], rules: Rehearse) -> None:
        """`model` has the weights that the job starts from."""
        self._model, self._answers, self._rules = model, answers, rules
        with torch.no_grad():
            self._start = [
                state
                for at in range(0, len(answers), rules.prompts)
                for state in self._states(answers[at : at + rules.prompts])
            ]

    def pay(self, step: int) -> float:
        """Add the gradient of what step `step` pays; nats a token, of the answers whose turn it is."""
        count = min(self._rules.prompts, len(self._answers))
        turn = [(step * count + place) % len(self._answers) for place in range(count)]
        start = torch.cat([self._start[place] for place in turn])
        now = torch.cat(self._states([self._answers[place] for place in turn]))
        parts = [
            checkpoint(
                _moved, self._model.head, start[at : at + HEAD_TOKENS], now[at : at + HEAD_TOKENS], use_reentrant=False
            )
            for at in range(0, len(now), HEAD_TOKENS)
        ]
        moved = torch.stack(parts).sum() / len(now)
        (self._rules.weight * moved).backward()
        return float(moved.detach())

    def _states(self, answers: Sequence[Answered]) -> list[torch.Tensor]:
        """Hidden states [tokens, width] that predict the tokens of each answer."""
        captured = capture(self._model.body, [one.prompt for one in answers])
        states = replay(self._model.body, captured, range(len(answers)), [one.response for one in answers])
        return [state[: len(one.response)] for state, one in zip(states, answers, strict=True)]


def _moved(head: torch.nn.Module, start: torch.Tensor, now: torch.Tensor) -> torch.Tensor:
    """Sum of KL(start || now) over positions."""
    with torch.no_grad():
        before = torch.log_softmax(head(start).float(), dim=-1)
    after = torch.log_softmax(head(now).float(), dim=-1)
    return (before.exp() * (before - after)).sum()
