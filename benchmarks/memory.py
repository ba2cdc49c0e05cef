"""How much memory and time do long games and races take? ``python benchmarks/memory.py [WORD ...]``

Each case runs in an interpreter of its own. Printed are its peak of resident memory, how much of that came after the
same work on a small scale (imports, compiled code), what that is per evaluation, and processor seconds.
``--share 0.01`` does a hundredth of everything.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.comparisons import LeaderBetting, StudentMixture
from laws import Matrix
from stored_races import DELTA, UNIT, continue_race

SMALL = 300  # rounds of the same work that is done before the peak is looked at
THREE = np.full(3, 0.5)  # means of arms that nobody can tell apart
MANY = np.append(np.full(1998, 0.15), [0.85, 0.85])  # two good ones among many bad ones


def peak() -> float:
    """The largest resident memory so far, in MB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 1e6 if sys.platform == "darwin" else used * 1024 / 1e6


def scores_around(means: Matrix, rng: np.random.Generator) -> Matrix:
    """A round of scores in [0, 1]."""
    return np.clip(means + rng.uniform(-0.1, 0.1, len(means)), 0.0, 1.0)


def game(means: Matrix, bounded: bool, n_rounds: int) -> int:
    """A game that is asked and told, round by round; the evaluations."""
    rng = np.random.default_rng(0)
    one = PairwiseBAI(DELTA, comparison=LeaderBetting() if bounded else StudentMixture()).start(len(means))
    for _ in range(n_rounds):
        one.tell(scores_around(means, rng)[one.ask()])
    return one.n_queries


def race(means: Matrix, bounded: bool, stored: bool, n_rounds: int) -> int:
    """The same in a race, with a store or without."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "race.sqlite" if stored else None
        bounds = UNIT if bounded else None
        with bestarm.Race(range(len(means)), bounds=bounds, delta=DELTA, store=store) as one:
            for _ in range(n_rounds):
                for todo in one.ask():
                    row = scores_around(means, rng)
                    one.tell(todo, {arm: row[arm] for arm in todo.arms})
            return int(one.result().n_evaluations)


def of_a_file(what: str, n_arms: int, kind: str, n_rounds: int) -> int:
    """Show, report or continue a file that another process has written; the evaluations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "race.sqlite"
        call = f"write_race(Path({str(path)!r}), {n_arms}, {kind!r}, {n_rounds})"
        program = f"from pathlib import Path; from stored_races import write_race; {call}"
        subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parent)
        if what == "resume":
            continue_race(path, n_arms, kind, n_rounds)
        elif what == "show":
            str(bestarm.load_result(path))
        elif what == "show as JSON":
            bestarm.load_result(path).to_json()
        else:
            bestarm.load_result(path).to_html(path.with_suffix(".html"))
    return n_arms * n_rounds


CASES: dict[str, tuple[Callable[[int], int], int]] = {
    f"race of three, {words}": (partial(race, THREE, bounded, stored), 10**6)
    for words, bounded, stored in (("no bounds", False, False), ("bounds", True, False), ("bounds, stored", True, True))
}
for bounded, words in ((False, "no bounds"), (True, "bounds")):
    CASES[f"game of three, {words}"] = (partial(game, THREE, bounded), 10**6)
    CASES[f"game of 2,000, two survive, {words}"] = (partial(game, MANY, bounded), 2 * 10**5)
    CASES[f"race of 2,000, two survive, {words}"] = (partial(race, MANY, bounded, False), 2 * 10**5)
    for what in ("show", "show as JSON", "resume", "report"):
        for n_arms, length in ((10, 10**6), (2, 5 * 10**6)):
            CASES[f"{what}, {words}, {n_arms} arms"] = (partial(of_a_file, what, n_arms, words), length)


def measure(name: str, share: float) -> None:
    """Run one case here, and print what it took as JSON."""
    warnings.simplefilter("ignore")
    run, n_rounds = CASES[name]
    run(SMALL)
    before, begun = peak(), time.process_time()
    evaluations = run(max(SMALL, int(share * n_rounds)))
    seconds = time.process_time() - begun
    print(json.dumps({"peak": peak(), "more": peak() - before, "evaluations": evaluations, "seconds": seconds}))


def main() -> None:
    """Run the cases, each on its own, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="words that the names of cases must hold; all cases by default")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.share)
        return
    print(f"{'case':<40}{'peak, MB':>10}{'more, MB':>10}{'evaluations':>14}{'bytes each':>12}{'seconds':>10}")
    for name in (name for name in CASES if all(word in name for word in given.words)):
        command = [sys.executable, __file__, "--measure", name, "--share", str(given.share)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        each = 1e6 * found["more"] / found["evaluations"]
        line = f"{name:<40}{found['peak']:>10.0f}{found['more']:>10.0f}{found['evaluations']:>14,}"
        print(f"{line}{each:>12.1f}{found['seconds']:>10.1f}", flush=True)


if __name__ == "__main__":
    main()
