"""Real races in processes of their own that are killed with SIGKILL at random moments and continued until they end.

Run as a script, ``python killing.py RACE STORE LOG`` is the race that gets killed. It writes a line to the log as each
evaluation starts, and what it has found to standard output.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import bestarm

Begin = Callable[[str, int, float], None]  # called as an evaluation starts, with the seconds that it takes
Evaluated = tuple[str, int]  # an arm and an item

ARMS = {"bad": -0.35, "fair": -0.2, "good": -0.11, "best": 0.0}


def score(arm: str, item: int, noise: float = 0.2) -> float:
    """A function of the arm and the item alone: some luck with the item that all arms share, and some of its own."""
    shared = float(np.random.default_rng(item).normal())
    return ARMS[arm] + shared + noise * float(np.random.default_rng([item, len(arm), ord(arm[0])]).normal())


def quick(arm: str, item: int) -> float:
    """The same with little luck of its own, so that few rounds decide."""
    return score(arm, item, 0.1)


def share(arm: str, item: int) -> float:
    """The first squeezed into 0 to 1."""
    return float(1.0 / (1.0 + np.exp(-2.0 * score(arm, item))))


def gaussian_seeds(store: Path, begin: Begin) -> bestarm.RaceResult[Any]:
    def evaluate(arm: str, item: int) -> float:
        begin(arm, item, 0.008)
        return score(arm, item)

    return bestarm.race(evaluate, arms=list(ARMS), store=store, seed=1)


def bounded_pool(store: Path, begin: Begin) -> bestarm.RaceResult[Any]:
    def evaluate(arm: str, item: int) -> float:
        begin(arm, item, 0.003)
        return share(arm, item)

    return bestarm.race(evaluate, arms=list(ARMS), items=range(300), bounds=(0, 1), store=store, seed=2)


def lower_is_better(store: Path, begin: Begin) -> bestarm.RaceResult[Any]:
    def evaluate(arm: str, item: int) -> float:
        begin(arm, item, 0.005)
        return -score(arm, item)

    return bestarm.race(evaluate, arms=list(ARMS), items=count(100), lower_is_better=True, store=store)


def threads(store: Path, begin: Begin) -> bestarm.RaceResult[Any]:
    def evaluate(arm: str, item: int) -> float:
        begin(arm, item, 0.01 + 0.02 * share(arm, item))  # those that do well take longer
        return score(arm, item)

    with ThreadPoolExecutor(4) as executor:
        return bestarm.race(evaluate, arms=list(ARMS), executor=executor, rounds_in_flight=4, store=store, seed=4)


def disqualify(store: Path, begin: Begin) -> bestarm.RaceResult[Any]:
    def evaluate(arm: str, item: int) -> float:
        begin(arm, item, 0.003)
        if arm == "best" and share(arm, item) > 0.99:
            raise RuntimeError("out of memory")
        return share(arm, item)

    return bestarm.race(
        evaluate,
        arms=list(ARMS),
        items=range(400),
        bounds=(0, 1),
        on_error="disqualify",
        rounds_in_flight=2,
        store=store,
        seed=5,
    )


def jointly(store: Path, begin: Begin) -> bestarm.RaceResult[Any]:
    def evaluate(arms: tuple[str, ...], item: int) -> dict[str, float]:
        for arm in arms:
            begin(arm, item, 0.003)
        return {arm: score(arm, item) for arm in arms}

    return bestarm.race(evaluate, arms=list(ARMS), jointly=True, store=store, seed=6)


RACES: dict[str, Callable[[Path, Begin], bestarm.RaceResult[Any]]] = {
    race.__name__: race for race in (gaussian_seeds, bounded_pool, lower_is_better, threads, disqualify, jointly)
}


def outcome(result: bestarm.RaceResult[Any]) -> dict[str, Any]:
    """What a race that was killed must have in common with one that was not, as it comes back from JSON."""
    plain = {
        "best": result.best,
        "candidates": result.candidates,
        "reason": result.reason,
        "eliminations": [(out.arm, out.round, out.by, out.margin) for out in result.eliminations],
        "disqualified": [(out.arm, out.round, out.failure, out.had_eliminated) for out in result.disqualified],
        "n_queries": result.n_evaluations,
        "n_rounds": result.n_rounds,
        "means": result.means.tolist(),
        "counts": result.counts.tolist(),
    }
    found: dict[str, Any] = json.loads(json.dumps(plain))
    return found


@dataclass
class Tally:
    """What came of one race, killed again and again."""

    race: str
    kills: int = 0
    evaluating: int = 0  # kills after the first evaluation of a start; the others fell into loading and resuming
    resumes: int = 0  # starts that found an earlier one's file
    finished: int = 0  # times that the race came to its end
    stored: int = 0  # scores in the files of the finished races
    repeated: int = 0  # evaluations that had started before, and whose score was not stored yet
    moments: list[float] = field(default_factory=list)  # of the kills, as shares of an uninterrupted run
    faults: list[str] = field(default_factory=list)


def kill_race(name: str, kills: int, folder: Path, moments: np.random.Generator) -> Tally:
    """Kill a race so many times, each time at a random moment of the time that an uninterrupted run takes.

    A race that comes to its end before all kills are done is run anew; the last one is let go on to its end.
    """
    tally = Tally(name)
    expected = outcome(RACES[name](folder / "here.sqlite", lambda arm, item, seconds: None))  # compiles, if need be
    begun = time.perf_counter()
    found = _Run(name, folder / "uninterrupted").start(None)
    seconds = time.perf_counter() - begun
    if found != expected:
        tally.faults.append(f"another process found {found} and not {expected}")
    for attempt in count():
        run = _Run(name, folder / f"killed-{attempt}")
        found = None
        while found is None and not tally.faults:
            before, started = stored_scores(run.store), len(run.log_lines())
            fresh = not run.folder.exists()
            tally.resumes += run.store.exists()
            moment = moments.uniform(0.0, seconds) if tally.kills < kills else None
            begun = time.perf_counter()
            found = run.start(moment)
            if found is not None and fresh:  # an uninterrupted run, and the machine is as busy as it is now
                seconds = time.perf_counter() - begun
            if found is None and moment is not None:
                tally.kills += 1
                tally.evaluating += len(run.log_lines()) > started
                tally.moments.append(moment / seconds)
            _check(tally, run, before, started)
        if found is not None and found != expected:
            tally.faults.append(f"it ended otherwise, with {found} and not with {expected}")
        tally.finished += 1
        stored = len(stored_scores(run.store))
        tally.stored += stored
        if stored < sum(expected["counts"]):
            tally.faults.append(f"only {stored} scores are stored, and {sum(expected['counts'])} count")
        if tally.kills >= kills or tally.faults:
            return tally
    raise AssertionError


def _check(tally: Tally, run: "_Run", before: set[Evaluated], started: int) -> None:
    """What was stored before a start stays stored and is not evaluated again; count what is, and may be."""
    lines = run.log_lines()
    tally.repeated += len(set(lines[started:]) & set(lines[:started]))
    again, lost = set(lines[started:]) & before, before - stored_scores(run.store)
    if again:
        tally.faults.append(f"stored and evaluated again: {sorted(again)}")
    if lost:
        tally.faults.append(f"stored and then lost: {sorted(lost)}")
    if len(set(lines[started:])) < len(lines[started:]):
        tally.faults.append("one start evaluated the same twice")


@dataclass(frozen=True)
class _Run:
    """A race in a folder, in a process of its own."""

    name: str
    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "race.sqlite"

    def log_lines(self) -> list[Evaluated]:
        """The evaluations started so far, in their order."""
        log = self.folder / "started.txt"
        lines = log.read_text().splitlines() if log.exists() else []
        return [(arm, int(item)) for arm, item in map(str.split, lines)]

    def start(self, seconds: float | None) -> dict[str, Any] | None:
        """Start or continue the race: what it found, or how it failed; None if it was killed after so many seconds."""
        self.folder.mkdir(exist_ok=True)
        command = [sys.executable, __file__, self.name, str(self.store), str(self.folder / "started.txt")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
            try:
                out, err = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
        if process.returncode == -signal.SIGKILL:
            return None
        if process.returncode != 0:
            return {"failed": err}
        found: dict[str, Any] = json.loads(out)
        return found


def stored_scores(store: Path) -> set[Evaluated]:
    """What a file holds, read from a copy: the killed race is to be continued from what it left, not from a repair."""
    with tempfile.TemporaryDirectory() as scratch:
        for file in store.parent.glob(f"{store.name}*"):
            shutil.copy(file, scratch)
        copy = Path(scratch) / store.name
        if not copy.exists():
            return set()
        with closing(sqlite3.connect(copy)) as connection:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
                return set()
            rows = connection.execute("SELECT name, item FROM scores JOIN rounds USING (round) JOIN arms USING (arm)")
            return {(name, int(item)) for name, item in rows}


def begin_evaluation(log: int, arm: str, item: int, seconds: float) -> None:
    """One line to the end of an open file, at once, so that it stays when the process is killed; then the work."""
    os.write(log, f"{arm} {item}\n".encode())
    time.sleep(seconds)


def main(name: str, store: str, log: str) -> None:
    """The race that gets killed."""
    number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    result = RACES[name](Path(store), partial(begin_evaluation, number))
    sys.stdout.write(json.dumps(outcome(result)))


if __name__ == "__main__":
    main(*sys.argv[1:])
