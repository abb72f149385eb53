"""Conversations and words as tokens: the one rendering that serving, evaluation and training share."""

from collections.abc import Sequence

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from rsi.errors import ContractError
from rsi.ports import Prompt
from rsi.records import ChatMessage


def tokens(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    """A conversation as the model reads it, up to where its answer begins.

    Control tokens inside a turn's text are read as plain text: a user cannot end their turn and speak as another.

    Raises:
        ContractError: the chat template refuses the conversation.
    """
    return _render(tokenizer, prompt, answering=True)


def _render(tokenizer: PreTrainedTokenizerBase, prompt: Prompt, *, answering: bool) -> list[int]:
    turns = [{"role": turn.role, "content": turn.content} for turn in prompt]
    try:
        rendered = tokenizer.apply_chat_template(
            turns,
            add_generation_prompt=answering,
            tokenize=True,
            return_dict=True,
            sanitize_control_tokens=True,
        )
    except TemplateError as error:
        raise ContractError(f"the base's chat template refuses this conversation: {error}") from None
    return [int(token) for token in rendered["input_ids"]]


def encode(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Text as it stands, with nothing around it."""
    return [int(token) for token in tokenizer.encode(text, add_special_tokens=False)]


class Dialogue:
    """`rsi.ports.Dialogue` of a tokenizer with a chat template."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Read off the template how a turn ends.

        Raises:
            ContractError: it ends a turn without a special token.
        """
        self._tokenizer = tokenizer
        self._short = (
            ChatMessage(role="user", content="."),
            ChatMessage(role="assistant", content="."),
        )
        self._before = _render(tokenizer, self._short, answering=False)
        special = set(tokenizer.all_special_ids)
        last = max((at for at, token in enumerate(self._before) if token in special), default=-1)
        if last < 0 or encode(tokenizer, ".")[0] in self._before[last + 1 :]:
            raise ContractError(
                "the base's chat template ends an answer without a special token; turns cannot be appended to it"
            )
        self._end = self._before[last]
        self._tail = tuple(self._before[last + 1 :])

    def opening(self, prompt: Prompt) -> tuple[int, ...]:
        """A conversation up to where the first answer begins.

        Raises:
            ContractError: the chat template refuses it.
        """
        return tuple(tokens(self._tokenizer, prompt))

    def between(self, said: Sequence[int], turn: ChatMessage) -> tuple[int, ...]:
        """What follows an answer's ids up to the next answer; see `rsi.ports.Dialogue`.

        Raises:
            ContractError: the chat template refuses such a turn, or writes earlier turns anew for it.
        """
        whole = _render(self._tokenizer, (*self._short, turn), answering=True)
        if whole[: len(self._before)] != self._before:
            raise ContractError(
                f"the base's chat template rewrites what was said before a turn of {turn.role!r}; "
                "let results be told in another role"
            )
        ended = bool(said) and said[-1] == self._end
        return (*(() if ended else (self._end,)), *self._tail, *whole[len(self._before) :])

    def answer(self, text: str) -> tuple[int, ...]:
        """A given answer as it would have been sampled, with the token that ends a turn."""
        return (*encode(self._tokenizer, text), self._end)
