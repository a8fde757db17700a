"""Files are written whole or not at all, and what cannot be written is refused before the work."""

import os
import stat
from types import SimpleNamespace

import pytest

from workbench import output
from workbench.core.errors import WorkbenchError
from workbench.output import StorageError, check_folder, check_output, write_whole


def test_text_and_bytes_are_written(tmp_path):
    for content in ("∅\n", b"\x00\xff"):
        write_whole(tmp_path / "file", content)
        data = content.encode() if isinstance(content, str) else content
        assert (tmp_path / "file").read_bytes() == data
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_disk_that_fills_up_leaves_what_was_there(tmp_path, monkeypatch, moment):
    path = tmp_path / "page.html"
    path.write_text("the old page")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output.os, moment, full)
    with pytest.raises(StorageError, match=r"cannot write .*page.html: No space left on device"):
        write_whole(path, "the new page")
    assert path.read_text() == "the old page"
    assert [found.name for found in tmp_path.iterdir()] == ["page.html"]


def test_a_link_stays_a_link_and_the_mode_of_a_file_stays(tmp_path):
    (tmp_path / "real").write_text("old")
    os.chmod(tmp_path / "real", 0o600)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o600


def test_what_is_no_file_is_written_to_and_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    check_output(tmp_path / "pipe")
    write_whole(tmp_path / "pipe", "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it is a folder"),
        ("nowhere/file", "there is no folder .*nowhere"),
        ("file/below", "there is no folder .*file"),
        ("a\0b", "embedded null"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_in_words(tmp_path, name, why):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=f"cannot write .*: {why}"):
        check_output(tmp_path / name)
    with pytest.raises(StorageError, match="cannot write"):
        write_whole(tmp_path / name, "x")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_folder_with_a_nul_in_its_name_is_refused(tmp_path):
    with pytest.raises(WorkbenchError, match="cannot write to"):
        check_folder(tmp_path / "a\0b")


def test_a_disk_without_room_is_refused_first(tmp_path, monkeypatch):
    """A few bytes can be written to a disk on which no page has room."""
    check_output(tmp_path / "file")
    check_folder(tmp_path / "a" / "b", make=False)
    monkeypatch.setattr(output.shutil, "disk_usage", lambda path: SimpleNamespace(free=60_000))
    for check in (
        lambda: check_output(tmp_path / "file"),
        lambda: check_folder(tmp_path / "a" / "b", make=False),
        lambda: check_folder(tmp_path),
    ):
        with pytest.raises(StorageError, match="has only 0 MB of free space"):
            check()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_made_yet_is_checked_where_it_would_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot write to .*below"):
        check_folder(tmp_path / "file" / "below", make=False)
    check_folder("no-such-folder-yet", make=False)
    assert not os.path.exists("no-such-folder-yet")
