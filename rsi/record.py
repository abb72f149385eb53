"""What every record is: frozen, strict, named by the digest of its content."""

from typing import Self

from pydantic import BaseModel, ConfigDict

from rsi.ids import Digest, digest


class Record(BaseModel):
    """A frozen record that refuses unknown keys and is named by the digest of its content."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def digest(self) -> Digest:
        """SHA-256 of the record's canonical JSON."""
        return digest(self.model_dump(mode="json"))

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """A record from its JSON."""
        return cls.model_validate_json(data)
