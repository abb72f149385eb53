"""Files and folders are whole or absent."""

import pytest

from rsi.store.files import publish_folder, whole, write_whole


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    """A write that dies before the rename changes nothing and leaves nothing."""
    path = tmp_path / "a.json"
    write_whole(path, b"old")

    def broken(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rsi.store.files.Path.replace", broken)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")

    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_5_a_folder_appears_complete_or_not_at_all(tmp_path):
    """A fill that fails leaves no folder behind."""

    def fill(folder):
        (folder / "one").write_text("1")
        raise RuntimeError("cut")

    with pytest.raises(RuntimeError):
        publish_folder(tmp_path / "made", fill)
    assert list(tmp_path.iterdir()) == []


def test_a_published_folder_is_never_filled_again(tmp_path):
    """The first content stays."""
    publish_folder(tmp_path / "made", lambda folder: (folder / "one").write_text("1"))
    publish_folder(tmp_path / "made", lambda folder: (folder / "one").write_text("2"))

    assert (tmp_path / "made" / "one").read_text() == "1"


def test_a_file_written_piece_by_piece_has_its_name_at_the_end(tmp_path):
    """What there was stands until then, and stays if it fails; others may read it."""
    path = tmp_path / "answer"
    path.write_text("old")
    with whole(path) as file:
        file.write(b"n")
        assert path.read_text() == "old"
        file.write(b"ew")
    assert path.read_text() == "new"
    with pytest.raises(ZeroDivisionError), whole(path) as file:
        file.write(b"half")
        raise ZeroDivisionError

    assert path.read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["answer"]
    (tmp_path / "plain").write_text("")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
