"""Race files of an earlier version are still read, shown and continued: people keep them for years.

The files in ``data/frozen`` were made by version 0.1.0 and are never made anew: a file that no longer reads is an error
here, not there. ``expected.json`` holds what that version read from each of them, and how the race ended when it went
on. Of races that were started from the command line the folder is stored; here it is the word FOLDER.
"""

import json
import math
import random
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import bestarm
from bestarm.algorithms import LUCB, ConvexBAI
from bestarm.comparisons import Portfolio
from conftest import Cli

FROZEN = Path(__file__).resolve().parents[1] / "data" / "frozen"
EXPECTED = json.loads((FROZEN / "expected.json").read_text(encoding="utf-8"))
ARMS = {"plain": 0.35, "short": 0.45, "long": 0.5, "few": 0.6, "many": 0.72}

pytestmark = pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")


# The races: their scores are functions of the arm and the item alone.


def luck(*words: object) -> random.Random:
    return random.Random(" ".join(map(str, words)))  # noqa: S311 - no secrets here


def share(arm: str, item: object) -> float:
    return min(1.0, max(0.0, ARMS[arm] + luck(item).uniform(-0.2, 0.2) + luck(arm, item).gauss(0, 0.1)))


def level(arm: str, item: object) -> float:
    return ARMS[arm] + luck(item).gauss(0, 1) + luck(arm, item).gauss(0, 0.1)


def cost(arm: str, item: object) -> float:
    return 1.0 - share(arm, item)


def failing(arm: str, item: object) -> float:
    if arm in ("few", "long") and luck("fails", arm, item).random() < 0.08:
        raise ValueError(f"no {arm} today")
    return share(arm, item)


Score = Callable[[str, object], float]
BOUNDS = (0.0, 1.0)
RACES: dict[str, tuple[Score, Callable[[], dict[str, Any]]]] = {
    "pool_finished": (share, lambda: {"items": range(300), "bounds": BOUNDS}),
    "pool_budget": (share, lambda: {"items": range(300), "bounds": BOUNDS, "seed": 1}),
    "gaussian_pool_finished": (level, lambda: {"items": [f"item {k}" for k in range(200)]}),
    "stream_in_mid_round": (level, lambda: {"items": iter(range(200)), "delta": 0.01}),
    "stream_exhausted": (share, lambda: {"items": iter(range(200)), "bounds": BOUNDS}),
    "seeds_four_in_flight": (level, lambda: {"rounds_in_flight": 4, "seed": 2}),
    "disqualified": (failing, lambda: {"items": range(300), "bounds": BOUNDS, "on_error": "disqualify"}),
    "worst": (failing, lambda: {"bounds": BOUNDS, "on_error": "worst"}),
    "portfolio": (
        share,
        lambda: {"items": range(250), "algorithm": ConvexBAI(0.05, comparison=Portfolio(pool=250))},
    ),
    "lower_with_epsilon": (
        cost,
        lambda: {"items": range(300), "bounds": BOUNDS, "lower_is_better": True, "epsilon": 0.05},
    ),
    "indifference_zone": (level, lambda: {"indifference_zone": 0.05, "min_rounds": 5}),
    "lucb": (share, lambda: {"items": range(300), "algorithm": LUCB(0.05, variances=0.01)}),
}

MODULE = """
LEVEL = {"low": 0.2, "mid": 0.5, "high": 0.9}

def score(arm, item):
    return LEVEL[arm] + (len(item) - 4) / 100
"""
PROGRAM = "#!{python} -IS\nimport sys\nprint('score', ({base} + len(sys.argv[1])) / 10)\n"
ITEMS = [f"{k:03}{'x' * (k % 5)}" for k in range(100)]
FROM_THE_COMMAND_LINE = ("command_line_function", "command_line_programs")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The module, the programs and the items that the races from the command line are about."""
    (tmp_path / "frozen_bench.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "items.txt").write_text("\n".join(ITEMS) + "\n", encoding="utf-8")
    for name, base in (("low", 1), ("high", 2)):
        (tmp_path / name).write_text(PROGRAM.format(python=sys.executable, base=base), encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("frozen_bench", None)


# What is compared.


def told(result: bestarm.RaceResult[Any]) -> dict[str, Any]:
    """What a result says, as plain values: means and counts without the rounds in flight when an arm left."""
    counts = result.game.counts.tolist()
    by_arm = [result.by_arm.of(arm)[1][:n] for arm, n in enumerate(counts)]
    return {
        "best": result.leader,
        "candidates": list(result.candidates),
        "reason": FORMER_REASONS.get(result.reason, result.reason),
        "n_queries": result.n_evaluations,
        "n_rounds": result.n_rounds,
        "eliminations": [[out.arm, out.round, out.by, out.margin] for out in result.eliminations],
        "disqualified": [[out.arm, out.round, out.failure, list(out.had_eliminated)] for out in result.disqualified],
        "means": [float(scores.mean()) for scores in by_arm],
        "counts": counts,
        "regret_bound": None if math.isnan(result.regret_bound) else result.regret_bound,
    }


# What that version called it.
FORMER_REASONS = {
    "all items used": "pool exhausted",
    "ran out of items": "items exhausted",
    "running": "interrupted",
}


def as_told(expected: dict[str, Any]) -> dict[str, Any]:
    """What the earlier version told, without its words, and without what it saved where there was no answer."""
    return {name: value for name, value in expected.items() if name not in ("verdict", "saved")}


def flat(value: Any, place: str = "") -> dict[str, Any]:
    """All values within a value, by their places."""
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        return {f"{place} length": len(value)} | {
            inner: part for name, each in parts for inner, part in flat(each, f"{place}/{name}").items()
        }
    return {place: value}


def same(one: Any, other: Any) -> None:
    """The same, numbers up to the last digits: logarithms may differ between machines."""
    assert flat(one) == {
        place: pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value
        for place, value in flat(other).items()
    }


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def copied(name: str, folder: Path) -> Path:
    """A copy of a file, in which the folder is this one."""
    path = folder / f"{name}.sqlite"
    shutil.copyfile(FROZEN / path.name, path)
    with closing(sqlite3.connect(path)) as file, file:
        written = json.dumps(str(folder))[1:-1]
        file.execute("UPDATE settings SET value = replace(value, 'FOLDER', ?) WHERE name = 'source'", (written,))
    return path


# The tests.


def test_every_file_has_its_race_and_its_expectation() -> None:
    files = {path.stem for path in FROZEN.glob("*.sqlite")}
    assert files == set(EXPECTED) == {*RACES, *FROM_THE_COMMAND_LINE}
    assert {path.name for path in FROZEN.iterdir()} == {*(f"{name}.sqlite" for name in files), "expected.json"}
    reasons = {name: expected["read"]["reason"] for name, expected in EXPECTED.items()}
    assert set(reasons.values()) == {"decided", "budget", "interrupted", "items exhausted"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_frozen_file_is_read_as_it_was_and_left_as_it_is(name: str, tmp_path: Path) -> None:
    before = content(FROZEN)
    result = bestarm.load_result(FROZEN / f"{name}.sqlite")
    same(told(result), as_told(EXPECTED[name]["read"]))
    assert result.saved in (None, EXPECTED[name]["read"]["saved"])
    assert result.answered == (EXPECTED[name]["read"]["reason"] == "decided")
    result.to_html(tmp_path / "page.html")
    assert str(result.leader) in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert content(FROZEN) == before


@pytest.mark.parametrize("name", RACES)
def test_a_frozen_race_goes_on_and_ends_as_it_did(name: str, tmp_path: Path) -> None:
    before, path, evaluated = content(FROZEN), copied(name, tmp_path), 0
    score, settings = RACES[name]

    def counted(arm: str, item: object) -> float:
        nonlocal evaluated
        evaluated += 1
        return score(arm, item)

    result = bestarm.race(counted, arms=list(ARMS), store=path, progress=False, **settings())
    same({**told(result), "evaluated": evaluated}, as_told(EXPECTED[name]["resumed"]))
    same(told(bestarm.load_result(path)), told(result))
    assert content(FROZEN) == before


@pytest.mark.parametrize("name", FROM_THE_COMMAND_LINE)
def test_a_frozen_race_of_the_command_line_is_resumed_and_ends_as_it_did(cli: Cli, name: str, folder: Path) -> None:
    before, path = content(FROZEN), copied(name, folder)
    ended = cli("resume", path, "--yes", "--max-evaluations", "400", "--quiet", "--json")
    assert ended.exit_code == 0
    same(told(bestarm.load_result(path)), as_told(EXPECTED[name]["resumed"]))
    said = json.loads(ended.stdout)
    assert (said["best"], said["n_evaluations"]) == tuple(
        EXPECTED[name]["resumed"][part] for part in ("best", "n_queries")
    )
    assert content(FROZEN) == before
