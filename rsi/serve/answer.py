"""The answer hop: the role's adapter, or the base where the version has none, writes the answer."""

import asyncio

from rsi.ports import Prompt
from rsi.serve.capture import Answered
from rsi.serve.openai_api import ChatRequest
from rsi.serve.service import Service
from rsi.serve.versions import Live

BASE = "base"
"""Model name of the bare base: no adapter, no system text of the harness."""


def model_of(live: Live, target: str) -> str:
    """The adapter that answers for a role, or `base`."""
    return live.adapters.get(target, BASE)


async def answer(service: Service, live: Live, target: str, request: ChatRequest, seed: int) -> Answered:
    """Generate the answer of a role, or of the `base`.

    The caller's limit and temperature win over the harness's; the gateway's cap wins over both. `seed` is
    used where the caller gave none.
    """
    sampling, options = live.harness.sampling, service.options
    temperature = sampling.temperature if request.temperature is None else request.temperature
    messages = request.prompt
    prompt: Prompt = messages if target == BASE else live.harness.answer_prompt(target, messages)
    asked = service.batcher.generate_one(
        prompt,
        live.adapters.get(target),
        min(request.limit or sampling.max_tokens, options.max_tokens),
        temperature,
        _seed(request.seed, temperature, seed),
    )
    found = await asyncio.wrap_future(asked)
    return Answered(found.text, found.finish_reason, len(service.engine.tokens(prompt)), len(found.token_ids))


def _seed(said: int | None, temperature: float, drawn: int) -> int:
    """Greedy answers share seed 0, and so their batches; others take the caller's or a fresh one."""
    if temperature == 0:
        return 0
    return (drawn if said is None else said) & (2**63 - 1)
