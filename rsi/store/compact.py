"""The store's file written anew: what DuckDB deletes stays in the bytes of its file until they are used again."""

import shutil
import tempfile
from pathlib import Path

from rsi.ports import Clock
from rsi.settings import Home
from rsi.store.database import connect, reading
from rsi.store.files import sync
from rsi.store.locks import hold

WHO = "compact"
WAIT_S = 300.0
MEMORY = "1GB"


def compact(home: Home, clock: Clock) -> None:
    """Write the store anew, with the same rows; nobody else writes meanwhile.

    Raises:
        BusyError: the store lock is held by somebody else for longer than `WAIT_S`.
    """
    with hold(home.store_lock, WHO, clock.now().isoformat(timespec="seconds"), WAIT_S):
        with connect(home) as connection:
            # What a crash left in the log goes into the file first, and the log away.
            connection.execute("checkpoint")
        for left in home.root.glob(".compact.*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=home.root, prefix=".compact.") as folder:
            fresh = Path(folder) / home.store.name
            with reading(home.store):
                _copy(home.store, fresh, Path(folder) / "spill")
            sync(fresh)
            fresh.replace(home.store)


def _copy(store: Path, fresh: Path, spill: Path) -> None:
    import duckdb

    config = {"memory_limit": MEMORY, "temp_directory": str(spill), "preserve_insertion_order": "false"}
    with duckdb.connect(config=config) as connection:
        for path, name, how in ((store, "store", " (read_only)"), (fresh, "fresh", "")):
            text = str(path).replace("'", "''")
            connection.execute(f"attach '{text}' as {name}{how}")
        connection.execute("copy from database store to fresh")
        connection.execute("checkpoint fresh")
