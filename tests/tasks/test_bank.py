"""Banks are immutable and named by what they hold."""

import datasets
import pytest

from rsi.errors import IntegrityError
from rsi.tasks import bank
from rsi.tasks.bank import Account
from tests.made import routing_tasks


def test_59_the_same_tasks_in_any_order_are_the_same_bank(home):
    """Order of arrival does not matter."""
    tasks = routing_tasks()

    assert bank.freeze(home, "2026-01-02", tasks, Account({"empty": 1})) == bank.freeze(
        home, "2026-01-02", tasks[::-1], Account({"empty": 1})
    )


def test_a_bank_comes_back_as_it_was(home):
    """Tasks and counts."""
    tasks = routing_tasks()
    name = bank.freeze(home, "2026-01-02", tasks, Account({"duplicate": 3}, {"routing/v1": "d"}))

    assert bank.load(home, name) == tuple(sorted(tasks, key=lambda one: one.task_id))
    assert bank.manifest(home, name).by_expected == {"L0": 4, "L1": 4, "L2": 4, "L3": 4}
    assert bank.manifest(home, name).rejected == {"duplicate": 3}


def test_datasets_reads_the_file_as_it_is(home, tmp_path):
    """Other trainers need no converter."""
    name = bank.freeze(home, "2026-01-02", routing_tasks())

    read = datasets.load_dataset(
        "parquet",
        data_files=str(home.banks / name / "tasks.parquet"),
        split="train",
        cache_dir=str(tmp_path / "cache"),
    )
    assert len(read) == 16
    assert {"messages", "expected", "verifier"} <= set(read.column_names)


@pytest.mark.parametrize("file", ["tasks.parquet", "manifest.json"])
def test_a_flipped_byte_is_noticed(home, file):
    """The message names the file."""
    name = bank.freeze(home, "2026-01-02", routing_tasks())
    path = home.banks / name / file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    with pytest.raises(IntegrityError, match=file):
        bank.load(home, name)


def test_a_missing_bank_is_named(home):
    """With the path where it was expected."""
    with pytest.raises(IntegrityError, match="is missing"):
        bank.load(home, "0" * 64)
