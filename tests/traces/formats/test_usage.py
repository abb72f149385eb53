"""Token counts in the spellings of model APIs."""

import pytest

from rsi.traces.formats.run import Usage
from rsi.traces.formats.usage import usage
from rsi.traces.rows import Json


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}, Usage(9, 5)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4},
          "completion_tokens_details": {"reasoning_tokens": 2}, "cost": 0.5}, Usage(9, 5, 4, None, 2, 0.5)),
        ({"input_tokens": 9, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 3}},
         Usage(9, 5, 0, 3)),
        ({"input_tokens": 9, "output_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 1},
         Usage(100, 5, 90, 1)),
        ({"prompt_tokens": 99, "completion_tokens": 5, "cache_read_input_tokens": 90}, Usage(99, 5, 90)),
        ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}, Usage(9, 5, 4)),
        ({"prompt_eval_count": 9, "eval_count": 5}, Usage(9, 5)),
        ({"prompt_tokens": "9", "completion_tokens": 5.0}, Usage(9, 5)),
        ({"prompt_tokens": -1, "completion_tokens": True, "prompt_tokens_details": None}, Usage()),
        ({}, Usage()), (None, Usage()), ("9", Usage()), ([9], Usage()),
    ],
)  # fmt: skip
def test_counts(said: Json, expected: Usage) -> None:
    """Input holds the cached tokens whoever counts; nonsense counts nothing."""
    assert usage(said) == expected
