"""Is one commit as fast as another? ``python benchmarks/same_speed.py BEFORE [AFTER]``

Measures the same work with two source trees in turns, each in an interpreter of its own that stays open, and prints the
ratio of their processor times, after over before: machines are noisy, ratios within one run less so. BEFORE and AFTER
are git revisions or folders with a ``src/bestarm`` in them; AFTER is the working tree by default.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from trees import ROOT, checked_out, environment_of

TURNS = 15
BOUNDS = (0.0, 1.0)


def coin(arm: int, seed: int) -> float:
    """A score at once: bits of the seed of a round, equal arms, so that no race is decided."""
    return (0.0, 1.0)[seed >> 2 * arm & 1]


def race(n_rounds: int, n_arms: int = 10, **options: Any) -> None:
    """A race that goes on until its budget is spent."""
    import bestarm

    bestarm.race(coin, arms=range(n_arms), max_evaluations=n_arms * n_rounds, progress=False, **options)


def on_threads(bounds: tuple[float, float] | None) -> None:
    """The same with four rounds in flight on four threads."""
    with ThreadPoolExecutor(4) as pool:
        race(200, bounds=bounds, executor=pool, rounds_in_flight=4)


def works(folder: Path) -> dict[str, Callable[[], object]]:
    """What is measured."""
    import numpy as np

    import bestarm
    from bestarm.algorithms import LUCB, ConvexBAI, KimNelson, PairwiseBAI, VarianceRace
    from bestarm.arms import BernoulliArms, GaussianArms, TableArms, bernoulli_variances, equicorrelated_arms
    from bestarm.comparisons import Betting, ConvexBernstein, GaussianBernstein, Portfolio, StudentMixture

    names = iter(range(10**9))
    equal = GaussianArms(np.zeros(10), 0.5 + 0.5 * np.eye(10))
    coins = TableArms(np.random.default_rng(0).integers(0, 2, (5000, 10)).astype(float))
    rows = {
        "gaussian": equal.draw(20_480, np.random.default_rng(0)),
        "coins": coins.draw(20_480, np.random.default_rng(0)),
    }
    means = np.linspace(0.5, 0.25, 20)
    many = BernoulliArms(means, bernoulli_variances(means).independent)
    rows["many"] = many.draw(20_000, np.random.default_rng(0))
    figure1 = equicorrelated_arms(10, 0.5)
    kept = {}
    for n_arms in (10, 2):
        for bounds in (None, BOUNDS):
            kept[n_arms, bounds] = folder / f"{n_arms} {bounds}.sqlite"
            race(20_000 // n_arms, n_arms, bounds=bounds, store=kept[n_arms, bounds])

    def game(algorithm: Any, kind: str) -> Callable[[], object]:
        return lambda: algorithm.start(rows[kind].shape[1]).play(rows[kind])

    def resume(n_arms: int, bounds: Any) -> None:
        with bestarm.Race(range(n_arms), bounds=bounds, store=kept[n_arms, bounds], max_evaluations=10**6):
            pass

    found: dict[str, Callable[[], object]] = {}
    for bounds, what in ((None, "no bounds"), (BOUNDS, "bounds")):
        found[f"race of 1,000 rounds, K = 10, {what}"] = partial(race, 1000, bounds=bounds)
        found[f"race of 200 rounds on four threads, {what}"] = partial(on_threads, bounds)
        for n_arms in (10, 2):
            found[f"resume of 20,000 scores, K = {n_arms}, {what}"] = partial(resume, n_arms, bounds)
    found["stored race of 100 rounds"] = lambda: race(100, store=folder / f"race{next(names)}.sqlite")
    found["load_result of 20,000 scores"] = lambda: bestarm.load_result(kept[10, BOUNDS])
    found["race_table, 5,000 x 10"] = lambda: bestarm.race_table(coins.scores)
    for name, algorithm, kind in (
        ("GaussianBernstein", PairwiseBAI(1e-12, comparison=GaussianBernstein()), "gaussian"),
        ("StudentMixture", PairwiseBAI(1e-12, comparison=StudentMixture()), "gaussian"),
        ("Betting", PairwiseBAI(1e-12, comparison=Betting()), "coins"),
        ("Betting on a pool", PairwiseBAI(1e-12, comparison=Betting(pool=30_000)), "coins"),
        ("Portfolio", ConvexBAI(1e-12, comparison=Portfolio()), "coins"),
        ("ConvexBernstein", ConvexBAI(0.05, comparison=ConvexBernstein(), keep=98, check_growth=1.0), "many"),
        ("LUCB", LUCB(1e-12), "gaussian"),
        ("VarianceRace", VarianceRace(1e-12), "gaussian"),
        ("KimNelson", KimNelson(0.05, indifference_zone=1e-6), "gaussian"),
    ):
        found[f"game of 20,000 rounds, {name}"] = game(algorithm, kind)
    sharp = PairwiseBAI(0.1)
    found["simulate, 200 games of Figure 1"] = lambda: bestarm.simulate(sharp, figure1, repetitions=200, progress=False)
    return found


def serve() -> None:
    """Do what is asked on standard input, and answer with seconds."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        known = works(Path(folder))
        for work in known.values():
            work()  # compiled
        sys.stdout.write(json.dumps(list(known)) + "\n")
        sys.stdout.flush()
        for line in sys.stdin:
            begun = time.process_time()
            known[line.strip()]()
            sys.stdout.write(f"{time.process_time() - begun}\n")
            sys.stdout.flush()


@contextmanager
def server(source: Path) -> Iterator[subprocess.Popen[str]]:
    """An interpreter that imports bestarm from this tree and does what it is asked."""
    command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
    with tempfile.TemporaryDirectory() as cache:
        own, pipe = environment_of(source, Path(cache)), subprocess.PIPE
        with subprocess.Popen(command, env=own, stdin=pipe, stdout=pipe, text=True) as process:
            yield process


def answer(process: subprocess.Popen[str], work: str) -> float:
    """How long some work takes there."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the interpreter has no pipes")
    process.stdin.write(work + "\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main() -> None:
    """Measure in turns, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", nargs="?", default="HEAD")
    parser.add_argument("after", nargs="?", default=str(ROOT))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--turns", type=int, default=TURNS)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    with ExitStack() as stack:
        trees = [stack.enter_context(checked_out(name)) for name in (given.before, given.after)]
        two = [stack.enter_context(server(source)) for source in trees]
        names = [json.loads(process.stdout.readline()) for process in two if process.stdout is not None]
        print(f"{'work':<48}{'before, ms':>12}{'after, ms':>12}{'after / before':>16}")
        for work in names[0]:
            turns = [[answer(process, work) for process in (two if k % 2 else two[::-1])] for k in range(given.turns)]
            pairs = [turn if k % 2 else turn[::-1] for k, turn in enumerate(turns)]
            before, after = (1e3 * statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(second / first for first, second in pairs)
            print(f"{work:<48}{before:>12.1f}{after:>12.1f}{ratio:>16.3f}", flush=True)
        for process in two:
            if process.stdin is not None:
                process.stdin.close()


if __name__ == "__main__":
    main()
