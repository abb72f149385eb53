"""Conversations and words as tokens: the one rendering that serving, evaluation and training share."""

from jinja2 import TemplateError
from transformers import PreTrainedTokenizerBase

from rsi.errors import ContractError
from rsi.ports import Prompt


def tokens(tokenizer: PreTrainedTokenizerBase, prompt: Prompt) -> list[int]:
    """A conversation as the model reads it, up to where its answer begins.

    Control tokens inside a turn's text are read as plain text: a user cannot end their turn and speak as another.

    Raises:
        ContractError: the chat template refuses the conversation.
    """
    turns = [{"role": turn.role, "content": turn.content} for turn in prompt]
    try:
        rendered = tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, tokenize=True, return_dict=True, sanitize_control_tokens=True
        )
    except TemplateError as error:
        raise ContractError(f"the base's chat template refuses this conversation: {error}") from None
    return [int(token) for token in rendered["input_ids"]]


def encode(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """Text as it stands, with nothing around it."""
    return [int(token) for token in tokenizer.encode(text, add_special_tokens=False)]
