"""Compiled code that is kept on disk follows every source that it is made of, whichever file the change is in."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bestarm
from bestarm.kernels.compiling import compiled

# Each kernel is the smallest of its kind: `lucb` calls no other, `withdraw_arms` and `all_within` are of rounds.py.
SCRIPT = """
import json
import numpy as np
from bestarm.kernels.state import new_board, new_duel
from bestarm.kernels.rounds import all_within, withdraw_arms
from bestarm.kernels.boundaries import lucb

duel = new_duel(2)
lucb(np.array([[0.0, 1.0], [0.5, 0.25]]), np.ones(2), np.ones(2), duel)
board = new_board(2)
board.last_round[0], board.means[1] = 1, 2.0
withdraw_arms(board, 1)
kernels = {"lucb": lucb, "withdraw_arms": withdraw_arms, "all_within": all_within}
print(json.dumps({
    "lucb": duel.progress[["n_rounds", "n_queries"]].item(),
    "withdraw_arms": board.lead_at_exit[0, 1],
    "all_within": bool(all_within(np.array([[0.5]]), 0.0, 1.0)),
    "hits": {name: sum(kernel.stats.cache_hits.values()) for name, kernel in kernels.items()},
    "misses": {name: sum(kernel.stats.cache_misses.values()) for name, kernel in kernels.items()},
}))
"""
SOURCE = Path(bestarm.__file__).parent
EVERY = ("lucb", "withdraw_arms", "all_within")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, with a cache of its own."""
    root = tmp_path_factory.mktemp("kernels")
    shutil.copytree(SOURCE, root / "bestarm", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def python(script: str, *given: str, cache: Path, path: Path = SOURCE.parent) -> str:
    """What an interpreter of its own prints, with the sources below ``path`` and compiled code in ``cache``."""
    paths = {"PYTHONPATH": str(path), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", script, *given]
    environment = os.environ | paths
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240, env=environment)  # noqa: S603
    return done.stdout


def run(package: Path) -> dict[str, Any]:
    """What an interpreter of its own gets from the kernels, and what it found in the cache."""
    answer: dict[str, Any] = json.loads(python(SCRIPT, cache=package / "cache", path=package))
    return answer


def change(path: Path, old: str, new: str) -> None:
    """Change a source, and nothing that a look at its directory could tell: not its size, not its time."""
    text, times = path.read_text(), path.stat()
    assert text.count(old) == 1
    assert len(old) == len(new)
    path.write_text(text.replace(old, new))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_kernel_is_kept_until_any_source_changes(package: Path) -> None:
    """One test, because each step needs the cache that the step before has left."""
    first = run(package)
    assert (first["lucb"], first["withdraw_arms"], first["all_within"]) == ([2, 4], 2.0, True)
    assert first["misses"] == dict.fromkeys(EVERY, 1)
    again = run(package)
    assert again["misses"] == dict.fromkeys(EVERY, 0)
    assert again["hits"] == dict.fromkeys(EVERY, 1)
    assert {name: again[name] for name in EVERY} == {name: first[name] for name in EVERY}

    # The state in kernels/state.py that lucb in kernels/boundaries.py works on: a game that begins with 9 queries.
    begun = "progress = named_numbers(n_rounds=0, n_queries=0, leader"
    change(package / "bestarm/kernels/state.py", begun, begun.replace("n_queries=0", "n_queries=9"))
    changed = run(package)
    assert changed["lucb"] == [2, 13]
    assert changed["misses"] == dict.fromkeys(EVERY, 1)

    # A function of kernels/rounds.py that withdraw_arms calls.
    noted, ahead, behind = "lead_at_exit[arms[a], arms[b]] = ", "means[b] - means[a]", "means[a] - means[b]"
    change(package / "bestarm/kernels/rounds.py", noted + ahead, noted + behind)
    changed = run(package)
    assert changed["withdraw_arms"] == -2.0
    assert changed["misses"] == dict.fromkeys(EVERY, 1)
    assert run(package)["hits"] == dict.fromkeys(EVERY, 1)


def kept(package: Path) -> list[str]:
    return sorted(path.name for path in (package / "cache").rglob("*.nb?"))


def test_code_that_was_kept_for_classes_that_are_gone_does_no_harm(package: Path) -> None:
    run(package)
    before = kept(package)
    for path in (package / "bestarm").rglob("*.py"):
        path.write_text(path.read_text().replace("Duel", "Pair").replace("Board", "Table"))
    renamed = run(package)
    assert renamed["misses"] == dict.fromkeys(EVERY, 1)
    assert renamed["all_within"] is True
    assert len(kept(package)) == len(before)  # what was kept for the old sources is gone
    assert not set(kept(package)) & set(before)


def test_what_is_no_source_of_a_kernel_does_not_matter(package: Path) -> None:
    before = run(package)
    note = package / "bestarm/simulation.py"
    note.write_text(note.read_text() + "\n# another line\n")
    assert run(package)["misses"] == before["misses"] | dict.fromkeys(EVERY, 0)


def test_code_that_cannot_be_kept_is_run_all_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def refuse(data: object) -> None:
        raise RuntimeError("no compiled object yet for <Library>")

    kernel = compiled(lambda x: x + 1)
    monkeypatch.setattr(kernel._cache._impl, "reduce", refuse)
    assert kernel(1) == 2
    assert not list(tmp_path.rglob("*.nbc"))


def test_what_is_compiled_is_logged_and_what_was_kept_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def one_more(x: int) -> int:
        return x + 1

    with caplog.at_level("INFO", "bestarm.kernels"):
        for _ in range(2):
            assert compiled(one_more)(1) == 2
    assert [record.message for record in caplog.records] == ["compiling one_more"]


AT_ONCE = """
import threading
import numpy as np
from bestarm.kernels.state import new_board, new_duel
from bestarm.kernels.rounds import all_within, withdraw_arms
from bestarm.kernels.boundaries import lucb

def one(k):
    gate.wait()
    try:
        if k % 2:
            lucb(np.array([[0.0, 1.0], [0.5, 0.25]]), np.ones(2), np.ones(2), new_duel(2))
        else:
            withdraw_arms(new_board(2), 1)
            all_within(np.array([[0.5]]), 0.0, 1.0)
        done.append(k)
    except Exception as error:
        print(error)

gate, done = threading.Barrier(8), []
threads = [threading.Thread(target=one, args=(k,)) for k in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done))
"""


@pytest.mark.long
def test_several_threads_compile_at_once(tmp_path: Path) -> None:
    assert python(AT_ONCE, cache=tmp_path) == "8\n"
    assert list(tmp_path.rglob("*.nbc"))


# What Numba compiles in the first race of an installation: functions of the kernels, and others of its own.
FIRST_RACE = """
import sys
from numba.core import event
import bestarm, bestarm.comparisons

with event.install_recorder("numba:compile") as recorder:
    comparison = getattr(bestarm.comparisons, sys.argv[1])()
    options = {"bounds": (0, 1), "comparison": comparison, "progress": False}  # its display asks for bounds
    bestarm.race(lambda arm, seed: 0.5, arms=range(3), max_evaluations=9, **options)
functions = [found.data["dispatcher"].py_func for _, found in recorder.buffer if found.is_start]
print(*(one.__name__ for one in functions if "bestarm" in one.__module__))
print(sum("bestarm" not in one.__module__ for one in functions))
"""
UNUSED = {"_settle_wins", "_most_beaten_by", "_leader_near", "_learn_portfolio", "log_wealth"}


@pytest.mark.parametrize("comparison", ["Betting", "LeaderBetting"])
def test_the_first_race_compiles_what_it_uses_and_that_once(comparison: str, tmp_path: Path) -> None:
    of_kernels, others = python(FIRST_RACE, comparison, cache=tmp_path).splitlines()
    names = of_kernels.split()
    assert len(names) == len(set(names))
    assert not UNUSED & set(names)
    assert ("renew_leaders" in names) == (comparison == "LeaderBetting")
    assert int(others) <= 12  # a slice that is assigned to compiles 30 of them, most for its error messages
    assert {path.name.split("-")[0].split(".")[-1] for path in tmp_path.rglob("*.nbi")} == {"race_wealth", "all_within"}
