"""Files and streams that commands write: nothing of the user is lost, and nothing ends in a traceback."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from matplotlib.figure import Figure
from typer.testing import CliRunner

import bestarm
from bestarm.cli import app, streams
from bestarm.studies import convex, output
from cli.conftest import Unchanged, run_process
from conftest import Cli, Rejects
from small_race import run

TABLE = "item,low,high\n" + "".join(f"{k},0.{k % 3},0.{5 + k % 3}\n" for k in range(60))


@pytest.fixture(scope="module")
def races(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("races")
    run(store=folder / "race.sqlite")
    run(store=folder / "other.sqlite", seed=1)
    return folder


@pytest.fixture(autouse=True)
def _files(races: Path, folder: Path) -> None:
    shutil.copytree(races, folder, dirs_exist_ok=True)
    Path("scores.csv").write_text(TABLE, encoding="utf-8")
    Path("items.txt").write_text("a\nb\nc\n", encoding="utf-8")
    Path("mybench.py").write_text("def score(arm, item):\n    return len(arm) / 9\n", encoding="utf-8")
    Path("notes.html").write_text("<!doctype html>\n<p>my notes</p>", encoding="utf-8")
    Path("link.html").symlink_to("scores.csv")
    os.link("scores.csv", "hard.html")


REPORT = ["report", "race.sqlite", "-o"]
RUN = ["run", "mybench:score", "--arms", "a,bb", "--items", "items.txt", "--bounds", "0,1", "--quiet"]
PROGRAMS = ["commands", "cat mybench.py {item}", "tac {item}", "--items", "items.txt", "--quiet"]
FOREIGN: dict[str, list[str]] = {  # the last word is the file
    "another race": [*REPORT, "other.sqlite"],
    "a list of items": [*REPORT, "items.txt"],
    "a table": [*REPORT, "scores.csv"],
    "another page": ["table", "scores.csv", "--report", "notes.html"],
    "a link to a table": [*REPORT, "link.html"],
    "a page of a function": [*RUN, "--store", "new.sqlite", "--report", "notes.html"],
    "a page of programs": [*PROGRAMS, "--store", "new.sqlite", "--report", "notes.html"],
    "a page of a race that goes on": ["resume", "race.sqlite", "--report", "notes.html"],
}
READ: dict[str, list[str]] = {
    "the race": [*REPORT, "race.sqlite"],
    "its log": [*REPORT, "race.sqlite-wal"],
    "the table": ["table", "scores.csv", "--report", "./scores.csv"],
    "a link to the table": ["table", "scores.csv", "--report", "link.html"],
    "the table by another name": ["table", "scores.csv", "--report", "hard.html"],
    "the items": [*RUN, "--report", "items.txt"],
    "the code": [*RUN, "--report", "mybench.py"],
    "a race that is not there yet": [*RUN, "--store", "new.sqlite", "--report", "new.sqlite"],
    "its log, not there yet": [*RUN, "--store", "new.sqlite", "--report", "new.sqlite-shm"],
    "what programs read": [*PROGRAMS, "--report", "mybench.py"],
    "the items of programs": [*PROGRAMS, "--report", "items.txt"],
}


@pytest.mark.parametrize("case", FOREIGN)
def test_files_that_bestarm_has_not_made_are_left_before_a_race_is_run(
    case: str, rejects: Rejects, unchanged: Unchanged
) -> None:
    with unchanged():
        rejects(f"{FOREIGN[case][-1]} exists and does not look like a page of bestarm", *FOREIGN[case])


@pytest.mark.parametrize("case", READ)
def test_what_a_command_reads_is_left_whatever_is_asked_for(case: str, rejects: Rejects, unchanged: Unchanged) -> None:
    with unchanged():
        for words in ([], ["--overwrite"]):
            rejects("is what this command reads or keeps: give the page another name", *READ[case], *words)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("reproduce convex --gap 0.25 --repetitions 2 --output .", ["convex.csv", "convex.png"]),
        ("validate --games 1 --arms 2 --output .", ["validate.csv"]),
        ("demo --max-evaluations 16 --output . --quiet", ["race.png", "report.html"]),
    ],
)
def test_tables_and_pictures_in_a_folder_are_left_too(words: str, names: list[str], rejects: Rejects) -> None:
    Path("race.sqlite").unlink()
    for name in names:
        Path(name).write_text("mine", encoding="utf-8")
        rejects(f"{name} exists and does not look like a ", *words.split())
        assert Path(name).read_text(encoding="utf-8") == "mine"
        Path(name).unlink()


def test_a_file_is_replaced_if_bestarm_made_it_if_it_is_empty_or_if_it_is_asked_for(cli: Cli) -> None:
    bestarm.load_result("race.sqlite").to_html("expected.html")
    page = Path("expected.html").read_bytes()
    run(seed=3).to_html("page.html")
    Path("empty.html").touch()
    former = page.decode().replace('<meta name="generator" content="bestarm', '<meta name="x" content="')
    Path("former.html").write_text(former, encoding="utf-8")  # of a version that said it only at the end
    for name, words in {"page.html": [], "empty.html": [], "former.html": [], "notes.html": ["--overwrite"]}.items():
        assert cli(*REPORT, name, *words).exit_code == 0
        assert Path(name).read_bytes() == page


def test_pictures_and_tables_are_known_again() -> None:
    given: dict[str, Any] = dict.fromkeys(output.headings_of(convex.Point), "=1")
    output.write_csv([convex.Point(**given)], Path("points.csv"))
    output.write_picture(Figure(figsize=(1, 1)), Path("points.png"), dpi=20)
    streams.WantedFile(Path("points.csv"), streams.table_of(output.headings_of(convex.Point)))
    streams.WantedFile(Path("points.png"), streams.PICTURE)
    with pytest.raises(ValueError, match=r"^points.png exists and does not look like a page of bestarm"):
        streams.WantedFile(Path("points.png"), streams.PAGE)
    assert Path("points.csv").read_text(encoding="utf-8").splitlines()[1].startswith("'=1,'=1,")


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs devices as files")
def test_devices_are_written_as_they_come(cli: Cli) -> None:
    assert cli(*REPORT, os.devnull).exit_code == 0
    assert Path(os.devnull).is_char_device()


# --- streams ---------------------------------------------------------------------------------------------------------


DEVICE = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
FULL = "error: standard output cannot be written: No space left on device\n"


@DEVICE
@pytest.mark.parametrize("words", [["table", "scores.csv", "--bounds", "0,1", "--report", "page.html"], ["--help"]])
def test_a_full_disk_behind_standard_output_is_one_sentence(words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = run_process(*words, stdout=full)
    wrote = "Wrote page.html.\n" if "--report" in words else ""  # the page is not lost with it
    assert (ended.returncode, ended.stderr) == (2, f"{FULL}{wrote}")
    assert Path("page.html").exists() == bool(wrote)


@pytest.mark.parametrize("words", [["show", "race.sqlite", "--json"], ["--help"]])
def test_a_pipe_that_nobody_reads_ends_quietly(words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        ended = run_process(*words, stdout=write)
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_letters_that_a_terminal_does_not_know_are_escaped() -> None:
    run(lambda arm, item: float(arm == "ü"), arms=["ü", "a"], store="letters.sqlite")
    terminal = CliRunner(charset="ascii")
    assert terminal.invoke(app, ["show", "letters.sqlite"]).stdout.startswith(r"BEST: \xfc ")
    assert json.loads(terminal.invoke(app, ["show", "letters.sqlite", "--json"]).stdout)["best"] == "ü"


@DEVICE
def test_remarks_that_cannot_be_written_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stderr", full)
        streams.remark("lost")
    monkeypatch.setattr(sys, "stderr", None)
    streams.remark("lost as well")


@DEVICE
@pytest.mark.parametrize("say", [streams.say, streams.say_json])
def test_a_result_that_cannot_be_written_is_an_error_unless_nobody_wants_it(
    say: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(typer.Exit) as end:
            say("[]")
    assert (end.value.exit_code, capsys.readouterr().err) == (2, FULL)
    monkeypatch.setattr(sys, "stdout", None)  # closed from the start
    streams.say("nothing")


def test_the_hint_to_continue_can_be_typed(cli: Cli) -> None:
    ended = cli(*RUN, "--store", "my race.sqlite", "--max-evaluations", "2")
    assert "to continue: bestarm resume 'my race.sqlite' --max-evaluations TOTAL" in ended.stderr
