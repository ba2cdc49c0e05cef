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

from attacks import bad_values
from attacks.judging import UNSEEN, Fault
from attacks.pool import Case, wait_for_nothing
from bestarm.cli import app

Note = Callable[[str], None]
EXIT_CODES = (0, 1, 2, 3, 4, 130)
LONGEST = 1500  # characters of an error with the names of files and options in it
command: Any = get_command(app)  # made once: that takes longer than most commands

FUNCTION = """import random
def score(arm, item): return {"a": 0.2, "b": 0.5}.get(arm, 0.7) + random.Random(str(item)).uniform(-0.2, 0.2)
def fails(arm, item): raise RuntimeError("out of memory")
def nothing(arm, item): return None
number = 5
"""
TABLES = ["table.csv", "pilot.tsv", "records.jsonl"]
ORDINARY = [*TABLES, "long.csv", "items.txt", "functions.py", "notes.log", "data.db"]
STORES = ["finished.sqlite", "unfinished.sqlite", "commands.sqlite"]
FILES = [
    *ORDINARY,
    *STORES,
    "page.html",
    "nowhere/x.csv",
    "folder",
    "-",
    "new.sqlite",
    "new.html",
    ".",
    "/",
    "/dev/null",
    "",
]
FUNCTIONS = ["functions:score"] * 6 + ["functions:fails", "functions:nothing", "functions:number", "functions", "nowhere:x", "functions.py:score", ":", "os:getcwd", "functions:score:x"]  # fmt: skip
PROGRAMS = ["true", "false", "echo 5", "echo {item}", "echo nothing", "nowhere", "", "echo '", "true {item}", "echo -n {item} 1e999"]  # fmt: skip
NUMBERS = ["0", "1", "5", "0.05", "0.5", "-1", "nan", "inf", "1e308", "1e-320", "99999999999999999999", "x", ""]
# Values of options by name; of others a number or any word.
VALUES: dict[str, list[str]] = {
    "--arms": ["a,b,c"] * 5 + ["a,b", "a", "", ",", "a,a", "a, b ,c", "a,\x1b[2J,b", "é,ß", "-a,-b", "a" * 300 + ",b"],
    "--arm-column": ["model", "a", "x"],
    "--bounds": ["0,1", "-1,2", "0,1e308", "-1e308,1e308", "1,0", "0,0", "nan,1", "0,inf", "0", "", "0,1,2", "0;1", "1e-320,2e-320"],
    "--criterion": ["mean", "wins", "x"],
    "--games": ["0", "-1", "x", "1.5"],
    "--group-column": ["group", "item", "x"],
    "--item-column": ["item", "a", "", "x", "task"],
    "--items": ["items.txt"] * 3 + [*ORDINARY, *STORES, "-", "folder", "nowhere"],
    "--max-evaluations": ["0", "5", "12", "-1", "x"],
    "--missing": ["raise", "worst", "drop", "x"],
    "--n-items": ["20", "0", "-1", "x", "100"],
    "--on-error": ["raise", "worst", "disqualify", "x"],
    "--output": ["page.html", "new.html", *ORDINARY, *STORES, "folder", ""],
    "--repetitions": ["2", "3", "0", "-1", "x"],
    "--report": ["page.html", "new.html", *ORDINARY, *STORES, "folder", "nowhere/x.html", "/dev/null/x"],
    "--retries": ["0", "1", "-1", "x"],
    "--rounds-in-flight": ["1", "3", "0", "-1", "1000000000"],
    "--score": ["time", "stdout", "x"],
    "--score-column": ["score", "a", "x"],
    "--store": ["new.sqlite"] * 2 + [*ORDINARY, *STORES, "folder", "nowhere/x", ":memory:", "//x", "/dev/null", "-"],
    "--target": ["items", "population", "x"],
    "--timeout": ["5", "1", "0", "-1", "nan", "inf", "1e308", "x"],
    "--workers": ["1", "1", "1", "0", "-1", "x", "2"],
}  # fmt: skip
HARMLESS = ("--workers", "--repetitions", "--games", "--n-items")  # no other values: they could mean honest work
WEIGHTS = {"table": 30, "plan": 3, "run": 22, "commands": 12, "show": 12, "report": 4, "resume": 10, "limit": 3, "validate": 2, "reproduce": 2, "demo": 0.05, "": 2}  # fmt: skip
# What each command is given to begin with: so many evaluations and games that a case ends soon.
SMALL = {
    "run": ["--max-evaluations", "30"],
    "commands": ["--max-evaluations", "4"],
    "resume": ["--max-evaluations", "9"],
    "plan": ["--repetitions", "10"],
    "limit": ["--repetitions", "2"],
    "validate": ["--games", "0"],
    "reproduce": ["--repetitions", "0"],
    "demo": ["--max-evaluations", "13", "--output", "folder/demo"],
}


def line(luck: random.Random) -> list[str]:
    """A command with its arguments, some right, some wrong."""
    (named,) = luck.choices(list(WEIGHTS), list(WEIGHTS.values()))
    if not named:
        return [word(luck) for _ in range(luck.randint(0, 3))]
    words = [named, *arguments(named, luck), *SMALL.get(named, [])]
    several = getattr(command.commands[named], "commands", {named: command.commands[named]})
    params = [part for one in several.values() for part in one.params]
    known = [part for part in params if part.param_type_name == "option"]
    for _ in range(luck.choice((0, 1, 1, 2, 3, 5))):
        option = luck.choice(known)
        name = luck.choice([*option.opts, *option.secondary_opts])
        words.append(name)
        if not option.is_flag:
            values = VALUES.get(option.opts[0], NUMBERS)
            fixed = option.opts[0] in HARMLESS or luck.random() < 0.9
            words.append(luck.choice(values) if fixed else word(luck))
    if luck.random() < 0.05:
        words.insert(luck.randrange(len(words) + 1), word(luck))
    return words


def arguments(named: str, luck: random.Random) -> list[str]:
    """What a command is about; more often right than not."""
    right = luck.random() < 0.6
    if named in ("table", "plan", "limit"):
        return [luck.choice(TABLES if right else FILES)]
    if named in ("show", "report", "resume"):
        page = ["--output", luck.choice(("new.html", "page.html"))] if named == "report" and right else []
        return [luck.choice(STORES if right else FILES), *page]
    if named == "run":
        more = ["--items", "items.txt", "--bounds", "0,1"] if right else []
        return [luck.choice(FUNCTIONS), "--arms", luck.choice(VALUES["--arms"]), *more]
    if named == "commands":
        return luck.sample(PROGRAMS, luck.choice((2, 2, 3, 1)))
    return [luck.choice(("figure1", "convex", "x"))] if named == "reproduce" else []


def word(luck: random.Random) -> str:
    """A word that a shell could give: any text without NUL."""
    text = bad_values.text(luck).replace("\0", "").replace("\ud800", "\udc80")
    return luck.choice((text, text, luck.choice(FILES), luck.choice(tuple(VALUES)), str(luck.randint(-5, 50))))


def make(folder: Path) -> None:
    """Ordinary files of a user, and three saved races."""
    luck = random.Random(1)  # noqa: S311 - no secrets here
    rows = "".join(f"q{k},{luck.random():.3f},{luck.random():.3f},{luck.random() + 0.3:.3f}\n" for k in range(30))
    long = "".join(f"q{k},{arm},{luck.random():.3f},g{k // 3}\n" for k in range(12) for arm in "abc")
    files = {
        "table.csv": f"item,a,b,c\n{rows}",
        "long.csv": f"task,model,score,group\n{long}",
        "pilot.tsv": "a\tb\n" + "".join(f"{luck.random():.2f}\t{luck.random():.2f}\n" for _ in range(20)),
        "records.jsonl": "".join(f'{{"a": {k % 2}, "b": {k % 3}}}\n' for k in range(15)),
        "items.txt": "".join(f"{k}\n" for k in range(40)),
        "functions.py": FUNCTION,
        "notes.log": "everything that I measured\n",
        "page.html": "<html></html>",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
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
    wait_for_nothing()
    os.environ.update({"HOME": str(folder), "COLUMNS": "100", "TERM": "dumb"})
    home, whole = folder / "home", folder / "whole"
    home.mkdir()
    os.chdir(home)
    make(home)
    shutil.copytree(home, whole)
    called(["table", "table.csv", "--report", "new.html"])  # what most cases need is imported and compiled
    called(["plan", "pilot.tsv", "--repetitions", "10"])
    put_back(home, whole, [])

    def case(luck: random.Random, note: Note) -> str:
        words = line(luck)
        note(" ".join(map(repr, words)))
        os.chdir(home)
        try:
            code, out, err = called(words)
        finally:
            changed = put_back(home, whole, words)
        if changed:
            raise Fault(f"{changed[0]} was changed or removed by {words[:1]}")
        check_said(words, code, out, err)
        return f"{words[0] if words and words[0] in WEIGHTS else 'other'} {code}"

    return case


def content(folder: Path) -> dict[str, bytes]:
    """All files of the user."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def put_back(home: Path, whole: Path, words: list[str]) -> list[str]:
    """Restore the folder; the files that a command has changed and may not."""
    before, after = content(whole), content(home)
    changed = [name for name, data in before.items() if after.get(name) != data]
    wrong = [name for name in changed if not may_change(home / name, words, before[name])]
    if changed or {path.name for path in home.iterdir()} - {"__pycache__"} != {path.name for path in whole.iterdir()}:
        for path in home.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copytree(whole, home, dirs_exist_ok=True)
    return wrong


def may_change(path: Path, words: list[str], before: bytes) -> bool:
    """Whether a command may have changed a file that it names: a page, or a race that was continued and kept."""
    if path.name not in words and not any(word.endswith(f"/{path.name}") for word in words):
        return False
    if path.suffix == ".html" or "--overwrite" in words:
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
    for letter in re.sub(r"[\n]", "", out + err):
        if unicodedata.category(letter) in ("Cc", "Cs") or letter in f"\u202e\u2066\u2067\u2028{UNSEEN}":
            raise Fault(f"the control character U+{ord(letter):04X} was printed by {words[:1]}, code {code}")
    errors = [line for line in err.splitlines() if line.startswith("error:")]
    usage = "Usage" in err or "Usage" in out or "─ Error ─" in err
    told = "failed" in out or "could be evaluated" in out if code == 4 else usage  # 4: a verdict can say it too
    if code in (2, 4) and not errors and not told:
        raise Fault(f"exit code {code} without a word: {err[-200:]!r}")
    if len(errors) > 1 or any(len(line) > LONGEST for line in errors):
        raise Fault(f"an error is not one sentence: {err[:300]!r}")
