"""Journals of work that may be killed."""

from pathlib import Path

from rsi.store.journal import Journal


def test_an_answer_is_there_again(tmp_path: Path) -> None:
    """The first one stands."""
    journal = Journal(tmp_path / "a" / "b.ndjson")
    assert journal.put("q", {"x": 1}) == {"x": 1}
    assert journal.put("q", {"x": 2}) == {"x": 1}

    again = Journal(tmp_path / "a" / "b.ndjson")

    assert again.get("q") == {"x": 1}
    assert again.get("other") is None
    assert again.answers() == ({"x": 1},)


def test_half_a_line_is_cut_off_and_written_again(tmp_path: Path) -> None:
    """At every byte at which the process may have died."""
    path = tmp_path / "b.ndjson"
    journal = Journal(path)
    journal.put("one", {"x": 1})
    kept = path.read_bytes()
    journal.put("two", {"x": 2})
    whole = path.read_bytes()
    for end in range(len(kept), len(whole)):
        path.write_bytes(whole[:end])
        again = Journal(path)
        assert len(again) == 1
        again.put("two", {"x": 2})
        assert path.read_bytes() == whole


def test_without_a_path_nothing_is_written(tmp_path: Path) -> None:
    """It still remembers."""
    journal = Journal(None)
    journal.put("q", {"x": 1})

    assert journal.get("q") == {"x": 1}
    assert list(tmp_path.iterdir()) == []
