"""One reader a format. `FORMATS` is the table: a new one is a module, a line here, a file in ``data/traces``.

The first whose `matches` says yes reads the record, so that narrow formats stand before wide ones. Another package
adds its own through the entry point group ``rsi.traces.formats``, each entry naming a module like these; they are
asked first.
"""

from functools import cache
from importlib.metadata import entry_points

from rsi.traces.formats import (
    anthropic,
    atif,
    atof,
    chat,
    claude_code,
    codex,
    codex_exec,
    gateway,
    helicone,
    http_exchange,
    inspect_ai,
    instruction,
    jaeger,
    langfuse,
    langsmith,
    litellm,
    mlflow,
    openai_agents,
    openai_batch,
    openai_responses,
    openai_stream,
    openhands,
    otel_js,
    otlp,
    phoenix,
    preference,
    sharegpt,
    swe_agent,
    tau,
    tau2,
    toolbench,
)
from rsi.traces.rows import Format

FORMATS: tuple[Format, ...] = (
    gateway,
    atif,
    atof,
    claude_code,
    codex,
    codex_exec,
    otlp,
    jaeger,
    otel_js,
    langfuse,
    langsmith,
    mlflow,
    litellm,
    phoenix,
    inspect_ai,
    tau2,
    openhands,
    swe_agent,
    toolbench,
    tau,
    openai_agents,
    openai_batch,
    openai_stream,
    helicone,
    http_exchange,
    openai_responses,
    anthropic,
    preference,
    sharegpt,
    chat,
    instruction,
)
ENTRY_POINTS = "rsi.traces.formats"


@cache
def formats() -> tuple[Format, ...]:
    """Readers of other packages, then our own."""
    return (*(one.load() for one in sorted(entry_points(group=ENTRY_POINTS))), *FORMATS)
