"""``suite.toml``: what a suite is, who answers it, and where its items come from."""

import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from rsi.errors import ContractError
from rsi.gate.suites.bfcl import Bfcl
from rsi.gate.suites.worlds import Worlds
from rsi.records import Record
from rsi.settings import said
from rsi.verifiers import VERIFIERS

Hop = Literal["route", "answer", "tool", "world"]
"""How an item is asked, as tasks are: a label is chosen, words are written, tools are called, an episode is played."""
Drawn = Annotated[Bfcl | Worlds, Field(discriminator="source")]
"""Sources that draw items where no ``items.jsonl`` lists them."""


class About(Record):
    """What ``suite.toml`` says."""

    name: str
    version: int = Field(ge=1)
    verifier: str
    hop: Hop
    role: str | None = None
    """Whose adapter answers; missing for a route, where the harness says who routes."""
    description: str = ""
    items: Drawn | None = None
    """Where the items come from; missing where ``items.jsonl`` lists them."""

    @property
    def fresh(self) -> bool:
        """Whether every question draws items of its own."""
        return isinstance(self.items, Worlds) and self.items.fresh

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.verifier not in VERIFIERS:
            known = ", ".join(sorted(VERIFIERS))
            raise ValueError(f"no verifier is called {self.verifier!r}; there are {known}")
        if (self.hop == "route") != (self.role is None):
            raise ValueError("role belongs to every hop but route, where the harness names the router")
        if self.items is None and self.hop in ("tool", "world"):
            raise ValueError(f"items of hop {self.hop} are drawn: say from where in [items]")
        if self.items is not None and (self.hop, self.verifier) != (self.items.HOP, self.items.VERIFIER):
            raise ValueError(
                f"items of {self.items.source} are of hop {self.items.HOP} and verifier {self.items.VERIFIER}"
            )
        return self


def read(path: Path) -> About:
    """What the file says.

    Raises:
        ContractError: it is not TOML, or has a key or value it must not have.
    """
    try:
        return About.model_validate(tomllib.loads(path.read_text()))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ContractError(f"{path} is not valid TOML: {error}") from None
    except ValidationError as error:
        raise ContractError(f"{path}: {said(error)}") from None
