"""Whether the store can be read to its end, and still holds what the ledger says it held.

Nothing in the store is the only copy of anything but of what the inbox holds no longer: `MEND` says how it comes back.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rsi.errors import IntegrityError
from rsi.ports import Clock
from rsi.records import LedgerRecord
from rsi.settings import Home
from rsi.store.database import MEND, SCHEMA_VERSION, last_ordinal, reading, schema_version
from rsi.store.locks import hold

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

WHO = "verify"
_TABLES = "select table_name from duckdb_tables() where not internal order by table_name"
_READ = "select count(*), bit_xor(hash(whole)) from {table} as whole"
"""Every block of a table, whose checksums DuckDB compares."""
_MIRRORED = "select seq, prev, kind, input, output from ledger order by seq desc limit 1"


class Copied(NamedTuple):
    """How far the store has copied the ledger."""

    lines: int
    last: tuple[object, ...]

    def of(self, records: Sequence[LedgerRecord]) -> bool:
        """Whether these are the records that were copied, and maybe more."""
        if not self.lines:
            return True
        one = records[self.lines - 1] if self.lines <= len(records) else None
        return one is not None and (one.prev, one.kind, one.input, one.output) == self.last


NOTHING = Copied(0, ())


def copied(connection: "DuckDBPyConnection") -> Copied:
    """What the store's table `ledger` ends with."""
    found = [Copied(seq, tuple(last)) for seq, *last in connection.execute(_MIRRORED).fetchall()]
    return found[0] if found else NOTHING


def fixed(records: Sequence[LedgerRecord]) -> int:
    """The last batch that a night took for its input; 0 before the first night."""
    return max((int(str(one.body.get("ordinal", 0))) for one in records if one.kind == "night"), default=0)


def batches(home: Home) -> int:
    """Number of the store's last batch; nothing but its catalogue and that number is read.

    Raises:
        IntegrityError: the file cannot be opened, or not read.
    """
    import duckdb

    try:
        with reading(home.store), duckdb.connect(str(home.store), read_only=True) as connection:
            return last_ordinal(connection)
    except duckdb.Error as error:
        raise IntegrityError(f"{home.store} cannot be read: {str(error).splitlines()[0]}; {MEND}") from None


def flaws(home: Home, clock: Clock, records: Sequence[LedgerRecord]) -> Iterator[tuple[str, str]]:
    """Invariant and what breaks it: damage, rows that were lost, or lines that the ledger has lost since.

    Every row is read, under the store lock.
    """
    taken = fixed(records)
    if not home.store.exists():
        if taken:
            yield "I2", f"{home.store} is missing: nights took batches up to {taken} of it; {MEND}"
        return
    import duckdb

    with hold(home.store_lock, WHO, clock.now().isoformat(timespec="seconds"), wait_s=30):
        try:
            with reading(home.store), duckdb.connect(str(home.store), read_only=True) as connection:
                for (table,) in connection.execute(_TABLES).fetchall():
                    connection.execute(_READ.format(table=table)).fetchall()
                if schema_version(connection) == SCHEMA_VERSION:
                    yield from _lost(home, connection, records, taken)
        except IntegrityError as error:
            yield "I2", str(error)
        except duckdb.Error as error:
            yield "I2", f"{home.store} cannot be read: {str(error).splitlines()[0]}; {MEND}"


def _lost(
    home: Home, connection: "DuckDBPyConnection", records: Sequence[LedgerRecord], taken: int
) -> Iterator[tuple[str, str]]:
    last = last_ordinal(connection)
    if last < taken:
        yield (
            "I2",
            f"{home.store} ends with batch {last}, and a night took batch {taken} of it; run `rsi ingest`",
        )
    there = copied(connection)
    if not there.of(records):
        yield (
            "I4",
            f"{home.ledger} has not the record {there.lines} that {home.store.name} copied from it: lines of its end "
            "were lost; restore it from a backup",
        )
