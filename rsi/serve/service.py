"""One gateway's parts, and how a request handler reaches them."""

import asyncio
from dataclasses import dataclass
from typing import Annotated, Protocol, cast

from fastapi import Depends, Request

from rsi.engine.batcher import Batcher
from rsi.ports import Clock, Engine, Prompt
from rsi.records import Origin
from rsi.serve.capture import Capture
from rsi.serve.metrics import Metrics
from rsi.serve.versions import Live, Versions
from rsi.settings import Home


class Reader(Engine, Protocol):
    """An engine that also says how it reads a prompt, which usage is counted by."""

    def tokens(self, prompt: Prompt) -> list[int]:
        """The prompt's token ids."""
        ...


@dataclass(frozen=True)
class Options:
    """How a gateway serves."""

    namespace: str = "default"
    """Prefix of the ids of its traces."""
    origin: Origin = Origin.TRAFFIC
    """Who causes its requests; with `gate` nothing is written down."""
    max_tokens: int = 256
    """Cap of every answer, whatever the request or the harness says."""
    batch: int = 8
    """Requests the engine runs at once."""
    wait_ms: float = 5.0
    """How long a request waits for others to share its batch."""

    @property
    def captures(self) -> bool:
        """Whether requests become traces."""
        return self.origin is not Origin.GATE


@dataclass(frozen=True)
class Service:
    """What the handlers share."""

    home: Home
    engine: Reader
    batcher: Batcher
    versions: Versions
    capture: Capture
    metrics: Metrics
    options: Options
    clock: Clock

    async def follow(self) -> Live:
        """The version in service now; a new one is loaded first, while the caller waits."""
        if self.versions.changed():
            await asyncio.to_thread(self.versions.refresh)
        return self.versions.live

    def close(self) -> None:
        """Stop the engine's queue and close the spool; harmless when repeated."""
        self.batcher.close()
        if self.capture.spool:
            self.capture.spool.close()


def _of(request: Request) -> Service:
    return cast(Service, request.app.state.service)


Parts = Annotated[Service, Depends(_of)]
"""Type of a handler's parameter that receives the service."""
