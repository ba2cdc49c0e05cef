"""How fast are games and races? ``make bench``, or ``python benchmarks/speed.py [PART ...]``

Every figure is the median of several turns, because machines are noisy, and what is compared is measured in turns in
one process (imports: in fresh interpreters). Race files are on the disk of the temporary folder (``TMPDIR`` names
another one). The parts: ``ratios``, ``sharp``, ``leaders`` (games), ``rounds``, ``storing``, ``resuming`` (races).
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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import GaussianArms, TableArms, equicorrelated_arms
from bestarm.comparisons import Betting, Comparison, GaussianBernstein, LeaderBetting, StudentMixture
from bestarm.simulation import play_game, repetition_rng
from laws import CONSOLE, coin_arms, headed
from stored_races import ROUNDS, SCORES, continue_race, random_rounds, write_race

DELTA = 0.1
TURNS = 7
GAMES = 60
N_ARMS = 10
RACE_ROUNDS, STORED_ROUNDS = 2000, 200  # of a race without a store, and with one
RESUMED = 100_000  # scores in a file that is continued
PAPER = PairwiseBAI(DELTA, comparison=GaussianBernstein())

Row = tuple[str, str, str]  # what, measured, asked


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time of one call."""
    start = clock()
    work()
    return clock() - start


def in_turns(*works: Callable[[], object]) -> list[float]:
    """The median time of each piece of work, measured in turns."""
    times = [[seconds(work) for work in works] for _ in range(TURNS)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


# Games.


def games(algorithm: PairwiseBAI, arms: Any) -> int:
    """Play games one after the other; the rounds they took."""
    return sum(play_game(algorithm, arms, repetition_rng(0, k)).n_rounds for k in range(GAMES))


def simulated(arms: GaussianArms, workers: int) -> None:
    """Games through `simulate` on this many threads."""
    with ThreadPoolExecutor(workers) as pool:
        bestarm.simulate(PAPER, arms, repetitions=4 * GAMES, executor=pool, progress=False)


def interpreter(code: str, **environment: str) -> float:
    """Wall time of a fresh interpreter that runs some code."""
    command = [sys.executable, "-W", "ignore", "-c", code]
    return seconds(lambda: subprocess.run(command, check=True, env={**os.environ, **environment}, capture_output=True))


FIRST_GAME = """
import bestarm
arms = bestarm.arms.equicorrelated_arms(10, 0.5)
rule = bestarm.algorithms.PairwiseBAI(0.1, comparison=bestarm.comparisons.GaussianBernstein())
bestarm.simulate(rule, arms, repetitions=1)
"""
FIRST_RACE = """
import bestarm, random
score = lambda arm, item: random.Random(f"{arm} {item}").random()
bestarm.race(score, arms=["a", "b", "c"], items=range(50), bounds=(0, 1), progress=False)
"""


def ratios() -> Iterator[Row]:
    """Games of Figure 1 beside what they are made of, and the first game and race of an installation."""
    arms = equicorrelated_arms(10, 0.5)
    rounds = games(PAPER, arms)
    playing, drawing = in_turns(lambda: games(PAPER, arms), lambda: arms.draw(rounds, np.random.default_rng(0)))
    simulated(arms, 2)
    one, two = in_turns(lambda: simulated(arms, 1), lambda: simulated(arms, 2))
    numpy_import, own_import = in_turns(lambda: interpreter("import numpy"), lambda: interpreter("import bestarm"))
    yield "round of a game of Figure 1, ns", f"{1e9 * playing / rounds:.0f}", ""
    yield "round of a game / drawing its row alone", f"{playing / drawing:.2f}", "≤ 2"
    yield "one thread / two threads", f"{one / two:.2f}", "≥ 1.7"
    yield "import bestarm / import numpy", f"{own_import / numpy_import:.2f}", "≤ 2"
    for what, code in (("game", FIRST_GAME), ("race", FIRST_RACE)):
        with tempfile.TemporaryDirectory() as empty:
            fresh, cached = (interpreter(code, NUMBA_CACHE_DIR=empty) for _ in range(2))
        yield f"first {what} of a fresh install, seconds", f"{fresh:.1f}", "≤ 15" if what == "game" else ""
        yield f"first {what} with compiled kernels cached, seconds", f"{cached:.1f}", ""


def sharp() -> Iterator[Row]:
    """Time a round of the sharp comparisons over that of the paper's, drawing included, ten arms."""
    equal = GaussianArms(np.zeros(10), 0.5 + 0.5 * np.eye(10))
    coins = TableArms(np.random.default_rng(0).integers(0, 2, (5000, 10)).astype(float))

    def long_game(comparison: Comparison, arms: Any) -> None:
        play_game(PairwiseBAI(1e-12, comparison=comparison, max_rounds=20 * 2048), arms, repetition_rng(0, 0))

    works = [
        partial(long_game, comparison, arms)
        for comparison, arms in ((GaussianBernstein(), equal), (StudentMixture(), equal), (Betting(), coins))
    ]
    for work in works:
        work()  # compiled, and its slopes known
    paper, student, betting = in_turns(*works)
    yield "StudentMixture / GaussianBernstein, nobody eliminated", f"{student / paper:.2f}", "≤ 1.2"
    yield "Betting / GaussianBernstein, nobody eliminated", f"{betting / paper:.1f}", "≤ 15"
    figure1, bernoulli = equicorrelated_arms(10, 0.5), coin_arms()["coins, independent"]
    bets = PairwiseBAI(DELTA, comparison=Betting())
    paper_rounds, bet_rounds = games(PAPER, figure1), games(bets, bernoulli)
    paper_games, bet_games = in_turns(lambda: games(PAPER, figure1), lambda: games(bets, bernoulli))
    ratio = (bet_games / bet_rounds) / (paper_games / paper_rounds)
    yield "Betting on coins / GaussianBernstein on Figure 1, whole games", f"{ratio:.1f}", "≤ 15"


def leaders() -> Iterator[Row]:
    """`LeaderBetting`: a round grows like the number of arms, a regret bound does not grow with the rounds."""
    for K in (10, 100, 1000, 10_000):
        game = PairwiseBAI(1e-300, comparison=LeaderBetting(pairs=0)).start(K)
        rows = (np.random.default_rng(0).random((1000, K)) < 0.5).astype(np.float64)
        game.play(rows[:500])
        played = seconds(lambda: game.play(rows[500:]), time.thread_time)  # noqa: B023
        yield f"LeaderBetting(pairs=0), K = {K:,}: ns per arm and round", f"{1e9 * played / (500 * K):.1f}", ""
    rows = np.random.default_rng(0).random((100_001, 10))
    for n_rounds in (1000, 10_000, 100_000):
        for comparison in (Betting(), LeaderBetting(), LeaderBetting(pool=10**6)):
            game = PairwiseBAI(1e-12, comparison=comparison).start(10)
            game.play(rows[:n_rounds])
            _ = game.regret_bound
            game.play(rows[n_rounds : n_rounds + 1])
            taken = seconds(lambda: game.regret_bound)  # noqa: B023
            what = f"regret bound after one more round than {n_rounds:,}, {comparison!r}, ms"
            yield what, f"{1e3 * taken:.1f}", ""


# Races.


def coin(arm: int, seed: int) -> float:
    """A score at once: bits of the seed of a round, equal arms, so that no race is decided."""
    return (0.0, 1.0)[seed >> 2 * arm & 1]


def long_race(n_rounds: int, **options: Any) -> None:
    """A race that goes on until its budget is spent."""
    result = bestarm.race(coin, arms=range(N_ARMS), max_evaluations=N_ARMS * n_rounds, progress=False, **options)
    if (result.reason, result.n_rounds) != ("budget", n_rounds):
        raise RuntimeError(f"a race of equal arms ended in round {result.n_rounds}: {result.reason}")


def rounds() -> Iterator[Row]:
    """What a round costs besides its evaluations."""
    for bounds in (None, (0.0, 1.0)):
        alone = partial(long_race, RACE_ROUNDS, bounds=bounds)
        alone()  # compiled

        def on_threads() -> None:
            with ThreadPoolExecutor(4) as pool:
                long_race(RACE_ROUNDS // 10, bounds=bounds, executor=pool, rounds_in_flight=4)  # noqa: B023

        wall, threads = in_turns(alone, on_threads)
        processor = statistics.median(seconds(alone, time.process_time) for _ in range(TURNS))
        what = f"round of a race, K = {N_ARMS}, {'no bounds' if bounds is None else 'bounds'}"
        yield f"{what}, µs", f"{1e6 * wall / RACE_ROUNDS:.1f}", "≤ 25"
        yield f"{what}, µs of processor time", f"{1e6 * processor / RACE_ROUNDS:.1f}", ""
        yield f"{what}, four in flight on four threads, µs", f"{1e7 * threads / RACE_ROUNDS:.0f}", ""


def storing() -> Iterator[Row]:
    """What it costs to store a round, against bare transactions with as many rows."""
    names = count()
    ((new, scores),) = random_rounds(N_ARMS, STORED_ROUNDS)

    def by_hand(path: Path) -> None:
        bestarm.Race(range(N_ARMS), store=path).close()
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
                file.execute(f"PRAGMA {pragma}")
            for k, one in enumerate(new):
                file.execute("BEGIN")
                file.execute(ROUNDS, one)
                file.executemany(SCORES, scores[k * N_ARMS : (k + 1) * N_ARMS])
                file.execute("COMMIT")

    with tempfile.TemporaryDirectory() as folder:
        without, stored, bare = in_turns(
            lambda: long_race(STORED_ROUNDS),
            lambda: long_race(STORED_ROUNDS, store=Path(folder) / f"{next(names)}.sqlite"),
            lambda: by_hand(Path(folder) / f"{next(names)}.sqlite"),
        )
    what = f"race of {STORED_ROUNDS} rounds"
    yield f"{what}: (stored - not stored) / bare transactions", f"{(stored - without) / bare:.2f}", "≤ 1.5"
    yield f"{what}: stored / not stored", f"{stored / without:.1f}", ""


def resuming() -> Iterator[Row]:
    """How long it takes to continue a file of 100,000 scores, here and in a process of its own."""
    for n_arms in (N_ARMS, 2):
        for kind in ("no bounds", "bounds"):
            with tempfile.TemporaryDirectory() as folder:
                path, n_rounds = Path(folder) / "race.sqlite", RESUMED // n_arms
                write_race(path, n_arms, kind, n_rounds)
                here = partial(continue_race, path, n_arms, kind, n_rounds)
                call = f"continue_race(Path({str(path)!r}), {n_arms}, {kind!r}, {n_rounds})"
                code = f"from pathlib import Path; from stored_races import continue_race; {call}"
                elsewhere = partial(interpreter, code, PYTHONPATH=str(Path(__file__).parent))
                here()  # compiled
                warm, fresh = in_turns(here, elsewhere)
            what = f"resume of {RESUMED:,} scores, K = {n_arms}, {kind}"
            yield f"{what}, seconds", f"{warm:.2f}", "< 2"
            yield f"{what}, fresh process with imports, seconds", f"{fresh:.2f}", "< 2"


PARTS = {part.__name__: part for part in (ratios, sharp, leaders, rounds, storing, resuming)}


def main() -> None:
    """Measure the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    given = parser.parse_args()
    warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # coins are coins
    table = headed(f"Speed, medians of {TURNS} turns", "what", "measured", "asked")
    for name in given.parts or PARTS:
        for row in PARTS[name]():
            table.add_row(*row)
        table.add_section()
    CONSOLE.print(table)


if __name__ == "__main__":
    main()
