"""Arrow arrays in processes that have no use for pandas."""

import subprocess
import sys


def alone(code: str) -> str:
    """What code prints in a process of its own."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_what_reads_and_loads_does_without_pandas_and_others_still_have_it() -> None:
    """Arrow would import it for the first array; a frame that is asked for later is made all the same."""
    code = (
        "import sys, duckdb, pyarrow as pa\nfrom rsi.traces.arrays import first_array\nfirst_array()\n"
        "table = pa.table({'a': pa.array(['x'], pa.string())})\nconnection = duckdb.connect()\n"
        "connection.register('t', table)\nconnection.execute('from t').fetchall()\n"
        "print('pandas' in sys.modules)\nprint(list(table.to_pandas()['a']), 'pandas' in sys.modules)\n"
    )
    assert alone(code).split("\n") == ["False", "['x'] True", ""]


def test_processes_that_a_command_starts_load_no_command() -> None:
    """They load its module again, which is why that imports nothing."""
    code = "import sys, rsi.cli\nprint([name for name in ('typer', 'pydantic', 'rich') if name in sys.modules])\n"
    assert alone(code) == "[]\n"
