"""`bestarm resume` runs what a file names: it says what that is, and asks, unless this user began the race here."""

import io
import json
import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bestarm import load_result
from bestarm.cli import app
from bestarm.cli.origins import found_at
from bestarm.record import sqlite as begun_here

MODULE = """
from pathlib import Path
Path("imported").touch()
def score(arm, item):
    return {"low": 0.2, "high": 0.9}[arm] + (hash(item) % 7) / 100
"""
RUN = ["run", "strange:score", "--arms", "low,high", "--items", "items.txt", "--bounds", "0,1", "--quiet"]


@pytest.fixture(autouse=True, name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module, items and programs, and a home of its own."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("strange.py").write_text(MODULE)
    Path("items.txt").write_text("\n".join(f"item {k}" for k in range(200)))
    yield tmp_path / "work"
    sys.modules.pop("strange", None)


class Terminal(io.StringIO):
    """Somebody at a terminal, with an answer."""

    def isatty(self) -> bool:
        return True


def call(*words: str, answer: str | None = None, monkeypatch: pytest.MonkeyPatch | None = None) -> Result:
    if answer is None or monkeypatch is None:
        return CliRunner().invoke(app, words)
    monkeypatch.setattr("bestarm.cli.saved.sys", type("Sys", (), {"stdin": Terminal(answer)}))
    return CliRunner().invoke(app, words)


def begin(*more: str) -> None:
    assert call(*RUN, "--store", "race.sqlite", "--max-evaluations", "8", *more).exit_code == 3
    forget_module()


def forget_module() -> None:
    sys.modules.pop("strange", None)
    Path("imported").unlink(missing_ok=True)


def put(name: str, value: Any) -> None:
    with closing(sqlite3.connect("race.sqlite")) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, json.dumps(value)))


def setting(name: str) -> Any:
    with closing(sqlite3.connect("race.sqlite")) as connection:
        return json.loads(connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()[0])


def known() -> Path:
    return begun_here.state_folder() / begun_here.LIST


MORE = ["resume", "race.sqlite", "--max-evaluations", "300", "--quiet"]


def not_run(ended: Result) -> None:
    assert ended.exit_code == 2
    assert ended.stdout == ""
    assert not Path("imported").exists()
    assert load_result("race.sqlite").n_evaluations == 8


def test_a_race_begun_here_goes_on_without_a_question(folder: Path) -> None:
    begin()
    Path("race.sqlite").rename("moved.sqlite")
    ended = call("resume", "moved.sqlite", *MORE[2:])
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert Path("imported").exists()


def test_what_is_remembered_is_for_this_user_alone() -> None:
    begin()
    assert stat.S_IMODE(known().stat().st_mode) == 0o600
    assert stat.S_IMODE(known().parent.stat().st_mode) == 0o700
    begin()  # continues
    assert len(known().read_text().split()) == 1
    assert setting("id") not in known().read_text()


def test_nobody_at_a_terminal_is_refused_in_one_line() -> None:
    begin()
    known().unlink()
    ended = call(*MORE)
    not_run(ended)
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: race.sqlite was not begun here by you")
    assert "add --yes if you trust what it would run (" in line


def test_yes_runs_it() -> None:
    begin()
    known().unlink()
    assert call(*MORE, "--yes").exit_code == 0


@pytest.mark.parametrize("answer", ["", "\n", "n\n", "no\n", "yesterday\n"])
def test_anything_but_yes_runs_nothing(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    begin()
    known().unlink()
    ended = call(*MORE, answer=answer, monkeypatch=monkeypatch)
    not_run(ended)
    assert ended.stderr.splitlines()[-2:] == ["Run this? [y/N]", "error: nothing was run"]


@pytest.mark.parametrize("answer", ["y\n", "Yes\n"])
def test_the_question_says_what_is_run(answer: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin()
    known().unlink()
    ended = call(*MORE, answer=answer, monkeypatch=monkeypatch)
    assert ended.exit_code == 0
    assert ended.stderr.splitlines() == [
        "race.sqlite was not begun by you on this machine. To continue it, this would be run, with all your rights:",
        f"- the function 'score' of the module 'strange', imported from '{folder / 'strange.py'}'",
        "- for the arms 'low', 'high'",
        f"- on the lines of '{folder / 'items.txt'}'",
        f"- on 1 process, with the folder '{folder}' first where Python looks for modules",
        "Run this? [y/N]",
    ]


def test_commands_are_shown_with_what_a_terminal_would_hide(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["commands", "true", "true {item}", "--max-evaluations", "8", "--quiet", "--store", "race.sqlite"]
    assert call(*words).exit_code == 3
    with closing(sqlite3.connect("race.sqlite")) as connection, connection:
        connection.execute("UPDATE arms SET name = ? WHERE arm = 1", ("touch mark \x1b[2K\r\u202etrue",))
    ended = call(*MORE, answer="n\n", monkeypatch=monkeypatch)
    assert ended.exit_code == 2
    shown = ended.stderr.splitlines()[1:4]
    assert shown == [
        "- the program 'true'",
        "- the program 'touch mark \\x1b[2K\\r\\u202etrue'",
        f"- in the folder '{folder}'",
    ]
    assert not Path("mark").exists()


def test_what_is_too_long_to_be_shown_is_not_asked_about(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["commands", "true", "true {item}", "--max-evaluations", "8", "--quiet", "--store", "race.sqlite"]
    assert call(*words).exit_code == 3
    with closing(sqlite3.connect("race.sqlite")) as connection, connection:
        connection.execute("UPDATE arms SET name = ? WHERE arm = 1", ("touch mark " + "x" * 2000,))
    ended = call(*MORE, answer="y\n", monkeypatch=monkeypatch)
    assert ended.exit_code == 2
    assert "names more than can be shown here" in ended.stderr
    assert not Path("mark").exists()


CHANGES: dict[str, tuple[str, Any]] = {
    "another function": ("function", "os:system"),
    "another folder": ("folder", "/tmp/elsewhere"),  # noqa: S108
    "other items": ("items", "/etc/passwd"),
    "more workers": ("workers", 64),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_file_that_came_back_changed_is_not_recognised(case: str) -> None:
    begin()
    put("source", setting("source") | dict([CHANGES[case]]))
    not_run(call(*MORE))


def test_a_file_for_other_lines_in_the_list_of_items_is_not_recognised() -> None:
    begin()
    put("items_digest", "0" * 64)
    not_run(call(*MORE))


def test_other_arms_are_not_recognised() -> None:
    begin()
    with closing(sqlite3.connect("race.sqlite")) as connection, connection:
        connection.execute("UPDATE arms SET name = 'rm -rf' WHERE arm = 1")
    not_run(call(*MORE))


@pytest.mark.parametrize("name", [None, 7, [], "0" * 32])
def test_a_name_that_is_not_known_is_not_recognised(name: Any) -> None:
    begin()
    put("id", name)
    not_run(call(*MORE))


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
        {"kind": "demo", "more": 1},
        {"kind": "shell"},
        {"kind": ["function"]},
    ],
)
def test_an_origin_that_no_race_has_is_refused(source: dict[str, Any]) -> None:
    begin()
    put("source", source)
    ended = call(*MORE, "--yes")
    not_run(ended)
    assert len(ended.stderr.splitlines()) == 1


def test_a_home_that_cannot_be_written_does_not_stop_a_race(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    begin()
    not_run(call(*MORE))
    assert call(*MORE, "--yes").exit_code == 0


def test_without_the_variable_the_folder_is_in_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for given in ("", "relative/path"):
        monkeypatch.setenv("XDG_STATE_HOME", given)
        assert begun_here.state_folder().is_relative_to(tmp_path)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert begun_here.state_folder() == tmp_path / "local" / "bestarm"


def test_a_module_is_found_without_importing_it_or_what_is_around_it(folder: Path) -> None:
    (folder / "outer").mkdir()
    for name in ("__init__", "inner"):
        (folder / "outer" / f"{name}.py").write_text(MODULE)
    assert found_at("outer.inner", str(folder)) == repr(str(folder / "outer" / "inner.py"))
    assert found_at("outer", str(folder)) == repr(str(folder / "outer" / "__init__.py"))
    assert found_at("outer.absent", str(folder)) == found_at("absent", str(folder)) == "wherever Python finds it"
    assert os.fspath(Path(json.__file__)) in found_at("json", str(folder))
    assert not Path("imported").exists()
