"""`bestarm run`, `show`, `resume` and `demo`: the same races as from Python, exit codes, and one line for bad input."""

import json
import sqlite3
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import bestarm
from bestarm.cli import app
from bestarm.cli.app import as_typed
from bestarm.cli.options import items_file
from bestarm.record.sqlite import read_store
from bestarm.studies import demo as compressors

MODULE = """
import os, signal

LEVEL = {"low": 0.2, "mid": 0.5, "high": 0.9, "[bold]": 0.9, ":dog:": 0.2}
not_a_function = 3
calls = 0

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

def three(arm, item, more):
    return 0.5

async def awaited(arm, item):
    return score(arm, item)

def broken(arm, item):
    raise ValueError(f"no licence for {arm}")

def broken_high(arm, item):
    if arm == "high":
        raise ValueError("no licence")
    return score(arm, item)

def interrupted(arm, item):
    global calls
    calls += 1
    if calls == 40:
        os.kill(os.getpid(), signal.SIGINT)
    return 0.5 + (len(item) - 4) / 100

def dying(arm, item):
    os._exit(5)
"""
LINES = [f"{k:03}{'x' * (k % 5)}" for k in range(400)]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a module to race and its items, which nothing of the interpreter remembers afterwards."""
    (tmp_path / "bench.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "items.txt").write_text("\n".join([*LINES, "", "  "]) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    for name in ("bench", "faulty", "unwritten"):
        sys.modules.pop(name, None)


def with_target_flag(text: str) -> str:
    """What the library says, with the option that races have on the command line."""
    return text.replace("target='population'", "--target population")


def bestarm_cli(*words: Any) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def run(*words: Any, function: str = "bench:score", arms: str = "low, mid,high") -> Result:
    return bestarm_cli("run", function, "--arms", arms, "--items", "items.txt", "--bounds", "0,1", "--quiet", *words)


def process(*words: Any) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from bestarm.cli import app; app()", *map(str, words)]
    return subprocess.run(program, capture_output=True, text=True, check=False, timeout=120)  # noqa: S603


def in_python(function: str = "score", **more: Any) -> bestarm.RaceResult[Any]:
    """The race of `run`, as a call."""
    names: dict[str, Any] = {}
    exec(MODULE, names)  # noqa: S102
    settings: dict[str, Any] = {"bounds": (0, 1), "progress": False}
    return bestarm.race(names[function], arms=["low", "mid", "high"], items=LINES, **settings | more)


# Answers.


def test_run_prints_verdict_cost_and_table() -> None:
    ended, expected = run("--delta", "0.01"), in_python(delta=0.01)
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert " ".join(ended.stdout.split()) == " ".join(with_target_flag(str(expected)).split())
    assert "--target population goes on until it is decided" in " ".join(ended.stdout.split())
    assert expected.best == "high"


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        ([], {}),
        (["--delta", "0.01", "--seed", "7"], {"delta": 0.01, "seed": 7}),
        (["--lower-is-better", "--epsilon", "0.4"], {"lower_is_better": True, "epsilon": 0.4}),
        (["--indifference-zone", "0.1", "--rounds-in-flight", "3"], {"indifference_zone": 0.1, "rounds_in_flight": 3}),
        (
            ["--max-evaluations", "20", "--retries", "2", "--on-error", "worst"],
            {"max_evaluations": 20, "on_error": "worst"},
        ),
    ],
)
def test_json_is_that_of_the_same_call_from_python(words: list[str], settings: dict[str, Any]) -> None:
    ended, expected = run("--json", *words), in_python(**settings)
    assert ended.stderr == ""
    assert ended.stdout == expected.to_json() + "\n"
    assert json.loads(ended.stdout)["best"] == expected.best
    assert ended.exit_code == (3 if "max_evaluations" in settings else 0)


def test_functions_of_other_kinds_and_races_without_items() -> None:
    assert json.loads(run("--json", "--jointly", function="bench:jointly").stdout)["best"] == "high"
    assert json.loads(run("--json", function="bench:awaited").stdout)["settings"]["rounds_in_flight"] == 4
    ended = bestarm_cli("run", "bench:of_seed", "--arms", "low,high", "--json", "--quiet")
    assert json.loads(ended.stdout)["settings"]["items"] == "seeds"
    assert json.loads(ended.stdout)["best"] == "high"


def test_names_are_printed_as_they_are() -> None:
    ended = run(arms="[bold],:dog:")
    assert ended.stdout.startswith("[bold] is the best on these 400 items")
    rows = [line.split() for line in ended.stdout.splitlines()[-3:] if line.strip()]
    assert [row[0] for row in rows] == ["[bold]", ":dog:"]
    assert rows[1][-1] == "[bold]"
    swapped = run("--lower-is-better", arms="[bold],:dog:")
    assert swapped.stdout.startswith(":dog: is the best on these 400 items")


# Exit codes.


def test_a_failed_evaluation_ends_with_4_and_names_arm_and_item() -> None:
    ended = run(function="bench:broken")
    assert ended.exit_code == 4
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: evaluate('low', '")
    assert line.endswith("') failed: ValueError: no licence for low")
    assert ended.stdout == ""
    ended = run("--on-error", "disqualify", "--json", function="bench:broken_high")
    assert (ended.exit_code, json.loads(ended.stdout)["best"]) == (0, "mid")


def test_a_budget_or_items_that_run_out_end_with_3() -> None:
    ended = run("--max-evaluations", 10)
    assert ended.exit_code == 3
    assert ended.stdout.startswith('No answer: the budget ran out. "high" leads. With probability at least')
    bestarm.race(lambda arm, item: 0.5, arms=["low", "high"], items=iter("abc"), store="race.sqlite", progress=False)
    ended = bestarm_cli("show", "race.sqlite")
    assert ended.exit_code == 3
    assert ended.stdout.startswith('No answer: the items ran out. "low" leads. With probability at least')


def test_ctrl_c_ends_with_130_and_what_is_known(folder: Path) -> None:
    words = ["--items", "items.txt", "--store", "race.sqlite", "--json"]
    ended = process("run", "bench:interrupted", "--arms", "low,mid", *words)
    assert (ended.returncode, ended.stderr) == (130, "to continue: bestarm resume race.sqlite\n")
    result = json.loads(ended.stdout)
    assert (result["reason"], result["n_rounds"], result["n_evaluations"]) == ("interrupted", 19, 40)
    shown = bestarm_cli("show", "race.sqlite", "--json")
    assert (shown.exit_code, json.loads(shown.stdout)["reason"]) == (3, "running")
    assert json.loads(shown.stdout)["arms"] == result["arms"]


def test_workers_are_processes_and_change_nothing_but_rounds_in_flight() -> None:
    words = ["run", "bench:score", "--arms", "low,mid,high", "--items", "items.txt", "--bounds", "0,1"]
    ended = process(*words, "--workers", 2, "--json")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == in_python(rounds_in_flight=4).to_json() + "\n"


def test_workers_that_die_end_with_4() -> None:
    words = ["--arms", "low,mid,high", "--items", "items.txt", "--bounds", "0,1", "--workers", 2]
    ended = process("run", "bench:dying", *words)
    assert (ended.returncode, ended.stdout, len(ended.stderr.splitlines())) == (4, "", 1)
    assert ended.stderr.startswith("error: the executor broke down while it evaluated round ")


# Races on disk.


def test_a_stored_race_is_shown_and_resumed_to_the_same_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("--store", "race.sqlite", "--max-evaluations", 20, "--json", function="bench:noted")
    assert first.exit_code == 3
    before = Path("race.sqlite").read_bytes()
    shown = bestarm_cli("show", "race.sqlite", "--json")
    assert (shown.exit_code, shown.stdout) == (3, first.stdout)
    assert Path("race.sqlite").read_bytes() == before
    assert bestarm_cli("show", "race.sqlite").stdout.startswith("No answer: the budget ran out.")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    same = bestarm_cli("resume", "../race.sqlite", "--yes", "--json", "--quiet")
    assert (same.exit_code, same.stdout) == (3, first.stdout)
    monkeypatch.chdir(folder)
    resumed = bestarm_cli("resume", "race.sqlite", "--yes", "--max-evaluations", 3000, "--json", "--quiet")
    expected = in_python(max_evaluations=3000)
    assert (resumed.exit_code, resumed.stdout) == (0, expected.to_json() + "\n")
    lines = Path("noted.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(set(lines)) == expected.n_evaluations  # nothing was evaluated twice
    again = bestarm_cli("resume", "race.sqlite", "--yes", "--max-evaluations", 3000, "--json")
    assert (again.exit_code, again.stdout) == (0, resumed.stdout)
    assert len(Path("noted.txt").read_text(encoding="utf-8").splitlines()) == expected.n_evaluations


def test_the_same_command_continues_its_store() -> None:
    run("--store", "race.sqlite", "--max-evaluations", 20)
    ended = run("--store", "race.sqlite", "--json")
    assert (ended.exit_code, ended.stdout) == (0, in_python().to_json() + "\n")
    refused(
        run("--store", "race.sqlite", "--delta", "0.2"),
        "another race (give another file, or the same settings): delta was 0.05 when the race began and is 0.2 now",
    )
    refused(run("--store", "race.sqlite", arms="low,high"), "the same arms): they were")


def refused(ended: Result | subprocess.CompletedProcess[str], message: str) -> None:
    """Exit code 2, one line on standard error, nothing else."""
    code = ended.exit_code if isinstance(ended, Result) else ended.returncode
    if isinstance(ended, Result):
        assert isinstance(ended.exception, SystemExit), ended.exception
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert "Traceback" not in line
    assert (code, ended.stdout) == (2, "")


def test_a_race_made_in_python_is_shown_and_not_resumed() -> None:
    expected = in_python(store="race.sqlite", max_evaluations=20)
    assert bestarm_cli("show", "race.sqlite", "--json").stdout == expected.to_json() + "\n"
    refused(bestarm_cli("resume", "race.sqlite", "--yes"), "was started from Python: make the same call there again")


def test_a_race_is_not_resumed_on_other_items_or_without_its_function(folder: Path) -> None:
    run("--store", "race.sqlite", "--max-evaluations", 20)
    before = read_store("race.sqlite")
    (folder / "items.txt").write_text("\n".join([*LINES[:-1], "other"]), encoding="utf-8")
    refused(bestarm_cli("resume", "race.sqlite", "--yes"), "the items are not the same")
    (folder / "items.txt").unlink()
    refused(bestarm_cli("resume", "race.sqlite", "--yes"), "items.txt")
    (folder / "bench.py").unlink()
    sys.modules.pop("bench")
    refused(bestarm_cli("resume", "race.sqlite", "--yes"), "there is no module 'bench' in ")
    assert read_store("race.sqlite") == before


# The demo.


SMALL = "bisect codeop contextvars genericpath keyword linecache queue struct"


@pytest.fixture
def small_demo(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    files = [f"{name}.py" for name in SMALL.split()]
    monkeypatch.setattr("bestarm.studies.demo.source_files", lambda: files)
    return files


def test_the_files_of_the_demo_are_sources_that_are_not_empty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b.py", "a/z.py", "a/empty.py", "site-packages/other.py", "a/data.txt"):
        (folder / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "lib" / name).write_text("" if "empty" in name else "x = 1\n", encoding="utf-8")
    monkeypatch.setattr(compressors, "library", lambda: folder / "lib")
    assert compressors.source_files() == ["a/z.py", "b.py"]
    assert [compressors.bytes_saved(compressor, "b.py") for compressor in compressors.COMPRESSORS] == [
        0.0
    ] * 8  # all grow


def test_the_demo_writes_a_store_and_a_picture_and_continues(small_demo: list[str], folder: Path) -> None:
    ended = bestarm_cli("demo", "--output", "out/demo", "--quiet")
    result = bestarm.load_result("out/demo/race.sqlite")
    assert ended.exit_code == 0
    assert " ".join(with_target_flag(str(result)).split()) == " ".join(ended.stdout.split())
    assert ended.stderr.splitlines() == [
        "Wrote out/demo/race.sqlite and out/demo/race.png.",
        "Wrote out/demo/report.html.",
    ]
    assert (folder / "out" / "demo" / "race.png").read_bytes().startswith(b"\x89PNG")
    again = bestarm_cli("demo", "--output", "out/demo")
    assert again.stderr.startswith("Which of 8 compressors saves most on the 8 source files")
    assert "A race is saved already: it continues where it stopped." in again.stderr
    assert bestarm.load_result("out/demo/race.sqlite").to_json() == result.to_json()
    for words in ("demo --output out/demo", "resume out/demo/race.sqlite", "show out/demo/race.sqlite"):
        assert bestarm_cli(*words.split(), "--json").stdout == result.to_json() + "\n"
    refused(
        bestarm_cli("demo", "--output", "out/demo", "--quiet", "--seed", 1),
        "seed was 0 when the race began and is 1 now",
    )


def test_the_scores_of_the_demo_are_shares_of_bytes_saved(small_demo: list[str]) -> None:
    bestarm_cli("demo", "--output", "out", "--quiet", "--delta", "0.2")
    library = Path(sysconfig.get_path("stdlib"))
    stored = read_store("out/race.sqlite")
    assert set(stored.record.items) <= set(small_demo)
    for number, arm, score, failure in stored.record.rows():
        data = (library / str(stored.record.items[number - 1])).read_bytes()
        packed = compressors.COMPRESSORS[stored.arms[arm]](data)
        assert (score, failure) == (max(0.0, 1 - len(packed) / len(data)), None)


def test_a_demo_that_was_interrupted_is_resumed_within_a_new_limit(
    small_demo: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter(range(20))

    def evaluate(compressor: str, file: str) -> float:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return compressors.bytes_saved(compressor, file)

    with monkeypatch.context() as patched:
        patched.setattr("bestarm.studies.demo.bytes_saved", evaluate)
        assert bestarm_cli("demo", "--output", "out", "--quiet", "--json").exit_code == 130
    limited = bestarm_cli("resume", "out/race.sqlite", "--max-evaluations", 40, "--quiet", "--json")
    assert (limited.exit_code, json.loads(limited.stdout)["reason"]) == (3, "budget")
    assert json.loads(limited.stdout)["n_evaluations"] <= 40


# What is typed, and what goes where.


def test_items_come_from_standard_input_too(folder: Path) -> None:
    words = ["run", "bench:score", "--arms", "low,mid,high", "--items", "-", "--bounds", "0,1", "--json"]
    expected = in_python().to_json() + "\n"
    lines = "\n".join(LINES)
    assert CliRunner().invoke(app, words, input=lines).stdout == expected
    kept = [*words, "--store", "race.sqlite", "--max-evaluations", "9"]
    assert CliRunner().invoke(app, kept, input=lines).exit_code == 3
    more = ["resume", "race.sqlite", "--yes", "--max-evaluations", "5000", "--json"]
    other = CliRunner().invoke(app, more, input="other\nitems")
    assert (other.exit_code, "there are" in other.stderr or "items" in other.stderr) == (2, True)
    resumed = CliRunner().invoke(app, more, input=lines)
    assert (resumed.exit_code, json.loads(resumed.stdout)["best"]) == (0, "high")


def test_somebody_at_a_terminal_is_told_that_items_are_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    said: list[str] = []
    monkeypatch.setattr("bestarm.cli.options.remark", said.append)
    assert (items_file(Path("-")), items_file(None)) == ("-", None)
    assert items_file(Path("x.txt")) == str(Path("x.txt").resolve())
    assert said == ["reading the items from the terminal, one per line; end with Ctrl-D"]


def test_a_warning_is_one_line_without_a_place_in_python(folder: Path) -> None:
    (folder / "coins.py").write_text(
        "import random\ndef flip(arm, item):\n    return float(random.Random(arm + item).random() < float(arm))\n",
        encoding="utf-8",
    )
    words = ["--arms", "0.3,0.6", "--items", "items.txt", "--delta", "1e-30", "--store", "race.sqlite"]
    ended = bestarm_cli("run", "coins:flip", *words)
    early, late = (line for line in ended.stderr.splitlines() if not line.startswith("to continue: "))
    assert early.startswith(
        "warning: the scores of the first 50 rounds take at most 10 distinct values, so they are not"
    )
    assert early.endswith(": if they are bounded, give --bounds low,high")
    assert late.startswith("warning: the differences between 0.3 and 0.6 take only 3 distinct values (up to round ")
    assert "give --bounds low,high if the scores have any" in late
    shown = bestarm_cli("show", "race.sqlite")
    assert (shown.stderr, shown.stdout) == ("", ended.stdout)
    assert "Warning: the differences between 0.3 and 0.6 take only 3" in " ".join(shown.stdout.split())
    assert json.loads(bestarm_cli("show", "race.sqlite", "--json").stdout)["warnings"] != []


def test_python_dash_m_is_the_command() -> None:
    ended = subprocess.run([sys.executable, "-m", "bestarm", "--version"], capture_output=True, text=True, check=True)
    assert ended.stdout == f"bestarm {bestarm.__version__}\n"
    usage = subprocess.run([sys.executable, "-m", "bestarm", "-h"], capture_output=True, text=True, check=True)
    panels = [line for line in usage.stdout.splitlines() if line.startswith("╭")]
    assert [panel.split()[1] for panel in panels] == ["Options", "Race", "Saved", "Research"]
    assert "Usage: bestarm " in usage.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on-error", "ignore"], "'raise', 'worst', 'disqualify'"),
        (["--arms"], "requires an argument"),
        (["--max-queries", "9"], "No such option"),
    ],
)
def test_what_is_no_choice_or_no_option_ends_with_2(words: list[str], said: str) -> None:
    ended = run(*words)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert said in " ".join(ended.stderr.replace("│", " ").split())


def test_messages_name_options_as_they_are_typed() -> None:
    typed = {
        "missing='worst' needs bounds=(low, high): see": "--missing worst needs --bounds low,high: see",
        "rounds_in_flight must be 1, got 2": "--rounds-in-flight must be 1, got 2",
        "delta must lie strictly": "--delta must lie strictly",
        "the items are not the same": "the items are not the same",
        "row 2, column 'score' must be a number": "row 2, column 'score' must be a number",
        "leave arms= out": "leave --arms= out",
        "there is no file some_file.csv": "there is no file some_file.csv",
    }
    assert {message: as_typed(message) for message in typed} == typed


# Help.


@pytest.mark.parametrize("command", ["run", "show", "resume", "demo"])
def test_help_of_races_tells_the_exit_codes(command: str) -> None:
    ended = bestarm_cli(command, "--help")
    assert ended.exit_code == 0
    text = " ".join(ended.stdout.replace("│", " ").split())
    codes = "0 answered, 1 a check failed, 2 usage or bad input, 3 undecided or still running, 4 an evaluation failed"
    interrupted = "130 interrupted (143 by SIGTERM, 129 by SIGHUP)"
    assert text.endswith(f" Exit codes: {codes}, {interrupted}, 141 nobody reads the output.")
    assert bestarm_cli(command, "-h").stdout == ended.stdout


@pytest.mark.parametrize(
    "words", [[], ["validate"], ["limit"], ["reproduce"], ["reproduce", "figure1"], ["reproduce", "convex"]]
)
def test_help_of_the_others(words: list[str]) -> None:
    ended = bestarm_cli(*words, "--help")
    assert ended.exit_code == 0
    assert "Usage: " in ended.stdout


# Bad input.

BAD_RUNS: dict[str, tuple[list[Any], str]] = {
    "no colon": (["bench"], "the function must be given as module:function, got 'bench'"),
    "no module": ([":score"], "the function must be given as module:function, got ':score'"),
    "unknown module": (["unwritten:score"], "there is no module 'unwritten' in "),
    "unknown function": (["bench:scores"], "the module 'bench' has no function 'scores'"),
    "emoji function": (["bench::dog:"], "the module 'bench' has no function ':dog:'"),
    "no function at all": (["bench:not_a_function"], "evaluate must be a function of (arm, item), got 3"),
    "one parameter": (["bench:one"], "evaluate is called as one(arm, item), but its signature is one(arm): "),
    "three parameters": (
        ["bench:three"],
        "evaluate is called as three(arm, item), but its signature is three(arm, item, more)",
    ),
    "faulty module": (["faulty:score"], "faulty"),
    "no arms": (["--arms", ""], "every arm must have a name, but arm 0 is ''"),
    "empty arm": (["--arms", "low,,high"], "every arm must have a name, but arm 1 is ''"),
    "one arm": (["--arms", "low"], "there must be at least two arms to compare, got 1"),
    "twice the same arm": (
        ["--arms", "low,high,low"],
        "arms must have different names, but 'low' appears more than once",
    ),
    "no items file": (["--items", "absent.txt"], "absent.txt"),
    "items are a folder": (["--items", "."], "is a folder: give the path of a file"),
    "items are no text": (["--items", "latin.txt"], "latin.txt"),
    "no items": (["--items", "empty.txt"], "items must hold at least two items, got 0"),
    "one item": (["--items", "one.txt"], "items must hold at least two items, got 1"),
    "one bound": (["--bounds", "0"], "--bounds must be two numbers as low,high (such as 0,1), got '0'"),
    "three bounds": (["--bounds", "0,1,2"], "--bounds must be two numbers as low,high (such as 0,1), got '0,1,2'"),
    "bounds in words": (
        ["--bounds", "low,high"],
        "--bounds must be two numbers as low,high (such as 0,1), got 'low,high'",
    ),
    "bounds reversed": (
        ["--bounds", "1,0"],
        "--bounds must be two finite numbers, the lower one first, got (1.0, 0.0)",
    ),
    "delta 0": (["--delta", 0], "--delta must lie strictly between 0 and 1, got 0.0"),
    "delta 1": (["--delta", 1], "--delta must lie strictly between 0 and 1, got 1.0"),
    "delta 2": (["--delta", 2], "--delta must lie strictly between 0 and 1, got 2.0"),
    "epsilon": (["--epsilon", -0.1], "--epsilon must be a finite number of at least 0, got -0.1"),
    "zone": (["--indifference-zone", "inf"], "--indifference-zone must be a finite number of at least 0, got inf"),
    "small budget": (["--max-evaluations", 2], "--max-evaluations must allow for one round of all 3 arms, got 2"),
    "no workers": (["--workers", 0], "--workers must be a whole number of at least 1, got 0"),
    "retries": (["--retries", -1], "--retries must be a whole number of at least 0, got -1"),
    "nothing in flight": (["--rounds-in-flight", 0], "--rounds-in-flight must be a whole number of at least 1, got 0"),
    "seed": (["--seed", -1], "--seed must be a whole number of at least 0, got -1"),
    "async with workers": (["bench:awaited", "--workers", 2], "an async evaluate runs on an event loop of its own"),
    "store in no folder": (["--store", "absent/race.sqlite"], "it is in a folder that does not exist"),
    "store is a folder": (["--store", "."], "it is a folder"),
    "page with a long name": (["--report", "x" * 5000], "x cannot be used: File name too long"),
    "store is a text": (["--store", "items.txt"], "is not a race of bestarm"),
    "store is a database": (["--store", "other.sqlite"], "is a database, but not a race of bestarm: give another file"),
}


def write_bad_files(folder: Path) -> None:
    (folder / "faulty.py").write_text("def score(arm, item:\n    return 1\n", encoding="utf-8")
    (folder / "empty.txt").write_text("\n \n", encoding="utf-8")
    (folder / "one.txt").write_text("alone\n", encoding="utf-8")
    (folder / "latin.txt").write_bytes("caf\xe9\nth\xe9\n".encode("latin-1"))
    with sqlite3.connect(folder / "other.sqlite") as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()


@pytest.mark.parametrize("case", BAD_RUNS)
def test_bad_input_is_refused_in_one_line_before_anything_is_evaluated(case: str, folder: Path) -> None:
    write_bad_files(folder)
    words, message = BAD_RUNS[case]
    usual = ["--arms", "low,mid,high", "--items", "items.txt", "--bounds", "0,1", "--store", "race.sqlite"]
    function = [] if not words[0].startswith("--") else ["bench:noted"]
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    refused(bestarm_cli("run", *usual, *function, *words), message)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_worst_needs_bounds() -> None:
    ended = bestarm_cli("run", "bench:score", "--arms", "a,b", "--items", "items.txt", "--on-error", "worst")
    refused(ended, "error: --on-error worst needs --bounds low,high: without them there is no worst score")


@pytest.mark.parametrize("command", ["show", "resume"])
def test_files_that_hold_no_race_are_neither_shown_nor_resumed(command: str, folder: Path) -> None:
    write_bad_files(folder)
    (folder / "nothing.sqlite").touch()
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    refused(
        bestarm_cli(command, "absent.sqlite"),
        "there is no race in absent.sqlite: the file does not exist; check its name and its folder",
    )
    refused(bestarm_cli(command, "items.txt"), "items.txt is not a race of bestarm")
    refused(bestarm_cli(command, "other.sqlite"), "other.sqlite is a database, but not a race of bestarm")
    refused(bestarm_cli(command, "nothing.sqlite"), "there is no race in nothing.sqlite: the file is empty")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_real_processes_refuse_in_one_line_too() -> None:
    refused(process("resume", "absent.sqlite"), "there is no race in absent.sqlite")
    refused(process("run", "bench:one", "--arms", "a,b", "--store", "race.sqlite"), "but its signature is one(arm)")
    assert not Path("race.sqlite").exists()
    assert bestarm_cli("run", "bench:score").exit_code == 2
    assert bestarm_cli("run", "bench:score", "--arms", "a,b", "--delta", "small").exit_code == 2
    refused(bestarm_cli("demo", "--output", "items.txt"), "items.txt")
