"""`bestarm run`, `show`, `resume` and `demo`: races as from Python, exit codes, and one line for bad input."""

import json
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import Result

import bestarm
from bestarm import RaceResult
from bestarm.cli.options import items_file
from bestarm.studies import demo as study
from cli.conftest import Unchanged, run_process, words_of
from conftest import Cli, Rejects

MODULE = """
import os

LEVEL = {"low": 0.2, "mid": 0.5, "high": 0.9, "[bold]": 0.9, ":dog:": 0.2}
not_a_function = 3

def score(arm, item):
    return LEVEL[arm] + (len(item) - 4) / 100

def noted(arm, item):
    with open("noted.txt", "a") as file:
        file.write(f"{arm} {item}\\n")
    return score(arm, item)

def of_seed(arm, seed):
    return LEVEL[arm] + seed % 7 / 100

def jointly(arms, item):
    return {arm: score(arm, item) for arm in arms}

def one(arm):
    return 0.5

async def awaited(arm, item):
    return score(arm, item)

def broken(arm, item):
    raise ValueError(f"no licence for {arm}")

def broken_high(arm, item):
    if arm == "high":
        raise ValueError("no licence")
    return score(arm, item)

def fails_once(arm, item):
    if not os.path.exists("tried"):
        os.mkdir("tried")
        raise OSError("busy")
    return score(arm, item)

def over_the_net(arm, item):
    if os.path.exists("down"):
        raise OSError("no network")
    return score(arm, item)

def dying(arm, item):
    os._exit(5)
"""
LINES = [f"{k:03}{'x' * (k % 5)}" for k in range(400)]


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    """A module to race, and its items."""
    (folder / "bench.py").write_text(MODULE, encoding="utf-8")
    (folder / "items.txt").write_text("\n".join([*LINES, "", "  "]) + "\n", encoding="utf-8")


USUAL = ["--items", "items.txt", "--bounds", "0,1", "--quiet"]


@pytest.fixture
def run(cli: Cli) -> Cli:
    """`bestarm run` with the usual words, and more."""

    def call(*words: Any, function: str = "bench:score", arms: str = "low, mid,high") -> Result:
        return cli("run", function, "--arms", arms, *USUAL, *words)

    return call


def in_python(function: str = "score", arms: tuple[str, ...] = ("low", "mid", "high"), **more: Any) -> RaceResult[Any]:
    """The race of `run`, as a call."""
    names: dict[str, Any] = {}
    exec(MODULE, names)  # noqa: S102
    settings: dict[str, Any] = {"bounds": (0, 1), "progress": False}
    return bestarm.race(names[function], arms=arms, items=LINES, **settings | more)


# --- answers ----------------------------------------------------------------------------------------------------------


def test_run_prints_verdict_cost_and_table_with_names_as_they_are(run: Cli) -> None:
    ended = run("--delta", "0.01", arms="[bold],:dog:")
    expected = in_python(arms=("[bold]", ":dog:"), delta=0.01)
    assert (ended.exit_code, ended.stderr, expected.best) == (0, "", "[bold]")
    assert words_of(ended.stdout) == words_of(str(expected))


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ("", {}),
        ("--delta 0.01 --seed 7", {"delta": 0.01, "seed": 7}),
        ("--lower-is-better --epsilon 0.4", {"lower_is_better": True, "epsilon": 0.4}),
        ("--indifference-zone 0.1 --rounds-in-flight 3", {"indifference_zone": 0.1, "rounds_in_flight": 3}),
        ("--max-evaluations 20 --retries 2 --on-error worst", {"max_evaluations": 20, "on_error": "worst"}),
    ],
)
def test_json_is_that_of_the_same_call_from_python(run: Cli, words: str, settings: dict[str, Any]) -> None:
    ended, expected = run("--json", *words.split()), in_python(**settings)
    assert (ended.stdout, ended.stderr) == (expected.to_json() + "\n", "")
    assert ended.exit_code == (3 if "max_evaluations" in settings else 0)


def test_functions_of_other_kinds_and_races_without_items(cli: Cli, run: Cli) -> None:
    assert json.loads(run("--json", "--jointly", function="bench:jointly").stdout)["best"] == "high"
    assert json.loads(run("--json", function="bench:awaited").stdout)["settings"]["rounds_in_flight"] == 4
    assert json.loads(run("--json", "--retries", 1, function="bench:fails_once").stdout)["best"] == "high"
    result = json.loads(cli("run", "bench:of_seed", "--arms", "low,high", "--json", "--quiet").stdout)
    assert (result["settings"]["items"], result["best"]) == ("seeds", "high")


# --- exit codes -------------------------------------------------------------------------------------------------------


def test_a_failed_evaluation_ends_with_4_and_names_arm_and_item(run: Cli) -> None:
    ended = run(function="bench:broken")
    assert (ended.exit_code, ended.stdout) == (4, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: evaluate('low', '")
    assert line.endswith("ValueError: no licence for low (see --retries and --on-error)")
    ended = run("--on-error", "disqualify", "--json", function="bench:broken_high")
    assert (ended.exit_code, json.loads(ended.stdout)["best"]) == (0, "mid")


def test_items_that_run_out_end_with_3(cli: Cli) -> None:
    bestarm.race(lambda arm, item: 0.5, arms=["low", "high"], items=iter("abc"), store="race.sqlite", progress=False)
    ended = cli("show", "race.sqlite", "--json")
    assert (ended.exit_code, json.loads(ended.stdout)["reason"]) == (3, "ran out of items")
    assert cli("show", "race.sqlite").stdout.startswith("UNDECIDED: low or high ")


@pytest.mark.parametrize("function", ["score", "dying"])
def test_workers_are_processes_and_change_nothing_but_rounds_in_flight(function: str) -> None:
    words = ["--arms", "low,mid,high", "--items", "items.txt", "--bounds", "0,1", "--workers", 2, "--json"]
    ended = run_process("run", f"bench:{function}", *words)
    if function == "dying":
        assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (4, "", 1)
        assert ended.stderr.startswith("error: the executor broke down while it evaluated round ")
    else:
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout == in_python(rounds_in_flight=4).to_json() + "\n"


# --- races on disk ----------------------------------------------------------------------------------------------------


def test_a_stored_race_is_shown_and_resumed_to_the_same_end(
    cli: Cli, run: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, unchanged: Unchanged
) -> None:
    first = run("--store", "race.sqlite", "--max-evaluations", 20, "--json", function="bench:noted")
    assert first.exit_code == 3
    with unchanged():
        shown = cli("show", "race.sqlite", "--json")
        assert (shown.exit_code, shown.stdout) == (3, first.stdout)
        assert cli("show", "race.sqlite").stdout.splitlines()[1].startswith("Budget spent: ")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    same = cli("resume", "../race.sqlite", "--yes", "--json", "--quiet")
    assert (same.exit_code, same.stdout) == (3, first.stdout)
    monkeypatch.chdir(folder)
    expected = in_python(max_evaluations=3000)
    for _ in range(2):  # the second time nothing is left to do
        resumed = cli("resume", "race.sqlite", "--yes", "--max-evaluations", 3000, "--json", "--quiet")
        assert (resumed.exit_code, resumed.stdout) == (0, expected.to_json() + "\n")
        lines = Path("noted.txt").read_text(encoding="utf-8").splitlines()
        assert len(lines) == len(set(lines)) == expected.n_evaluations  # nothing was evaluated twice


def test_the_same_command_continues_its_store(run: Cli, rejects: Rejects) -> None:
    run("--store", "race.sqlite", "--max-evaluations", 20)
    ended = run("--store", "race.sqlite", "--json")
    assert (ended.exit_code, ended.stdout) == (0, in_python().to_json() + "\n")
    again = ["run", "bench:score", *USUAL, "--store", "race.sqlite"]
    changed = "delta was 0.05 when the race began and is 0.2 now"
    rejects(changed, *again, "--arms", "low,mid,high", "--delta", 0.2)
    rejects("the same arms", *again, "--arms", "low,high")


def test_an_outage_ends_with_4_and_the_race_is_resumed(cli: Cli, run: Cli) -> None:
    Path("down").touch()
    began = run("--on-error", "disqualify", "--store", "race.sqlite", function="bench:over_the_net")
    assert (began.exit_code, began.stderr) == (4, "to continue: bestarm resume race.sqlite\n")
    for words, code in {"show race.sqlite": 4, "show race.sqlite --json": 4, "report race.sqlite": 0}.items():
        assert cli(*words.split()).exit_code == code
    Path("down").unlink()
    assert cli("resume", "race.sqlite", "--yes").stdout.startswith("BEST: high ")


def test_a_race_with_replacement_is_resumed(cli: Cli, run: Cli) -> None:
    begun = run("--replace", "--store", "race.sqlite", "--max-evaluations", 10)
    assert (begun.exit_code, "--max-evaluations TOTAL" in begun.stderr) == (3, True)
    resumed = cli("resume", "race.sqlite", "--yes", "--max-evaluations", 4000)
    assert resumed.stdout.startswith("BEST: high   (95% confidence, these 400 items)\n")


def test_a_race_made_in_python_is_shown_and_not_resumed(cli: Cli, rejects: Rejects) -> None:
    expected = in_python(store="race.sqlite", max_evaluations=20)
    assert cli("show", "race.sqlite", "--json").stdout == expected.to_json() + "\n"
    rejects("was started from Python", "resume", "race.sqlite")


def test_a_race_is_not_resumed_on_other_items_or_without_its_function(run: Cli, rejects: Rejects, folder: Path) -> None:
    run("--store", "race.sqlite", "--max-evaluations", 20)
    before, resume = Path("race.sqlite").read_bytes(), ["resume", "race.sqlite", "--yes"]
    (folder / "items.txt").write_text("\n".join([*LINES[:-1], "other"]), encoding="utf-8")
    rejects("the items are not the same", *resume)
    (folder / "items.txt").unlink()
    rejects("items.txt", *resume)
    (folder / "bench.py").unlink()
    sys.modules.pop("bench")
    rejects("there is no module 'bench'", *resume)
    assert Path("race.sqlite").read_bytes() == before


# --- the demo ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def quick_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that are known at once: SLSQP is the best."""

    def score(optimizer: str, seed: int) -> float:
        luck = random.Random(f"{optimizer} {seed}").uniform(0, 0.3)  # noqa: S311 - no secrets here
        return 0.03 * list(study.OPTIMIZERS).index(optimizer) + 0.3 * (optimizer == "SLSQP") + luck

    monkeypatch.setattr(study, "digits_gained", score)


@pytest.mark.usefixtures("quick_demo")
def test_the_demo_writes_a_store_a_picture_and_a_page_and_shows_them_again(cli: Cli, rejects: Rejects) -> None:
    ended = cli("demo", "--output", "out/demo")
    result = bestarm.load_result("out/demo/race.sqlite")
    assert (ended.exit_code, result.target, len(result.arms)) == (0, "population", 13)
    assert words_of(ended.stdout) == words_of(str(result))
    *asked, course, picture, page, took, again, own = ended.stderr.splitlines()
    assert asked == list(study.QUESTION)
    assert max(map(len, ended.stderr.splitlines())) < 80
    assert course == "All are tried on the same problems, and those that are beaten leave."
    assert (picture, page) == ("Wrote out/demo/race.png.", "Wrote out/demo/report.html.")
    assert took.startswith("This race took ")
    assert again == "To see it again: bestarm show out/demo/race.sqlite"
    assert own == "To race your own: bestarm run yourmodule:score --arms a,b,c --items items.txt"
    assert Path("out/demo/race.png").read_bytes().startswith(b"\x89PNG")
    result.to_html("expected.html")
    assert Path("out/demo/report.html").read_bytes() == Path("expected.html").read_bytes()
    shown = cli("demo", "--output", "out/demo")
    assert shown.stdout == ended.stdout
    assert shown.stderr.splitlines()[3].startswith("This race is finished: this is its result.")
    assert "This race took" not in shown.stderr
    for words in ("demo --output out/demo --quiet", "resume out/demo/race.sqlite", "show out/demo/race.sqlite"):
        assert cli(*words.split(), "--json").stdout == result.to_json() + "\n"
    rejects("seed was 0 when the race began and is 1 now", "demo", "--output", "out/demo", "--quiet", "--seed", 1)


@pytest.mark.usefixtures("quick_demo")
def test_a_demo_that_was_stopped_is_continued(cli: Cli) -> None:
    stopped = cli("demo", "--output", "out", "--max-evaluations", 30)
    assert stopped.exit_code == 3
    assert "To see it again" not in stopped.stderr
    ended = cli("demo", "--output", "out")
    assert ended.exit_code == 0
    assert "This race was begun earlier: 26 evaluations are there already." in ended.stderr
    cli("demo", "--output", "whole")
    first, second = (bestarm.load_result(f"{folder}/race.sqlite") for folder in ("out", "whole"))
    assert (first.best, first.n_evaluations) == (second.best, second.n_evaluations) == ("SLSQP", first.n_evaluations)


def test_the_scores_of_the_demo_are_digits_gained(cli: Cli) -> None:
    cli("demo", "--output", "out", "--quiet", "--max-evaluations", 13)
    (scores,), (seed,) = bestarm.load_result("out/race.sqlite").scores, bestarm.load_result("out/race.sqlite").items
    assert scores.tolist() == [study.digits_gained(name, int(str(seed))) for name in study.OPTIMIZERS]


def test_the_demo_leaves_other_races_and_those_of_earlier_versions(rejects: Rejects, run: Cli, folder: Path) -> None:
    run("--store", "race.sqlite")
    rejects("race.sqlite holds another race, of low and mid among others", "demo", "--output", ".")


# --- what is typed, and what goes where -------------------------------------------------------------------------------


def test_items_come_from_standard_input_too(cli: Cli) -> None:
    words = ["run", "bench:score", "--arms", "low,mid,high", "--items", "-", "--bounds", "0,1", "--json"]
    lines = "\n".join(LINES)
    assert cli(*words, input=lines).stdout == in_python().to_json() + "\n"
    assert cli(*words, "--store", "race.sqlite", "--max-evaluations", "9", input=lines).exit_code == 3
    more = ["resume", "race.sqlite", "--yes", "--max-evaluations", "5000", "--json"]
    other = cli(*more, input="other\nitems")
    assert (other.exit_code, "items" in other.stderr) == (2, True)
    resumed = cli(*more, input=lines)
    assert (resumed.exit_code, json.loads(resumed.stdout)["best"]) == (0, "high")


def test_somebody_at_a_terminal_is_told_that_items_are_awaited(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    assert (items_file(Path("-")), items_file(None)) == ("-", None)
    assert items_file(Path("x.txt")) == str(Path("x.txt").resolve())
    assert capsys.readouterr().err == "reading the items from the terminal, one per line; end with Ctrl-D\n"


def test_a_warning_of_a_race_is_said_once_with_its_result(cli: Cli, folder: Path) -> None:
    code = "import random\ndef flip(arm, item):\n    return float(random.Random(arm + item).random() < float(arm))\n"
    (folder / "coins.py").write_text(code, encoding="utf-8")
    words = ["--arms", "0.3,0.6", "--items", "items.txt", "--delta", "1e-30", "--store", "race.sqlite"]
    ended = cli("run", "coins:flip", *words)
    assert "arning" not in ended.stderr
    assert words_of(ended.stdout).count("Warning: the scores of the first 50 rounds take at most 10 distinct") == 1
    shown = cli("show", "race.sqlite")
    assert (shown.stderr, shown.stdout) == ("", ended.stdout)
    (warning,) = json.loads(cli("show", "race.sqlite", "--json").stdout)["warnings"]
    assert warning.startswith("the scores of the first 50 rounds take at most 10 distinct values")


def test_python_dash_m_is_the_command() -> None:
    assert run_process("--version").stdout == f"bestarm {bestarm.__version__}\n"
    usage = run_process("-h").stdout
    panels = [line for line in usage.splitlines() if line.startswith("╭")]
    assert [panel.split()[1] for panel in panels] == ["Options", "Race", "Saved", "Research"]
    assert "Usage: bestarm " in usage


def test_a_wrong_choice_ends_with_2_and_names_the_right_ones(run: Cli) -> None:
    ended = run("--on-error", "ignore")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "'raise', 'worst', 'disqualify'" in words_of(ended.stderr)


# --- bad input --------------------------------------------------------------------------------------------------------

# The words after the usual ones, and what the line that refuses them names: an option as it is typed, a file, a value.
BAD_RUNS = {
    "bench": "module:function, got 'bench'",
    "unwritten:score": "there is no module 'unwritten' in ",
    "bench:scores": "the module 'bench' has no function 'scores'",
    "bench:not_a_function": "evaluate must be a function of (arm, item), got 3",
    "bench:one": "signature is one(arm)",
    "faulty:score": "faulty",
    "leaving:score": "the module 'leaving' calls sys.exit(5)",
    "--arms low,,high": "arm 1 is ''",
    "--arms low,high,low": "'low' appears more than once",
    "--items absent.txt": "absent.txt",
    "--items empty.txt": "at least two items, got 0",
    "--bounds 0,1,2": "--bounds must be two numbers as low,high (such as 0,1), got '0,1,2'",
    "--bounds low,high": "--bounds must be two numbers as low,high (such as 0,1), got 'low,high'",
    "--bounds 1,0": "--bounds must be two finite numbers, the lower one first, got (1.0, 0.0)",
    "--delta 1": "--delta must lie strictly between 0 and 1, got 1.0",
    "--indifference-zone inf": "--indifference-zone must be a finite number of at least 0, got inf",
    "--max-evaluations 2": "--max-evaluations must allow for one round of all 3 arms, got 2",
    "--workers 0": "--workers must be a whole number of at least 1, got 0",
    "--retries -1": "--retries must be a whole number of at least 0, got -1",
    "--seed -1": "--seed must be a whole number of at least 0, got -1",
    "bench:awaited --workers 2": "an async evaluate",
    "--store absent/race.sqlite": "it is in a folder that does not exist",
    f"--report {'x' * 5000}": "x cannot be used: File name too long",
    "--store items.txt": "is not a race of bestarm",
}


def write_bad_files(folder: Path) -> None:
    (folder / "faulty.py").write_text("def score(arm, item:\n    return 1\n", encoding="utf-8")
    (folder / "leaving.py").write_text("import sys\nsys.exit(5)\n", encoding="utf-8")
    (folder / "empty.txt").write_text("\n \n", encoding="utf-8")


@pytest.mark.parametrize("words", BAD_RUNS, ids=lambda words: words[:40])
def test_bad_input_is_refused_before_anything_is_evaluated(
    words: str, rejects: Rejects, folder: Path, unchanged: Unchanged
) -> None:
    write_bad_files(folder)
    usual = ["--arms", "low,mid,high", "--items", "items.txt", "--bounds", "0,1", "--store", "race.sqlite"]
    function = ["bench:noted"] if words.startswith("--") else []
    with unchanged():
        rejects(BAD_RUNS[words], "run", *usual, *function, *words.split())


def test_worst_needs_bounds(rejects: Rejects) -> None:
    words = "run bench:score --arms a,b --items items.txt --on-error worst"
    rejects("--on-error cannot be 'worst' without --bounds", *words.split())


@pytest.mark.parametrize("command", ["show", "resume"])
def test_files_that_hold_no_race_are_neither_shown_nor_resumed(
    command: str, rejects: Rejects, unchanged: Unchanged
) -> None:
    with unchanged():
        rejects("there is no race in absent.sqlite: the file does not exist", command, "absent.sqlite")
        rejects("items.txt is not a race of bestarm", command, "items.txt")


def test_real_processes_refuse_in_one_line_too(rejects: Rejects) -> None:
    for words in ("resume absent.sqlite", "run bench:one --arms a,b --store race.sqlite"):
        ended = run_process(*words.split())
        assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (2, "", 1)
    assert not Path("race.sqlite").exists()
    rejects("items.txt", "demo", "--output", "items.txt")
