"""A GGUF file turned into the folder of safetensors and JSON that training and serving read.

The folder's bytes depend on the GGUF alone: what tells of the machine or the library's version is left out, so
that its digest is the same wherever it is made.
"""

import json
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

from rsi.errors import ContractError, IntegrityError
from rsi.settings import quiet_dependencies

_CIRCUMSTANCES = ("transformers_version", "is_local", "local_files_only")
"""Keys of the JSON files that say how a folder was made, not what it is."""


def convert(gguf: Path, into: Path, parameters: int) -> None:
    """Write a GGUF file's model, in float32, and its tokenizer as a folder of safetensors and JSON.

    Raises:
        IntegrityError: the model has another number of parameters than expected.
        ContractError: transformers or gguf are not installed.
    """
    quiet_dependencies()
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
        from transformers.utils import logging
    except ImportError as error:
        raise ContractError(f"converting a base model needs {error.name}: pip install 'rsi[train]'") from None
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with redirect_stderr(StringIO()):
            tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
            model = AutoModelForCausalLM.from_pretrained(
                gguf.parent,
                gguf_file=gguf.name,
                dtype=torch.float32,
                quantization_config=GgufConfig(dequantize=True),
            )
            found = sum(weight.numel() for weight in model.parameters())
            if found != parameters:
                raise IntegrityError(f"{gguf.name} has {found} parameters, expected {parameters}")
            model.save_pretrained(into)
            tokenizer.save_pretrained(into)
    finally:
        logging.set_verbosity(verbosity)
    for path in into.glob("*config.json"):
        told = json.loads(path.read_bytes())
        kept = {key: value for key, value in told.items() if key not in _CIRCUMSTANCES}
        path.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n")
