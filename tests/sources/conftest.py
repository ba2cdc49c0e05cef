"""What the tests of tables, items and programs share: a folder to work in, and what is said of bad cells."""

from pathlib import Path

import pytest

TIMES = "column 'c' holds dates or times, which are no scores"
NO_NUMBER = "row 1, column 'c' must be a number, or empty if missing, got "


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_one_sentence(error: BaseException) -> None:
    """What an error says is short and in one line."""
    message = str(error)
    assert 0 < len(message) < 700, message[:700]
    assert "\n" not in message.strip()
