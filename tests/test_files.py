"""Files are written whole or not at all; links, permissions and files that are read-only stay as they are."""

import os
import stat
from pathlib import Path

import pytest

from bestarm.files import write_text, write_whole


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_file_that_cannot_be_written_stays_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("page.html").write_text("before", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text("page.html", "after")
    assert [path.read_text(encoding="utf-8") for path in Path().iterdir()] == ["before"]  # and nothing beside it


def test_links_and_permissions_stay() -> None:
    Path("page.html").write_text("before", encoding="utf-8")
    Path("page.html").chmod(0o640)
    Path("to_page.html").symlink_to("page.html")
    write_text("to_page.html", "after \udcff")
    assert Path("to_page.html").is_symlink()
    assert Path("page.html").read_text(encoding="utf-8") == r"after \udcff"
    assert stat.S_IMODE(Path("page.html").stat().st_mode) == 0o640


def test_a_folder_that_takes_no_new_files_still_has_its_own_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise PermissionError("no new files here")

    Path("page.html").write_text("before, and longer", encoding="utf-8")
    monkeypatch.setattr(Path, "replace", denied)
    write_whole("page.html", b"after")
    assert Path("page.html").read_bytes() == b"after"
    assert not list(Path().glob(".bestarm-*"))


def test_a_file_that_is_read_only_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("page.html").write_text("before", encoding="utf-8")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # whoever runs the tests may write everything
    with pytest.raises(PermissionError, match=r"read-only: 'page.html'$"):
        write_text("page.html", "after")
    assert Path("page.html").read_text(encoding="utf-8") == "before"
