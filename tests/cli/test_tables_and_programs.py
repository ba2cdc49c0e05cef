"""`bestarm table`, `commands`, `plan`, `report` and `resume` of programs: what Python returns, and all examples run."""

import inspect
import json
import os
import re
import shlex
import sys
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import Result

import bestarm
from bestarm import RaceResult, planning, race_commands, race_table, read_table
from bestarm.cli import app, research
from cli.conftest import Unchanged, words_of
from conftest import Cli, Rejects
from race_files import RaceFile

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
NUMBERS = "import sys\nprint('score', ({base} + len(sys.argv[1])) / 10)"  # of items with 1 to 3 letters
ITEMS = [f"{k % 10}" * (1 + k % 3) + "." * (k // 30 % 2) for k in range(40)]
LOW_HIGH = ("./low {item}", "./high {item}")
NOTED_LOW = ("./noted {item}", "./low {item}")
STDOUT = ("--items", "cases.txt", "--score", "stdout", "--bounds", "0,1", "--quiet")


def program(path: Path, code: str) -> None:
    """An executable file; the interpreter without its site-packages starts fast."""
    path.write_text(f"#!{sys.executable} -IS\n{code}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture(autouse=True)
def _files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and programs, and plans of few races."""
    for name, text in tables().items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "cases.txt").write_text("\n".join([*ITEMS, "", " "]), encoding="utf-8")
    program(folder / "low", NUMBERS.format(base=1))
    program(folder / "high", NUMBERS.format(base=5))
    program(folder / "noted", "open('noted.txt', 'a').write('x\\n')\n" + NUMBERS.format(base=3))
    for name, value in (("FIRST", planning.Effort(3, 3, 2000)), ("PILOTS", 5), ("LONGEST", 3000)):
        monkeypatch.setattr(planning, name, value)


@pytest.fixture
def commands(cli: Cli) -> Cli:
    """`bestarm commands` of programs that print scores, and more words."""

    def call(*words: Any, programs: tuple[str, ...] = LOW_HIGH) -> Result:
        return cli("commands", *programs, *STDOUT, *words)

    return call


def scores() -> pd.DataFrame:
    """Scores in [0, 1] that are easily told apart."""
    rng = np.random.default_rng(0)
    rows = [0.2, 0.5, 0.6] + 0.3 * rng.random((200, 1)) + 0.1 * rng.random((200, 3))
    frame = pd.DataFrame(rows.round(3), columns=pd.Index(["plain", "[b]few[/b]", "steps"]))
    frame.insert(0, "item", [f"q{k}" for k in range(200)])
    return frame


@cache
def tables() -> dict[str, str]:
    """The tables as text."""
    long = scores().rename(columns={"item": "task"}).melt("task", var_name="model", value_name="accuracy")
    frames = {"scores.csv": scores(), "gaps.csv": gaps(), "runs.csv": long, "pilot.csv": scores().iloc[:50]}
    return {name: frame.to_csv(index=False) for name, frame in frames.items()}


def gaps() -> pd.DataFrame:
    """The best is missing on most items."""
    frame = scores()
    frame.loc[frame.index % 4 != 0, "steps"] = np.nan
    return frame


def in_python(*programs: str, **options: Any) -> RaceResult[Any]:
    """The race of `commands`, as a call."""
    usual: dict[str, Any] = {"score": "stdout", "bounds": (0, 1), "progress": False}
    return race_commands(programs or LOW_HIGH, items=ITEMS, **usual | options)


# --- tables and programs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--delta", 0.2, "--seed", 9], {"delta": 0.2, "seed": 9}),
        (["--bounds", "0,1", "--lower-is-better"], {"bounds": (0, 1), "lower_is_better": True}),
        (["--max-evaluations", 2000, "--quiet"], {"max_evaluations": 2000}),
        (["--epsilon", 0.2, "--indifference-zone", 0.05], {"epsilon": 0.2, "indifference_zone": 0.05}),
        (["--epsilon", 0.25, "--delta", 0.01], {"epsilon": 0.25, "delta": 0.01}),
        (["--delta", 1e-30], {"delta": 1e-30}),
    ],
)
def test_table_prints_what_race_table_returns(cli: Cli, words: list[Any], options: dict[str, Any]) -> None:
    expected = race_table(read_table("scores.csv"), **options)
    ended = cli("table", "scores.csv", *words, "--json")
    code = 0 if expected.answered else 3
    assert (ended.exit_code, ended.stderr, ended.stdout) == (code, "", expected.to_json() + "\n")
    shown = cli("table", "scores.csv", *words)
    assert (shown.exit_code, shown.stderr, words_of(shown.stdout)) == (code, "", words_of(str(expected)))


def test_live_shows_the_race_that_would_have_run(cli: Cli) -> None:
    live = race_table(read_table("scores.csv"), live=True)
    assert cli("table", "scores.csv", "--live", "--json").stdout == live.to_json() + "\n"


@pytest.mark.parametrize(
    ("words", "choice"),
    [
        (["--arms", "steps,plain"], {"arms": ["steps", "plain"]}),
        (["--ignore", "[b]few[/b]"], {"ignore": ["[b]few[/b]"]}),
        (["--ignore", '"a, b", plain'], {"ignore": ["a, b", "plain"]}),
    ],
)
def test_arms_and_ignore_choose_columns(cli: Cli, words: list[str], choice: dict[str, Any]) -> None:
    scores().assign(**{"a, b": 0.5}).to_csv("more.csv", index=False)
    expected = race_table(read_table("more.csv", **choice))
    ended = cli("table", "more.csv", *words, "--json")
    assert (ended.stderr, ended.stdout) == ("", expected.to_json() + "\n")


def test_how_a_table_was_read_is_said_in_lines_of_their_own(cli: Cli) -> None:
    scores().assign(answer="Paris", prompt_tokens=300).to_csv("more.csv", index=False)
    ended = cli("table", "more.csv", "--json")
    assert ended.stderr.splitlines() == [
        "note: left out, because they hold texts: answer ('Paris')",
        "note: raced as arms: plain, [b]few[/b], steps, prompt_tokens; leave one out with --ignore prompt_tokens "
        "(ignore=['prompt_tokens'])",
    ]
    ended = cli("table", "runs.csv")
    assert ended.stderr == "note: read as a long table: items from task, arms from model, scores from accuracy\n"
    assert ended.stdout == cli("table", "scores.csv").stdout


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_warning_about_scores_is_in_the_result_and_nowhere_else(cli: Cli, words: list[str]) -> None:
    narrow = scores()
    narrow[["plain", "[b]few[/b]", "steps"]] /= 100
    narrow.to_csv("narrow.csv", index=False)
    ended = cli("table", "narrow.csv", "--bounds", "0,1", *words)
    assert ended.stderr == ""
    assert words_of(ended.stdout).count("give tighter bounds, which take fewer evaluations") == 1
    assert "tighter" not in cli("table", "narrow.csv").stdout  # its own range cannot be tighter


def test_a_long_table_is_the_wide_one_and_may_be_lower_is_better(cli: Cli) -> None:
    words = ["--item-column", "task", "--arm-column", "model", "--score-column", "accuracy", "--json"]
    ended = cli("table", "runs.csv", *words, "--lower-is-better")
    expected = race_table(
        read_table("runs.csv", item_column="task", arm_column="model", score_column="accuracy"), lower_is_better=True
    )
    assert (ended.exit_code, ended.stderr, ended.stdout) == (0, "", expected.to_json() + "\n")
    assert (expected.best, expected.settings.n_items) == ("plain", 200)


@pytest.mark.parametrize(("missing", "best"), [("worst", "[b]few[/b]"), ("drop", "steps")])
def test_what_is_said_about_the_whole_table_is_about_the_table_that_was_raced(
    cli: Cli, missing: Literal["worst", "drop"], best: str
) -> None:
    ended = cli("table", "gaps.csv", "--missing", missing, "--bounds", "0,1")
    result = race_table(read_table("gaps.csv"), missing=missing, bounds=(0, 1))
    assert (ended.exit_code, ended.stderr, result.best) == (0, "", best)
    raced = gaps().fillna(0.0) if missing == "worst" else gaps().dropna()
    np.testing.assert_allclose(result.means, raced.drop(columns="item").mean())
    assert words_of(ended.stdout) == words_of(str(result))


def test_an_arm_without_any_score_is_the_worst_without_a_warning(cli: Cli) -> None:
    Path("t.csv").write_text("item,a,b,c\nq,1,0,\nr,1,0,\ns,0,1,\n", encoding="utf-8")
    ended = cli("table", "t.csv", "--missing", "worst")
    assert (ended.exit_code, ended.stderr) == (3, "")  # three items decide nothing


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--lower-is-better", "--seed", 9, "--epsilon", 0.3], {"lower_is_better": True, "seed": 9, "epsilon": 0.3}),
        (["--max-evaluations", 6, "--delta", 0.1], {"max_evaluations": 6, "delta": 0.1}),
    ],
)
def test_commands_prints_what_race_commands_returns(commands: Cli, words: list[Any], options: dict[str, Any]) -> None:
    expected = in_python(**options)
    ended, shown = commands(*words, "--json"), commands(*words)
    assert (ended.stderr, shown.stderr, ended.stdout) == ("", "", expected.to_json() + "\n")
    assert words_of(shown.stdout) == words_of(str(expected))
    assert ended.exit_code == shown.exit_code == (3 if "max_evaluations" in options else 0)


def test_programs_are_timed_unless_another_score_is_asked_for(cli: Cli) -> None:
    timed = cli("commands", *NOTED_LOW, "--items", "cases.txt", "--max-evaluations", 4, "--json")
    result = json.loads(timed.stdout)
    assert (timed.exit_code, timed.stderr, result["reason"]) == (3, "", "budget")
    assert (result["settings"]["lower_is_better"], result["settings"]["items"]) == (True, "drawn")


# --- races on disk ---------------------------------------------------------------------------------------------------


def n_noted() -> int:
    return Path("noted.txt").read_text(encoding="utf-8").count("x")


def test_a_stored_race_of_programs_is_resumed_to_the_same_end_from_another_folder(
    cli: Cli, commands: Cli, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    words = ["--store", "race.sqlite", "--max-evaluations", 8, "--seed", 2, "--epsilon", 0.1, "--json"]
    first = commands(*words, programs=NOTED_LOW)
    assert (first.exit_code, n_noted()) == (3, 4)
    assert cli("show", "race.sqlite", "--json").stdout == first.stdout
    same = cli("resume", "race.sqlite", "--yes", "--quiet", "--json")
    assert (same.exit_code, same.stdout, n_noted()) == (3, first.stdout, 4)
    (folder / "elsewhere").mkdir()
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(folder / "elsewhere")
        resumed = cli("resume", "../race.sqlite", "--yes", "--quiet", "--max-evaluations", 500, "--json")
    runs = n_noted()
    expected = in_python(*NOTED_LOW, seed=2, epsilon=0.1, max_evaluations=500)
    assert (resumed.exit_code, resumed.stderr, resumed.stdout) == (0, "", expected.to_json() + "\n")
    assert n_noted() == 2 * runs


def test_a_race_against_the_clock_is_resumed_as_it_was_started(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[tuple[Any, str]] = []

    def pretend(command: Any, item: str) -> float:
        runs.append((command, item))
        return 1.0

    monkeypatch.setattr("bestarm.sources.programs.Command.__call__", pretend)
    words = ["--items", "cases.txt", "--timeout", 0.5, "--retries", 2, "--on-error", "disqualify", "--seed", 5]
    cli("commands", *NOTED_LOW, *words, "--max-evaluations", 60)
    whole = runs.copy()
    runs.clear()
    cli("commands", *NOTED_LOW, *words, "--store", "race.sqlite", "--max-evaluations", 8)
    resumed = cli("resume", "race.sqlite", "--yes", "--max-evaluations", 60, "--json")
    assert runs == whole
    assert (resumed.exit_code, json.loads(resumed.stdout)["n_evaluations"]) == (3, 60)
    assert {(command.score, command.timeout) for command, _ in runs} == {("time", 0.5)}
    settings = RaceFile(Path("race.sqlite")).settings()
    assert (settings["source"]["retries"], settings["on_error"]) == (2, "disqualify")


def test_a_race_that_cannot_go_on_is_left_as_it_is(commands: Cli, rejects: Rejects) -> None:
    commands("--store", "race.sqlite", "--max-evaluations", 8)
    before = RaceFile(Path("race.sqlite")).scores()
    again, resume = ["commands", *LOW_HIGH, *STDOUT, "--store", "race.sqlite"], ["resume", "race.sqlite", "--yes"]
    rejects("seed was 0 when the race began and is 1 now", *again, "--seed", 1)
    Path("high").rename("higher")
    rejects("there is no program './high'", *resume, "--max-evaluations", 99, "--quiet", code=4)
    after = RaceFile(Path("race.sqlite")).scores()
    assert after[: len(before)] == before
    Path("cases.txt").unlink()
    rejects("cases.txt", *resume, "--quiet")
    assert RaceFile(Path("race.sqlite")).scores() == after


# --- pages and plans -------------------------------------------------------------------------------------------------


def test_pages_are_those_of_the_result(cli: Cli, commands: Cli) -> None:
    ended = cli("table", "scores.csv", "--report", "table.html")
    assert ended.stderr == "Wrote table.html.\n"
    race_table(read_table("scores.csv")).to_html("expected.html")
    assert Path("table.html").read_bytes() == Path("expected.html").read_bytes()
    ended = commands("--report", "commands.html", "--json", "--store", "race.sqlite", "--max-evaluations", 8)
    assert (ended.exit_code, json.loads(ended.stdout)["reason"]) == (3, "budget")
    before = Path("race.sqlite").read_bytes()
    bestarm.load_result("race.sqlite").to_html("expected.html")
    for words, page in ((["-o", "page.html"], "page.html"), (["--output", "p 2.html"], "p 2.html"), ([], "race.html")):
        ended = cli("report", "race.sqlite", *words)
        assert (ended.exit_code, ended.stderr, ended.stdout) == (0, f"Wrote {page}.\n", "")
        assert Path(page).read_bytes() == Path("commands.html").read_bytes() == Path("expected.html").read_bytes()
    assert cli("report", "race.sqlite", "--json").stdout == bestarm.load_result("race.sqlite").to_json() + "\n"
    assert Path("race.sqlite").read_bytes() == before


@pytest.mark.parametrize("page", ["absent/page.html", "."])
def test_a_page_that_cannot_be_written_is_refused_before_the_race(page: str, commands: Cli, rejects: Rejects) -> None:
    named = f"the page cannot be written to {page}: it is "
    rejects(named, "commands", *LOW_HIGH, *STDOUT, "--report", page, "--store", "race.sqlite")
    assert not Path("race.sqlite").exists()
    commands("--store", "race.sqlite", "--max-evaluations", 4)
    rejects(named, "report", "race.sqlite", "-o", page)


def test_a_full_disk_is_told_and_leaves_the_result_and_no_page(commands: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ended = commands("--report", "page.html", "--json", "--store", "race.sqlite", "--max-evaluations", 4)
    said = "error: the page cannot be written to page.html: No space left on device"
    assert (ended.exit_code, ended.stderr.splitlines()[-1]) == (2, said)
    assert ended.stdout == bestarm.load_result("race.sqlite").to_json() + "\n"
    assert [path.name for path in Path().iterdir() if "html" in path.name] == []


PLANS: dict[str, dict[str, Any]] = {
    "--delta 0.1 --bounds 0,2 --epsilon 0.01 --seed 3": {"delta": 0.1, "bounds": (0, 2), "epsilon": 0.01, "seed": 3},
    "--bounds 0,2 --n-items 80 --max-evaluations 150": {"bounds": (0, 2), "n_items": 80, "max_evaluations": 150},
    "--lower-is-better --indifference-zone 0.1": {"lower_is_better": True, "indifference_zone": 0.1},
}


@pytest.mark.parametrize("words", PLANS)
def test_plan_prints_what_plan_returns(cli: Cli, words: str) -> None:
    expected = bestarm.plan(read_table("pilot.csv"), repetitions=10, **PLANS[words])
    call = ["plan", "pilot.csv", "--repetitions", 10, *words.split()]
    ended = cli(*call, "--json")
    assert (ended.exit_code, ended.stderr, json.loads(ended.stdout)) == (0, "", expected.to_dict())
    assert words_of(cli(*call).stdout) == words_of(str(expected))


def test_a_terminal_shows_a_first_plan_while_it_is_refined(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(research, "remarks", partial(Console, stderr=True, force_terminal=True))
    ended = cli("plan", "pilot.csv", "--repetitions", 10)
    first, refined = planning.refining_plans(read_table("pilot.csv"), repetitions=10)
    shown = words_of(ended.stderr)
    assert first.advice in shown
    assert "a first answer from few races; refining it" in shown
    assert refined.advice in words_of(ended.stdout)


def test_that_no_end_is_in_sight_is_an_estimate_too(cli: Cli) -> None:
    Path("tie.csv").write_text("a,b\n" + "1,1\n0,0\n" * 5, encoding="utf-8")
    ended = cli("plan", "tie.csv", "--repetitions", 10, "--json")
    assert json.loads(ended.stdout)["advice"].startswith("No end is in sight on fresh items")
    assert (ended.exit_code, json.loads(ended.stdout)["median"]) == (0, None)


# --- help and examples -----------------------------------------------------------------------------------------------

FROM_HELP = [
    example
    for command in app.registered_commands
    for example in re.findall(r"`(bestarm [^`]+)`", inspect.getdoc(command.callback) or "")
]
FROM_README = [
    example if example.startswith("bestarm ") else f"bestarm {example}"
    for line in README.splitlines()
    if line.startswith("| `bestarm ")
    for example in re.findall(r"`([^`]+)`", line.split("|")[1])
]


def stand_ins(words: list[str], commands: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and programs of the names that the examples use."""
    Path("bin").mkdir()
    monkeypatch.setenv("PATH", str(Path("bin").resolve()))
    for name in ("bin/prog1", "bin/gzip"):
        program(Path(name), "")
    for name in ("bin/prog2", "bin/xz"):
        program(Path(name), "import time\ntime.sleep(0.08)")
    Path("low").rename("a")
    Path("high").rename("b")
    for name in ("files.txt", "items.txt", "instances.txt"):
        Path(name).write_text("\n".join(map(str, range(300))), encoding="utf-8")
    for name, function in (("module", "function"), ("mybench", "score")):
        code = f"def {function}(arm, item):\n    return (ord(arm[0]) - 97) / 10 + int(item) % 7 / 100\n"
        Path(f"{name}.py").write_text(code, encoding="utf-8")
    stored = next((word for word in words if word in ("FILE", "race.sqlite")), None)
    if stored is not None and words[1] != "run":
        commands("--store", stored, "--epsilon", 0.9, programs=("./a {item}", "./b {item}"))


SAID = {
    "report": "Wrote ",
    "FILE": "BEST OR WITHIN 0.9 OF IT: ./b {item} ",
    "table": "BEST: steps ",
    "prog1": "BEST: prog1 {item} ",
    "gzip": "BEST",  # or within 10% of it
    "./b": "BEST: ./b {item} ",
    "module": "BEST: c ",
    "mybench": "BEST: hybrid ",
    "--max-evaluations 500": "About 30 evaluations, ",
    "pilot": "Between ",
    "limit": "LeaderBetting comes closest: it needs ",
}


@pytest.mark.parametrize("example", dict.fromkeys([*FROM_README, *FROM_HELP]))
def test_examples_run(cli: Cli, commands: Cli, example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(example)
    stand_ins(words, commands, monkeypatch)
    ended = cli(*words[1:], *(["--yes"] if words[1] == "resume" else []))  # nobody is there to be asked
    assert ended.exit_code == 0
    said = ended.stderr if words[1] == "report" else ended.stdout
    assert said.startswith(next(text for part, text in SAID.items() if part in example))
    if words[1] == "report":
        assert Path(words[-1]).read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["table", "commands", "run", "plan", "limit", "show", "resume", "report"])
def test_commands_of_the_readme_have_examples_exit_codes_and_json(cli: Cli, name: str) -> None:
    assert "All of these take `--json`, `--all` (every arm) and `--explain`, and `--help` has examples." in README
    assert name in {shlex.split(example)[1] for example in FROM_README}
    text = words_of(cli(name, "--help").stdout)
    own = [example for example in FROM_HELP if shlex.split(example)[1] == name]
    assert len(own) == {"table": 3, "commands": 2, "plan": 2, "show": 0, "resume": 0}.get(name, 1)
    assert all(example in text for example in own)
    assert re.search(r" Exit codes: 0 .*2 usage or bad input", text)
    assert " --json " in text


# --- bad input -------------------------------------------------------------------------------------------------------

TABLES = {
    "text.csv": "item,a,b\nq,1,2\nr,[bold]x,3\n",
    "gap.csv": "item,a,b\n" + "q,1,2\nr,,3\n" * 5,
    "twice.csv": "a,b,a\n1,2,3\n1,2,3\n",
    "outside.csv": "a,b\n" + "0,1\n" * 5 + "0.5,1.5\n",
    "equal.csv": "a,b\n1,1\n1,1\n",
}
# What the line that refuses a table or an option names.
BAD_TABLES = {
    "text.csv": "row 2, column 'a' must be a number, or empty if missing, got '[bold]x'",
    "gap.csv": "5 of 20 cells are empty (the first in row 2, column 'a')",
    "twice.csv": "'a' appears more than once",
    "outside.csv --bounds 0,1": "row 6, column 'b': 1.5",
    "absent.csv": "there is no file absent.csv",
    "scores.csv --item-column task": "scores.csv has no column 'task': its columns are item, plain, [b]few[/b]",
    "scores.csv --arm-column plain": "the names of all its columns",
    "scores.csv --delta 1": "--delta must lie strictly between 0 and 1, got 1.0",
}
BAD_CALLS = {
    **{f"table {words}": named for words, named in BAD_TABLES.items()},
    **{f"plan {words} --repetitions 10": named for words, named in BAD_TABLES.items()},
    "table equal.csv": "all scores of the table are 1",
    "plan equal.csv": "at least 5 items, got 2",
    "plan pilot.csv --n-items 1": "--n-items must be a whole number of at least 2, got 1",
    "plan pilot.csv --max-evaluations 1": "--max-evaluations must allow for one round of all 3 arms, got 1",
    "plan pilot.csv --repetitions 1": "--repetitions must be a whole number of at least 10, got 1",
    "report absent.sqlite": "there is no race in absent.sqlite",
    "report scores.csv": "scores.csv is not a race of bestarm",
}


@pytest.mark.parametrize("words", BAD_CALLS)
def test_bad_tables_pilots_and_files_are_refused(
    words: str, rejects: Rejects, folder: Path, unchanged: Unchanged
) -> None:
    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with unchanged():
        rejects(BAD_CALLS[words], *words.split())


BAD_COMMANDS: dict[str, tuple[list[Any], str, int]] = {
    "no program": (["./absent {item}"], "'./absent {item}' failed on '", 4),
    "it fails": (["./fail {item}"], "': exit code 7 (out of [red]licences :dog:)", 4),
    "it hangs": (["./hang {item}", "--timeout", 0.2], "it took longer than the timeout of 0.2 seconds", 4),
    "out of bounds": (["./large {item}"], "returned 7.5", 4),
    "no place": (["./high"], "the command './high' has no {item} in it", 2),
}


@pytest.mark.parametrize("case", BAD_COMMANDS)
def test_bad_commands_are_refused(case: str, rejects: Rejects, folder: Path) -> None:
    program(folder / "fail", "import sys\nsys.exit(print('out of\\n [red]licences :dog:\\n', file=sys.stderr) or 7)")
    program(folder / "hang", "import time\ntime.sleep(60)")
    program(folder / "large", "print(7.5)")
    words, named, code = BAD_COMMANDS[case]
    rejects(named, "commands", "./low {item}", *STDOUT, "--store", "race.sqlite", *words, code=code)
