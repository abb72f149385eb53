"""The one family of errors, and who catches what.

::

    RsiError
    ├── ContractError    your file, argument or contract is wrong: mend it and run again   (exit 2)
    ├── RefusedError     a rule said no: a gate, an approval, a stale request              (exit 1)
    ├── QuietError       a night ends early for a good reason; nothing is wrong            (exit 0)
    ├── IntegrityError   something on disk is not what its name says: stop, do not promote (exit 3)
    └── TransientError   the world was away for a moment: try again                        (exit 75)
        └── BusyError    somebody else holds the lock; the message names the holder        (exit 75)

Stages raise; only `rsi.night`, `rsi.cli` and the flows catch. Each message says what was found, what was
expected, where, and what to do. Bad *data* is a quarantine row with a reason, never an exception.
"""

from typing import ClassVar


class RsiError(Exception):
    """Parent of every error this package raises on purpose."""

    exit_code: ClassVar[int] = 1


class ContractError(RsiError, ValueError):
    """A file, argument or contract does not say what it must."""

    exit_code = 2


class RefusedError(RsiError):
    """A rule refused the request; the reason is the message."""

    exit_code = 1


class QuietError(RsiError):
    """A night that ends early for a good reason, which is the message; nothing is wrong."""

    exit_code = 0


class IntegrityError(RsiError):
    """Content does not match the digest that names it, or a record is missing or torn."""

    exit_code = 3


class TransientError(RsiError):
    """Something outside was unavailable; the same call may work later."""

    exit_code = 75


class BusyError(TransientError):
    """A lock is held by somebody else, who is named in the message."""
