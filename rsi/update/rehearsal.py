"""What a role says now and shall go on saying while it learns something else: a price on moving away from it.

Who trains a router on labels alone moves the weights with which it also talks. After Learning without Forgetting
(arXiv 1606.09282), over whole distributions that are not softened: before the first step the weights that a job starts
from answer some requests of its tasks, as chat; from then on each step pays KL(start || policy), in nats a token, on
some of these answers. No text from outside is needed, and nothing held out.

The answers lie in the job's folder, so that whoever goes on with the job rehearses the same. The start's logits are
made again from its last hidden states, which are kept: the head is frozen, and a hidden state is some hundred times
smaller than a vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from torch.utils.checkpoint import checkpoint

from rsi.algorithm import Update
from rsi.errors import ContractError
from rsi.ids import canonical, digest
from rsi.ports import Generation, Prompt
from rsi.record import Record
from rsi.records import Task
from rsi.store.files import write_whole
from rsi.update.prefix import capture, replay
from rsi.update.scoring import HEAD_TOKENS, Decoder, passes, read_whole

FILE = "rehearsal.json"
"""In the job's folder."""

Ask = Callable[[Sequence[Sequence[int]]], Sequence[Generation]]
"""Prompts, as tokens -> greedy answers of the weights that the job starts from."""
Render = Callable[[Prompt], Sequence[int]]
"""A conversation -> tokens up to where the role answers it as chat."""


class Answered(Record):
    """A request, as token ids, and what was answered."""

    prompt: tuple[int, ...]
    response: tuple[int, ...]


class Script(Record):
    """``rehearsal.json``: what a job rehearses."""

    answers: tuple[Answered, ...]
    left_out: int
    """Tasks that were passed over: without a request, with one that is too long, or that the chat template refuses."""


def script(place: Path, settings: Update, tasks: Sequence[Task], render: Render, ask: Ask) -> Script:
    """What the job in a folder rehearses: as it was written there, or made and written.

    Requests are taken in an order that hangs on the names of their tasks alone, each once.

    Raises:
        ContractError: no task has a request that can be rehearsed.
    """
    path, rules = place / FILE, settings.rehearsal
    if path.exists():
        return Script.parse(path.read_bytes())
    asked: dict[tuple[int, ...], None] = {}
    left_out = 0
    for task in sorted(tasks, key=lambda one: digest(one.task_id)):
        if len(asked) == min(rules.requests, settings.steps * rules.prompts):
            break
        prompt = _rendered(task, render)
        if prompt is None or len(prompt) > rules.prompt_tokens:
            left_out += 1
        else:
            asked[prompt] = None
    if not asked:
        raise ContractError(
            f"nothing to rehearse: each of {len(tasks)} tasks has a request of more than {rules.prompt_tokens} tokens, "
            "or none that the chat template takes; raise rehearsal.prompt_tokens of [update], or set "
            "rehearsal.weight = 0"
        )
    said = ask(list(asked))
    answers = [
        Answered(prompt=prompt, response=one.token_ids) for prompt, one in zip(asked, said, strict=True)
    ]
    made = Script(answers=tuple(answers), left_out=left_out)
    write_whole(path, canonical(made.model_dump(mode="json")))
    return made


def _rendered(task: Task, render: Render) -> tuple[int, ...] | None:
    if not task.messages:
        return None
    try:
        return tuple(render(task.messages))
    except ContractError:
        return None


class Rehearsal:
    """Answers of the weights that a job starts from, and how far the policy is from them."""

    def __init__(self, model: Decoder, answers: Sequence[Answered], settings: Update) -> None:
        """`model` has the weights that the job starts from."""
        self._model, self._answers = model, answers
        self._rules, self._whole_prompt = settings.rehearsal, settings.whole_prompt
        size = self._rules.prompts
        with torch.no_grad():
            self._start = [
                state
                for at in range(0, len(answers), size)
                for part in self._parts(range(at, min(at + size, len(answers))))
                for state in self._states(part)
            ]

    def pay(self, step: int) -> float:
        """Add the gradient of what step `step` pays; nats a token, over the answers whose turn it is."""
        count = min(self._rules.prompts, len(self._answers))
        turn = [(step * count + place) % len(self._answers) for place in range(count)]
        tokens = sum(len(self._answers[place].response) for place in turn)
        moved = 0.0
        for part in self._parts(turn):
            before = torch.cat([self._start[place] for place in part])
            share = self._apart(before, torch.cat(self._states(part))) / tokens
            (self._rules.weight * share).backward()
            moved += float(share.detach())
        # A sum of rounded terms may fall a little below what it stands for.
        return max(moved, 0.0)

    def _parts(self, turn: Sequence[int]) -> Iterator[Sequence[int]]:
        """Answers that are in memory at once."""
        answers = [self._answers[place] for place in turn]
        for cut in passes([len(one.prompt) for one in answers], [len(one.response) for one in answers]):
            yield turn[cut]

    def _states(self, part: Sequence[int]) -> list[torch.Tensor]:
        """Hidden states [tokens, width] that predict the tokens of each answer."""
        prompts = [self._answers[place].prompt for place in part]
        responses = [self._answers[place].response for place in part]
        if self._whole_prompt:
            states = read_whole(self._model, prompts, responses)
        else:
            captured = capture(self._model.body, prompts)
            states = replay(self._model.body, captured, range(len(part)), responses)
        return [state[: len(response)] for state, response in zip(states, responses, strict=True)]

    def _apart(self, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
        """Sum of KL(start || policy) over hidden states [tokens, width], the head in chunks."""
        parts = [
            checkpoint(
                _divergence,
                self._model.head,
                before[at : at + HEAD_TOKENS],
                after[at : at + HEAD_TOKENS],
                use_reentrant=False,
            )
            for at in range(0, len(after), HEAD_TOKENS)
        ]
        return torch.stack(parts).sum()


def _divergence(head: torch.nn.Module, start: torch.Tensor, now: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        before = torch.log_softmax(head(start).float(), dim=-1)
    after = torch.log_softmax(head(now).float(), dim=-1)
    return (before.exp() * (before - after)).sum()
