"""Files of races: one that is finished, and one whose process was killed."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bestarm import Race
from race_files import RaceFile, tell_rounds
from small_race import LEVEL, run


@pytest.fixture
def store(tmp_path: Path) -> RaceFile:
    """A race of 17 rounds, finished, alone in its folder."""
    folder = tmp_path / "races"
    folder.mkdir()
    assert run(store=folder / "race.sqlite", target="items").n_rounds == 17
    assert [path.name for path in folder.iterdir()] == ["race.sqlite"]
    return RaceFile(folder / "race.sqlite")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that others may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


@pytest.fixture
def killed(open_folder: Path) -> RaceFile:
    """A race of five rounds whose process was killed in its second run: three of them are only in the log."""
    whole = open_folder / "whole" / "race.sqlite"
    whole.parent.mkdir()
    options: dict[str, Any] = {"items": range(500), "bounds": (0, 1), "target": "items"}
    with Race(tuple(LEVEL), store=whole, **options) as contest:
        tell_rounds(contest, 2)
    with Race(tuple(LEVEL), store=whole, **options) as contest:
        tell_rounds(contest, 3)
        for path in whole.parent.iterdir():
            shutil.copy(path, open_folder)
    shutil.rmtree(whole.parent)
    assert sorted(path.name for path in open_folder.iterdir()) == ["race.sqlite", "race.sqlite-wal"]
    return RaceFile(open_folder / "race.sqlite")
