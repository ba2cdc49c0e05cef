"""What the tests of commands share: a folder to work in, that its files stay as they are, and commands as programs."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

Unchanged = Callable[[], AbstractContextManager[None]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to work in; modules in it that a command imports are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def unchanged(folder: Path) -> Unchanged:
    """Expect that no file of the folder is made, changed or removed."""

    def contents() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

    @contextmanager
    def check() -> Iterator[None]:
        before = contents()
        yield
        assert contents() == before

    return check


def run_process(*words: object, stdout: Any = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    """Run a command as a program of its own."""
    program = [sys.executable, "-m", "bestarm", *map(str, words)]
    return subprocess.run(program, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, timeout=120)  # noqa: S603


def words_of(text: str) -> str:
    """A printed text without its line breaks and frames."""
    return " ".join(re.sub("[│─]", " ", text).split())
