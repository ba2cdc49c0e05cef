"""`bestarm resume` runs what a file names: it says what that is, and asks."""

import io
import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from bestarm import load_result
from conftest import Cli

MODULE = """
from pathlib import Path
Path("imported").touch()
def score(arm, item):
    return {"low": 0.2, "high": 0.9}[arm] + (hash(item) % 7) / 100
"""
RUN = ["run", "strange:score", "--arms", "low,high", "--items", "items.txt", "--bounds", "0,1", "--quiet"]
PROGRAMS = ["commands", "true", "true {item}", "--quiet"]
BEGIN = ["--store", "race.sqlite", "--max-evaluations", "8"]
Begin = Callable[[list[str]], None]
RESUME = ["resume", "race.sqlite", "--max-evaluations", "300", "--quiet"]


@pytest.fixture
def begin(cli: Cli, folder: Path) -> Begin:
    """Begin a race, and forget the module that it has imported."""
    (folder / "strange.py").write_text(MODULE)
    (folder / "items.txt").write_text("\n".join(f"item {k}" for k in range(200)))

    def run(words: list[str]) -> None:
        assert cli(*words, *BEGIN).exit_code == 3
        sys.modules.pop("strange", None)
        Path("imported").unlink(missing_ok=True)

    return run


def execute(statement: str, *values: str) -> None:
    """Change the file of the race as somebody else could."""
    with closing(sqlite3.connect("race.sqlite")) as connection, connection:
        connection.execute(statement, values)


class Terminal(io.StringIO):
    """Somebody at a terminal, with an answer."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def answered(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """How `bestarm resume` ends at a terminal where somebody types an answer."""

    def run(answer: str) -> Result:
        monkeypatch.setattr("bestarm.cli.saved.sys", type("Sys", (), {"stdin": Terminal(answer)}))
        return cli(*RESUME)

    return run


def assert_nothing_was_run(ended: Result) -> None:
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert not Path("imported").exists()
    assert load_result("race.sqlite").n_evaluations == 8


def test_without_a_terminal_it_is_refused_in_one_line_that_says_what_would_be_run(
    begin: Begin, cli: Cli, folder: Path
) -> None:
    begin(RUN)
    ended = cli(*RESUME)
    assert_nothing_was_run(ended)
    (line,) = ended.stderr.splitlines()
    assert "--yes" in line
    assert all(word in line for word in ("race.sqlite", "'score'", str(folder / "strange.py"), "items.txt", "'low'"))


def test_yes_runs_it_and_so_does_the_call_that_began_the_race(begin: Begin, cli: Cli) -> None:
    begin(RUN)
    ended = cli(*RESUME, "--yes")
    assert (ended.exit_code, ended.stderr) == (0, "")
    begun = load_result("race.sqlite").n_evaluations
    again = cli(*RUN, "--store", "race.sqlite")
    assert (again.exit_code, again.stderr) == (0, "")
    assert load_result("race.sqlite").n_evaluations == begun > 8


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "no\n", "yesterday\n"])
def test_anything_but_yes_runs_nothing(begin: Begin, answered: Cli, answer: str) -> None:
    begin(RUN)
    ended = answered(answer)
    assert_nothing_was_run(ended)
    assert ended.stderr.splitlines()[-2:] == ["Run this? [y/N]", "error: nothing was run"]


@pytest.mark.parametrize("answer", ["y\n", "Yes\n"])
def test_the_question_says_what_is_run(begin: Begin, answered: Cli, answer: str, folder: Path) -> None:
    begin(RUN)
    ended = answered(answer)
    assert ended.exit_code == 0
    assert Path("imported").exists()
    assert ended.stderr.splitlines() == [
        "To continue the race in race.sqlite, this would be run, with all your rights:",
        f"- the function 'score' of the module 'strange', imported from '{folder / 'strange.py'}'",
        "- for the arms 'low', 'high'",
        f"- on the lines of '{folder / 'items.txt'}'",
        f"- on 1 process, with the folder '{folder}' first where Python looks for modules",
        "Run this? [y/N]",
    ]


def test_commands_are_shown_with_what_a_terminal_would_hide(begin: Begin, answered: Cli, folder: Path) -> None:
    begin(PROGRAMS)
    execute("UPDATE arms SET name = ? WHERE arm = 1", "touch mark \x1b[2K\r\u202etrue")
    ended = answered("n\n")
    assert ended.exit_code == 2
    assert ended.stderr.splitlines()[1:4] == [
        "- the program 'true'",
        "- the program 'touch mark \\x1b[2K\\r\\u202etrue'",
        f"- in the folder '{folder}'",
    ]
    assert not Path("mark").exists()


def test_what_is_too_long_to_be_shown_is_not_asked_about(begin: Begin, answered: Cli) -> None:
    begin(PROGRAMS)
    execute("UPDATE arms SET name = ? WHERE arm = 1", "touch mark " + "x" * 2000)
    ended = answered("y\n")
    assert ended.exit_code == 2
    assert "Run this?" not in ended.stderr
    assert "--yes" in ended.stderr
    assert not Path("mark").exists()


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "function", "function": 7, "items": None, "folder": "."},
        {"kind": "function", "function": "os:system", "items": [], "folder": "."},
        {"kind": "function", "function": "os:system", "items": None},
        {"kind": "function", "function": "os:system", "items": None, "folder": ".", "workers": 0},
        {"kind": "function", "function": "os:system", "items": None, "folder": ".", "shell": True},
        {"kind": "commands", "items": None, "folder": ".", "timeout": "long"},
        {"kind": "commands", "items": None, "folder": ".", "score": "best"},
        {"kind": "demo"},
        {"kind": "optimizers", "more": 1},
        {"kind": "shell"},
        {"kind": ["function"]},
    ],
)
def test_an_origin_that_no_race_has_is_refused(begin: Begin, cli: Cli, source: dict[str, Any]) -> None:
    begin(RUN)
    execute("UPDATE settings SET value = ? WHERE name = 'source'", json.dumps(source))
    ended = cli(*RESUME, "--yes")
    assert_nothing_was_run(ended)
    assert len(ended.stderr.splitlines()) == 1


def test_the_demo_of_an_earlier_version_is_shown_and_says_why_it_is_not_continued(begin: Begin, cli: Cli) -> None:
    begin(RUN)
    execute("UPDATE settings SET value = ? WHERE name = 'source'", json.dumps({"kind": "demo"}))
    assert cli("show", "race.sqlite").exit_code == 3
    ended = cli(*RESUME, "--yes")
    assert_nothing_was_run(ended)
    assert "the demo of an earlier bestarm, a race of compressors, can be shown but not continued" in ended.stderr


def test_a_demo_of_methods_that_it_does_not_have_is_refused(begin: Begin, cli: Cli) -> None:
    begin(RUN)
    execute("UPDATE settings SET value = ? WHERE name = 'source'", json.dumps({"kind": "optimizers"}))
    ended = cli(*RESUME, "--yes")
    assert_nothing_was_run(ended)
    assert "the demo has no optimizer 'low'" in ended.stderr


@pytest.mark.parametrize(
    ("module", "place"),
    [
        ("outer.inner", "outer/inner.py"),
        ("outer", "outer/__init__.py"),
        ("outer.absent", None),
        ("absent", None),
        ("json", json.__file__),
    ],
)
def test_a_module_is_found_without_importing_it_or_what_is_around_it(
    begin: Begin, cli: Cli, module: str, place: str | None, folder: Path
) -> None:
    (folder / "outer").mkdir()
    for name in ("__init__", "inner"):
        (folder / "outer" / f"{name}.py").write_text(MODULE)
    begin(RUN)
    source = {"kind": "function", "function": f"{module}:score", "items": None, "folder": str(folder)}
    execute("UPDATE settings SET value = ? WHERE name = 'source'", json.dumps(source))
    ended = cli(*RESUME)
    assert_nothing_was_run(ended)
    assert f"imported from {'wherever Python finds it' if place is None else repr(str(folder / place))}" in ended.stderr
