"""How fast are games and races? ``make bench``, or ``python benchmarks/speed.py [WORD ...]``

Prints the median time of several turns of each piece of work whose name holds these words, and some ratios beside what
is asked of them; all is measured in turns, because machines are noisy. ``same_speed.py`` compares the same pieces of
work between two commits. Race files are on the disk of the temporary folder (``TMPDIR`` names another one).
"""

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import bestarm
from bestarm import comparisons
from bestarm.algorithms import LUCB, ConvexBAI, KimNelson, PairwiseBAI, VarianceRace
from bestarm.arms import BernoulliArms, GaussianArms, TableArms, bernoulli_variances, equicorrelated_arms
from laws import CONSOLE, headed
from stored_races import ROUNDS, SCORES, continue_race, random_rounds, write_race

TURNS = 7
LONG, STORED, RESUMED = 1000, 100, 100_000  # rounds of a race, of one with a store, scores of one that is continued
FIRST_RACE = """
import bestarm, random
score = lambda arm, item: random.Random(f"{arm} {item}").random()
bestarm.race(score, arms=["a", "b", "c"], items=range(50), bounds=(0, 1), progress=False)
"""
# Two pieces of work, and what is asked of the first over the second.
RATIOS = (
    ("simulate, one thread", "simulate, two threads", "≥ 1.7"),
    ("import bestarm", "import numpy", "≤ 2"),
    ("game of StudentMixture", "game of GaussianBernstein", "≤ 1.2"),
    ("game of Betting", "game of GaussianBernstein", "≤ 15"),
    ("race with a store", "as many bare transactions", "≤ 1.5"),
)


@dataclass(frozen=True)
class Work:
    """Something to measure, and how many rounds, games or scores it is about."""

    call: Callable[[], object]
    n: int = 1


def coin(arm: int, seed: int) -> float:
    """A score at once: bits of the seed of a round, equal arms, so that no race is decided."""
    return (0.0, 1.0)[seed >> 2 * arm & 1]


def race(n_rounds: int, n_arms: int = 10, **options: Any) -> None:
    """A race that goes on until its budget is spent."""
    budget = n_arms * n_rounds
    result = bestarm.race(coin, arms=range(n_arms), max_evaluations=budget, progress=False, **options)
    if (result.reason, result.n_rounds) != ("budget", n_rounds):
        raise RuntimeError(f"a race of equal arms ended in round {result.n_rounds}: {result.reason}")


def on_threads(bounds: tuple[float, float] | None) -> None:
    """Four rounds in flight on four threads."""
    with ThreadPoolExecutor(4) as pool:
        race(LONG // 5, bounds=bounds, executor=pool, rounds_in_flight=4)


def bare_transactions(path: Path) -> None:
    """Rounds of ten scores, each durable, as one would write them by hand."""
    bestarm.Race(range(10), store=path).close()
    ((rounds, scores),) = random_rounds(10, STORED)
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
            file.execute(f"PRAGMA {pragma}")
        for k, one in enumerate(rounds):
            file.execute("BEGIN")
            file.execute(ROUNDS, one)
            file.executemany(SCORES, scores[10 * k : 10 * k + 10])
            file.execute("COMMIT")


def interpreter(code: str, **own: str) -> None:
    """A fresh interpreter that runs some code."""
    command = [sys.executable, "-W", "ignore", "-c", code]
    subprocess.run(command, check=True, env=os.environ | own, capture_output=True)


def first_race() -> None:
    """The first race of an installation, which compiles."""
    with tempfile.TemporaryDirectory() as empty:
        interpreter(FIRST_RACE, NUMBA_CACHE_DIR=empty)


def games() -> dict[str, Work]:
    """Games of 20,000 rounds in which nobody is out for long, and many games of Figure 1."""
    means = np.linspace(0.5, 0.25, 20)
    many = BernoulliArms(means, bernoulli_variances(means).independent)
    coins = TableArms(np.random.default_rng(0).integers(0, 2, (5000, 10)).astype(float))
    rows = {
        "gaussian": GaussianArms(np.zeros(10), 0.5 + 0.5 * np.eye(10)).draw(20_000, np.random.default_rng(0)),
        "coins": coins.draw(20_000, np.random.default_rng(0)),
        "many": many.draw(20_000, np.random.default_rng(0)),
        "wide": (np.random.default_rng(0).random((200, 10_000)) < 0.5).astype(float),
    }
    algorithms: dict[str, tuple[Any, str]] = {
        "GaussianBernstein": (PairwiseBAI(1e-12, comparison=comparisons.GaussianBernstein()), "gaussian"),
        "StudentMixture": (PairwiseBAI(1e-12, comparison=comparisons.StudentMixture()), "gaussian"),
        "SymmetricBetting": (PairwiseBAI(1e-12, comparison=comparisons.SymmetricBetting()), "gaussian"),
        "Betting": (PairwiseBAI(1e-12, comparison=comparisons.Betting()), "coins"),
        "Betting on a pool": (PairwiseBAI(1e-12, comparison=comparisons.Betting(pool=30_000)), "coins"),
        "LeaderBetting": (PairwiseBAI(1e-12, comparison=comparisons.LeaderBetting()), "coins"),
        "LeaderBetting, 10,000 arms": (PairwiseBAI(1e-300, comparison=comparisons.LeaderBetting(pairs=0)), "wide"),
        "Portfolio": (ConvexBAI(1e-12, comparison=comparisons.Portfolio()), "coins"),
        "ConvexBernstein": (ConvexBAI(0.05, comparison=comparisons.ConvexBernstein(), check_growth=1.0), "many"),
        "LUCB": (LUCB(1e-12), "gaussian"),
        "VarianceRace": (VarianceRace(1e-12), "gaussian"),
        "KimNelson": (KimNelson(0.05, indifference_zone=1e-6), "gaussian"),
    }

    def play(algorithm: Any, kind: str) -> None:
        algorithm.start(rows[kind].shape[1]).play(rows[kind])

    found = {f"game of {name}": Work(partial(play, *two), len(rows[two[1]])) for name, two in algorithms.items()}
    figure1 = equicorrelated_arms(10, 0.5)

    def simulate(workers: int) -> None:
        with ThreadPoolExecutor(workers) as pool:
            bestarm.simulate(PairwiseBAI(0.1), figure1, repetitions=200, executor=pool, progress=False)

    found |= {
        f"simulate, {name}": Work(partial(simulate, n), 200) for n, name in ((1, "one thread"), (2, "two threads"))
    }
    return found | {"race_table, 5,000 x 10": Work(lambda: bestarm.race_table(coins.scores))}


def races(folder: Path) -> dict[str, Work]:
    """What a round, its storage and a race that is continued cost besides evaluations."""
    names, found = count(), dict[str, Work]()
    for bounds, what in ((None, "no bounds"), ((0.0, 1.0), "bounds")):
        found[f"race of ten, {what}"] = Work(partial(race, LONG, bounds=bounds), LONG)
        found[f"race of ten on four threads, {what}"] = Work(partial(on_threads, bounds), LONG // 5)
        for n_arms in (10, 2):
            file = folder / f"{n_arms} {what}.sqlite"
            write_race(file, n_arms, what, RESUMED // n_arms)
            resume = partial(continue_race, file, n_arms, what, RESUMED // n_arms)
            found[f"resume of 100,000 scores, K = {n_arms}, {what}"] = Work(resume, RESUMED)
    found["load_result of 100,000 scores"] = Work(lambda: bestarm.load_result(folder / "10 bounds.sqlite"), RESUMED)
    found["race with a store"] = Work(lambda: race(STORED, store=folder / f"{next(names)}.sqlite"), STORED)
    found["as many bare transactions"] = Work(lambda: bare_transactions(folder / f"{next(names)}.sqlite"), STORED)
    return found


def fresh_interpreters() -> dict[str, Work]:
    """What is done once."""
    imports = {f"import {name}": Work(partial(interpreter, f"import {name}")) for name in ("bestarm", "numpy")}
    first = {
        "first race of an installation": Work(first_race),
        "first race, compiled": Work(partial(interpreter, FIRST_RACE)),
    }
    return imports | first


def main() -> None:
    """Measure in turns, and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="words that the names of works must hold; all by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # coins are coins
    with tempfile.TemporaryDirectory() as folder:
        works = {**games(), **races(Path(folder)), **fresh_interpreters()}
        works = {name: work for name, work in works.items() if all(word in name for word in given.words)}
        for work in works.values():
            work.call()  # compiled
        turns: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(TURNS):
            for name, work in works.items():
                begun = time.perf_counter()
                work.call()
                turns[name].append(time.perf_counter() - begun)
    medians = {name: statistics.median(seconds) for name, seconds in turns.items()}
    table = headed(f"Medians of {TURNS} turns", "", "ms", "µs each")
    for name, seconds in medians.items():
        table.add_row(name, f"{1e3 * seconds:,.1f}", f"{1e6 * seconds / works[name].n:,.2f}")
    CONSOLE.print(table)
    for one, other, asked in RATIOS:
        if one in medians and other in medians:
            CONSOLE.print(f"{one} / {other}: {medians[one] / medians[other]:.2f} ({asked})")


if __name__ == "__main__":
    main()
