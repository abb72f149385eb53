"""What the local engine reads from disk: the base model with its tokenizer, and LoRA folders laid over it.

Only safetensors are read, nothing is fetched, and whatever does not fit is refused: an adapter that is
silently not applied answers as the base does, and nobody notices.
"""

from pathlib import Path

import torch
from peft import PeftModel
from peft.tuners.tuners_utils import BaseTunerLayer
from transformers import Cache, DynamicCache, PreTrainedModel, PreTrainedTokenizerBase
from transformers.cache_utils import DynamicLayer

from rsi.engine.prefix import KeyValues
from rsi.errors import ContractError, IntegrityError
from rsi.ids import digest_files, safe_name
from rsi.settings import quiet_dependencies

ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors")
TURN_END = "<|im_end|>"
"""Ends a turn in ChatML, whatever the configuration calls the end of text."""


def read_base(folder: Path) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model in float32, frozen, and its tokenizer.

    Raises:
        ContractError: no such folder, no chat template, or an architecture that this engine does not run.
        IntegrityError: weights are missing or unreadable.
    """
    quiet_dependencies()
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    tokenizer = read_tokenizer(folder)
    logging.disable_progress_bar()
    try:
        model, read = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    except SafetensorError as error:
        raise IntegrityError(f"the weights in {folder} cannot be read: {error}") from None
    except (OSError, ValueError) as error:
        raise ContractError(f"{folder} is no base model this engine can run: {error}") from None
    lacking = sorted(map(str, [*read["missing_keys"], *read["mismatched_keys"]]))
    if lacking:
        raise IntegrityError(f"{folder} lacks weights of its model: {lacking[0]} ({len(lacking)} in all)")
    model.requires_grad_(False).train(False)
    _check(model, folder)
    return model, tokenizer


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """The tokenizer of a base model, with its chat template.

    Raises:
        ContractError: no such folder, no tokenizer in it, or one without a chat template.
    """
    quiet_dependencies()
    from transformers import AutoTokenizer

    if not (folder / "config.json").is_file():
        raise ContractError(f"{folder} is no base model: it must hold config.json, tokenizer and safetensors")
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise ContractError(f"{folder} is no base model this engine can run: {error}") from None
    if not tokenizer.chat_template:
        raise ContractError(f"the tokenizer in {folder} has no chat template to render conversations with")
    return tokenizer


def _check(model: PreTrainedModel, folder: Path) -> None:
    """Refuse models for which right padding, or logits of the last hidden state alone, would be wrong."""
    kinds = {type(layer).__name__ for layer in DynamicCache(config=model.config).layers}
    if kinds != {DynamicLayer.__name__}:
        raise ContractError(
            f"{folder} keeps {', '.join(sorted(kinds))}; the local engine runs full attention only: serve "
            "this base with an OpenAI-compatible server and set `engine` to its URL"
        )
    with torch.inference_mode():
        ids = torch.arange(8)[None, :] % model.config.get_text_config().vocab_size
        plain = model(input_ids=ids, use_cache=False).logits
        hidden = model.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
        ours = model.get_output_embeddings()(hidden)
    if not torch.allclose(plain, ours, atol=1e-4):
        raise ContractError(f"{folder} changes its logits after the output layer; the local engine does not")


def stop_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """Tokens that end an answer: what the model, its tokenizer and ChatML say."""
    told = model.generation_config.eos_token_id if model.generation_config else None
    found = set(told if isinstance(told, list) else [told])
    found |= {tokenizer.eos_token_id, tokenizer.get_vocab().get(TURN_END)}
    return tuple(sorted(int(token) for token in found if token is not None))


def key_values(cache: Cache) -> KeyValues:
    """Keys and values of a filled cache, a pair a layer."""
    return tuple((layer.keys, layer.values) for layer in cache.layers)


def cache_of(model: PreTrainedModel, kept: KeyValues, rows: int) -> Cache:
    """A cache for `rows` sequences that begins with what is kept; what is kept stays as it is."""
    wide = [(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1)) for keys, values in kept]
    return DynamicCache(wide or None, config=model.config)


class Adapters:
    """LoRA adapters by name over one base, of which one or none acts at a time."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self._used: dict[str, tuple[Path, str]] = {}
        self._acting: str | None = ""  # no name an adapter can have: not known
        self.wrapped: PeftModel | None = None
        """The base with its adapters; None while there is none."""
        self.folders: dict[str, Path] = {}
        """What is loaded, by name."""

    def load(self, name: str, folder: Path) -> None:
        """Lay the adapter in `folder` over the base, not yet acting.

        Raises:
            ContractError: the name was used for something else, or the folder holds no adapter that fits.
        """
        folder = folder.resolve()
        if "." in safe_name(name):
            raise ContractError(f"adapter name {name!r} has a dot; use letters, digits, '-' and '_'")
        lacking = [file for file in ADAPTER_FILES if not (folder / file).is_file()]
        if lacking:
            raise ContractError(f"{folder} is no LoRA adapter: {' and '.join(lacking)} missing")
        content = str(digest_files(folder, ADAPTER_FILES))
        before, known = self._used.get(name, (folder, content))
        if before != folder or known != content:
            raise ContractError(
                f"adapter {name!r} was loaded from {before} with content {known[:12]}…; {folder} has "
                f"{content[:12]}…: other content needs another name"
            )
        if name not in self.folders:
            self._acting = ""
            self._lay(name, folder)
            self._used[name] = (folder, content)
            self.folders[name] = folder

    def _lay(self, name: str, folder: Path) -> None:
        from peft import LoraConfig, PeftConfig
        from safetensors import SafetensorError

        try:
            config = PeftConfig.from_pretrained(str(folder))
            if not isinstance(config, LoraConfig) or config.bias != "none" or config.modules_to_save:
                raise ValueError("only LoRA without biases and without modules_to_save is served")
            config.inference_mode = True
            if self.wrapped is None:
                self.wrapped = PeftModel(self._model, config, adapter_name=name)
            else:
                self.wrapped.add_adapter(name, config)
            read = self.wrapped.load_adapter(str(folder), name)
            odd = [*read.unexpected_keys, *(key for key in read.missing_keys if f".{name}." in key)]
            if odd:
                raise ValueError(f"weights and configuration disagree on {odd[0]} ({len(odd)} in all)")
        except (ValueError, TypeError, KeyError, RuntimeError, OSError, SafetensorError) as error:
            self._drop(name)
            raise ContractError(f"adapter {folder} does not fit this base: {error}") from None
        self.wrapped.train(False)

    def unload(self, name: str) -> None:
        """Take an adapter away.

        Raises:
            ContractError: it is not loaded.
        """
        self._require(name)
        del self.folders[name]
        self._acting = ""
        self._drop(name)

    def _drop(self, name: str) -> None:
        if self.wrapped is None:
            return
        if name in self.wrapped.peft_config:
            self.wrapped.delete_adapter(name)
        if not self.wrapped.peft_config:
            self.wrapped.unload()
            self.wrapped = None

    def _require(self, name: str) -> None:
        if name not in self.folders:
            loaded = ", ".join(sorted(self.folders)) or "none"
            raise ContractError(f"adapter {name!r} is not loaded; loaded: {loaded}")

    def activate(self, name: str | None) -> None:
        """Let one adapter act, or with None the bare base.

        Raises:
            ContractError: it is not loaded.
        """
        if name is not None:
            self._require(name)
        if self.wrapped is None or (name == self._acting and self._acts(name)):
            return
        tuner = self.wrapped.base_model
        if name is None:
            tuner.disable_adapter_layers()
        else:
            tuner.enable_adapter_layers()
            self.wrapped.set_adapter(name, inference_mode=True)
        self._acting = name

    def _acts(self, name: str | None) -> bool:
        """Whether the first adapted layer is as `activate` left it; others may have called PEFT since."""
        layer = next(layer for layer in self._model.modules() if isinstance(layer, BaseTunerLayer))
        on = not layer.disable_adapters
        return on and layer.active_adapters == [name] if name is not None else not on
