"""Source trees that are compared: a git revision, or a folder with ``src/bestarm`` in it."""

from __future__ import annotations  # the interpreter that compares imports no bestarm: a tree may be broken

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def checked_out(name: str) -> Iterator[Path]:
    """The folder of a tree; a revision is checked out into a temporary one."""
    if (Path(name) / "src" / "bestarm").is_dir():
        yield Path(name).resolve()
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch).resolve() / "tree"
        git = [shutil.which("git") or "git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(folder), name], check=True)
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def environment_of(folder: Path, cache: Path) -> dict[str, str]:
    """The environment of an interpreter that imports the bestarm of a tree, with compiled kernels of its own."""
    return os.environ | {"PYTHONPATH": str(folder / "src"), "NUMBA_CACHE_DIR": str(cache)}


def check_imported(file: str, folder: Path) -> None:
    """Refuse measurements of another bestarm than that of the tree."""
    if not Path(file).resolve().is_relative_to(folder):
        raise RuntimeError(f"{file} was imported, not the bestarm of {folder}")
