"""Files and folders are whole or absent."""

import pytest

from rsi.store.files import publish_folder, write_whole


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


def test_a_folder_appears_complete_or_not_at_all(tmp_path):
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
