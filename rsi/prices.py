"""What answers of an engine cost."""

from typing import Self

from pydantic import Field, model_validator

from rsi.record import Record


class Prices(Record):
    """What answers of the engine cost: by the hour of its machine, or by token. What is missing is not known."""

    usd_an_hour: float | None = Field(None, gt=0)
    """Where it is missing, a local engine costs what the worker does, which is the same machine."""
    usd_a_million_read: float | None = Field(None, ge=0)
    """Tokens."""
    usd_a_million_written: float | None = Field(None, ge=0)
    """Tokens."""

    @model_validator(mode="after")
    def _is_one_price(self) -> Self:
        tokens = {self.usd_a_million_read is None, self.usd_a_million_written is None}
        if len(tokens) > 1 or (self.usd_an_hour is not None and tokens == {False}):
            raise ValueError("say usd_an_hour, or both usd_a_million_read and usd_a_million_written")
        return self

    @property
    def known(self) -> bool:
        """Whether there is a price."""
        return self.usd_an_hour is not None or self.usd_a_million_read is not None

    def of(self, seconds: float, read: int | None, written: int | None) -> float | None:
        """Dollars for answers that took so long and so many tokens; None where price or tokens are not known."""
        if self.usd_an_hour is not None:
            return seconds / 3600 * self.usd_an_hour
        if self.usd_a_million_read is None or self.usd_a_million_written is None or read is None or written is None:
            return None
        return (read * self.usd_a_million_read + written * self.usd_a_million_written) / 1e6
