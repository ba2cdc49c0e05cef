"""Random command lines, most of them wrong, in a folder with files that must not change."""

import os
import random
import re
import shutil
import sqlite3
import sys
import unicodedata
import warnings
from collections.abc import Callable
from contextlib import closing, redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

from typer.main import get_command

from attacks.judging import UNSEEN, Fault
from attacks.line_words import FUNCTION, OPTIONS, STORES, line
from attacks.pool import Case
from bestarm.cli import app
from bestarm.racing import evaluation

Note = Callable[[str], None]
EXIT_CODES = (0, 1, 2, 3, 4, 130)
command = get_command(app)  # made once: that takes longer than most commands
LONGEST = 1500  # characters of an error with the names of files and options in it


def make(folder: Path) -> None:
    """Ordinary files of a user, and three saved races."""
    luck = random.Random(1)  # noqa: S311 - no secrets here
    rows = [f"q{k},{luck.random():.3f},{luck.random():.3f},{luck.random() + 0.3:.3f}" for k in range(30)]
    (folder / "table.csv").write_text("\n".join(["item,a,b,c", *rows]) + "\n")
    long = [f"q{k},{arm},{luck.random():.3f},g{k // 3}" for k in range(12) for arm in "abc"]
    (folder / "long.csv").write_text("\n".join(["task,model,score,group", *long]) + "\n")
    (folder / "pilot.tsv").write_text(
        "a\tb\n" + "\n".join(f"{luck.random():.2f}\t{luck.random():.2f}" for _ in range(20))
    )
    (folder / "records.jsonl").write_text("\n".join(f'{{"a": {k % 2}, "b": {k % 3}}}' for k in range(15)))
    (folder / "items.txt").write_text("\n".join(map(str, range(40))) + "\n")
    (folder / "functions.py").write_text(FUNCTION)
    (folder / "notes.log").write_text("everything that I measured\n")
    (folder / "page.html").write_text("<html></html>")
    (folder / "folder").mkdir()
    with closing(sqlite3.connect(folder / "data.db")) as other:
        other.execute("CREATE TABLE mine (x)")
        other.commit()
    run = ["run", "functions:score", "--arms", "a,b,c", "--items", "items.txt", "--bounds", "0,1", "--quiet"]
    called([*run, "--store", "finished.sqlite"])
    called([*run, "--store", "unfinished.sqlite", "--max-evaluations", "6"])
    called(["commands", "true", "echo 5", "--store", "commands.sqlite", "--max-evaluations", "4", "--quiet"])


def called(words: list[str]) -> tuple[int, str, str]:
    """A command in this process: exit code, output, errors."""
    out, err, before = TextIOWrapper(BytesIO(), "utf-8", "surrogateescape"), StringIO(), sys.stdin
    sys.stdin = TextIOWrapper(BytesIO(b""), "utf-8")
    code: Any = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                command(words, prog_name="bestarm")
            except SystemExit as end:
                code = end.code
    finally:
        sys.stdin = before
    out.flush()
    return code if isinstance(code, int) else 0, out.buffer.getvalue().decode("utf-8", "replace"), err.getvalue()


def prepare(folder: Path) -> Case:
    """Cases of one command line each, in a folder whose files are put back if a case changes them."""
    warnings.simplefilter("ignore")
    evaluation.FIRST_PAUSE = 0.0  # nobody waits before an evaluation is tried again
    os.environ.update({"HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "COLUMNS": "100", "TERM": "dumb"})
    home = folder / "home"
    home.mkdir()
    os.chdir(home)
    make(home)
    called(["table", "table.csv", "--report", "new.html"])
    called(["plan", "pilot.tsv", "--repetitions", "10"])
    (home / "new.html").unlink(missing_ok=True)
    shutil.copytree(home, folder / "whole")
    kept = snapshot(home)

    def case(luck: random.Random, note: Note) -> str:
        words = line(luck)
        note(" ".join(map(repr, words)))
        os.chdir(home)
        try:
            code, out, err = called(words)
        finally:
            changed = {name for name, data in kept.items() if snapshot_of(home / name) != data}
            new = {path.name for path in home.iterdir()} - kept.keys() - {"folder"}
            said = put_back(home, folder / "whole", changed, new, kept, words)
        if said:
            raise Fault(said)
        check_said(words, code, out, err)
        return f"{words[0] if words and words[0] in OPTIONS else 'other'} {code}"

    return case


def snapshot_of(path: Path) -> Any:
    """What shows whether a file is the same."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def snapshot(home: Path) -> dict[str, Any]:
    """All files of the user."""
    return {path.name: snapshot_of(path) for path in home.iterdir() if path.is_file()}


def put_back(
    home: Path, whole: Path, changed: set[str], new: set[str], kept: dict[str, Any], words: list[str]
) -> str | None:
    """Restore the folder; what is wrong with the changes, if anything."""
    said = None
    for name in sorted(changed):
        if not may_change(home / name, words, kept[name]):
            said = f"{name} was {'changed' if (home / name).exists() else 'removed'} by {words[:1]}"
        (home / name).unlink(missing_ok=True)
        shutil.copy(whole / name, home / name)
    for name in new:
        path = home / name
        if name != "__pycache__":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if changed or new:
        shutil.rmtree(home / "folder", ignore_errors=True)
        (home / "folder").mkdir()
    return said


def may_change(path: Path, words: list[str], before: bytes) -> bool:
    """Whether a command may have changed a file: a page that was named, or a race that was continued and kept."""
    if path.name not in words and not any(word.endswith(f"/{path.name}") for word in words):
        return False
    if path.suffix == ".html":
        return True
    return path.name in STORES and path.exists() and rows(before, path) <= rows(path.read_bytes(), path)


def rows(data: bytes, path: Path) -> set[Any]:
    """The scores in the bytes of a saved race."""
    scratch = path.parent.parent / "scratch.sqlite"
    scratch.write_bytes(data)
    try:
        with closing(sqlite3.connect(scratch)) as connection:
            return set(connection.execute("SELECT round, arm, score FROM scores"))
    except sqlite3.Error:
        return {"no race"}


def check_said(words: list[str], code: int, out: str, err: str) -> None:
    """Exit codes as documented, one sentence for each error, and nothing that a terminal would obey."""
    if code not in EXIT_CODES:
        raise Fault(f"exit code {code}")
    if "Traceback" in err or "Traceback" in out:
        raise Fault(f"a traceback was shown: {err[-300:]}")
    for text in (out, err):
        for letter in re.sub(r"[\n]", "", text):
            if unicodedata.category(letter) in ("Cc", "Cs") or letter in f"\u202e\u2066\u2067\u2028{UNSEEN}":
                raise Fault(f"the control character U+{ord(letter):04X} was printed by {words[:1]}, code {code}")
    errors = [line for line in err.splitlines() if line.startswith("error:")]
    usage = "Usage" in err or "Usage" in out or "─ Error ─" in err
    told = "failed" in out or "could be evaluated" in out if code == 4 else usage  # 4: a verdict can say it too
    if code in (2, 4) and not errors and not told:
        raise Fault(f"exit code {code} without a word: {err[-200:]!r}")
    if len(errors) > 1 or any(len(line) > LONGEST for line in errors):
        raise Fault(f"an error is not one sentence: {err[:300]!r}")
