"""What a deployment takes in: which traces, what is set aside of them, and what is never stored as it came."""

from enum import StrEnum

from pydantic import Field

from rsi.record import Record
from rsi.records import Origin


class Traces(Record):
    """Which traces discover reads."""

    origins: tuple[Origin, ...] = (Origin.TRAFFIC,)
    namespace: str = "default"
    """Prefix of the ids of what is ingested."""


class Splits(Record):
    """Shares of conversations set aside at ingest; the rest is train."""

    dev: float = Field(0.0, ge=0, lt=1)
    gate: float = Field(0.05, ge=0, lt=1)
    vault: float = Field(0.05, ge=0, lt=1)


class Kind(StrEnum):
    """What redaction looks for; the name stands in the pseudonym."""

    KEY = "key"
    """API keys, tokens and private keys of well-known shapes, and what follows Bearer or Basic."""
    PASSWORD = "password"
    """Values of fields named password, secret, api_key and the like, and passwords in URLs."""
    EMAIL = "email"
    PHONE = "phone"
    CARD = "card"
    """Payment card numbers."""


class Redaction(Record):
    """What is replaced by pseudonyms before anything is stored."""

    enabled: bool = True
    allow: tuple[str, ...] = ()
    """Values that stay: exact, or patterns such as ``*@example.com``."""
    kinds: tuple[Kind, ...] = tuple(Kind)
    keep_raw: bool = False
    """Whether the raw text stays as it came."""
