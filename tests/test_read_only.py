"""Races where nothing can be written: on a read-only disk, in the folder of somebody else."""

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bestarm import Race, StoreError, load_result
from rights import nobody
from small_race import run, share

ARMS = ("low", "mid", "high")


def tell_rounds(contest: Race[Any], n_rounds: int) -> None:
    for _ in range(n_rounds):
        for todo in contest.ask():
            contest.tell(todo, {arm: share(arm, todo.item) for arm in todo.arms})


@pytest.fixture(name="folder")
def _folder() -> Iterator[Path]:
    """A folder that others may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)
        Path(name).chmod(0o755)


def locked(folder: Path) -> dict[str, bytes]:
    """Let nobody write to a folder and what is in it; what is in it."""
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o444)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def killed(folder: Path) -> Path:
    """A race of five rounds of a process that was killed: three of them are only in the log."""
    store = folder / "whole" / "race.sqlite"
    store.parent.mkdir()
    options: dict[str, Any] = {"items": range(500), "bounds": (0, 1)}
    with Race(ARMS, store=store, **options) as contest:
        tell_rounds(contest, 2)
    with Race(ARMS, store=store, **options) as contest:
        tell_rounds(contest, 3)
        for path in store.parent.iterdir():
            shutil.copy(path, folder)
    shutil.rmtree(store.parent)
    assert sorted(path.name for path in folder.iterdir()) == ["race.sqlite", "race.sqlite-wal"]
    return folder / "race.sqlite"


def test_a_finished_race_is_shown(folder: Path) -> None:
    ended = run(store=folder / "race.sqlite")
    before = locked(folder)
    with nobody():
        assert load_result(folder / "race.sqlite").to_json() == ended.to_json()
        with pytest.raises(StoreError, match=r"the race cannot be stored in .*: is the folder writable"):
            run(store=folder / "race.sqlite")
    assert locked(folder) == before


def test_a_killed_race_is_shown_with_what_is_in_its_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = killed(folder)
    before, unlink = locked(folder), Path.unlink

    def as_on_a_read_only_disk(path: Path, missing_ok: bool = False) -> None:
        if path.parent == folder:  # there even what is not there cannot be removed
            raise OSError(errno.EROFS, "Read-only file system")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", as_on_a_read_only_disk)
    with nobody():
        assert load_result(store).n_rounds == 5
    assert locked(folder) == before


def test_an_empty_log_does_not_matter(folder: Path) -> None:
    ended = run(store=folder / "race.sqlite")
    (folder / "race.sqlite-wal").touch()
    before = locked(folder)
    with nobody():
        assert load_result(folder / "race.sqlite").to_json() == ended.to_json()
    assert locked(folder) == before


def test_a_race_that_is_running_is_in_use(folder: Path) -> None:
    store = folder / "race.sqlite"
    with Race(ARMS, store=store) as contest:
        tell_rounds(contest, 2)
        folder.chmod(0o555)
        for path in folder.iterdir():
            path.chmod(0o444)
        with nobody(), pytest.raises(StoreError, match="is in use by another process"):
            load_result(store)
        folder.chmod(0o755)


def test_a_race_that_is_written_while_it_is_copied_is_in_use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, copyfile = killed(folder), shutil.copyfile
    locked(folder)

    def slow(source: Path, target: Path) -> None:
        copyfile(source, target)
        os.utime(store, ns=(1, 1))

    monkeypatch.setattr(shutil, "copyfile", slow)
    monkeypatch.setattr(sqlite3, "connect", without_index(sqlite3.connect))
    with pytest.raises(StoreError, match="is in use by another process"):
        load_result(store)


def without_index(connect: Any) -> Any:
    """Root may make the index in any folder: as if it could not."""

    def refusing(address: str, **options: Any) -> sqlite3.Connection:
        if address.endswith("?mode=ro"):
            address = address.replace("?", "/race.sqlite?")
        connection: sqlite3.Connection = connect(address, **options)
        return connection

    return refusing


def test_without_any_place_for_an_index_it_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = killed(folder)
    before = locked(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "absent"))
    with nobody(), pytest.raises(StoreError, match="nor in the folder for temporary files an index of its log"):
        load_result(store)
    assert locked(folder) == before
