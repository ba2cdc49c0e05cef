"""How much memory and time do long games and races take? ``python benchmarks/memory.py [CASE ...]``

Each case runs in an interpreter of its own. Printed are its peak of resident memory, how much of that came after the
same work on a small scale (imports, compiled code), what that is per evaluation, and processor seconds.
``--share 0.01`` does a hundredth of everything.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

SMALL = 300  # rounds of the same work that is done before the peak is looked at
UNIT = (0.0, 1.0)


def peak() -> float:
    """The largest resident memory so far, in MB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 1e6 if sys.platform == "darwin" else used * 1024 / 1e6


def draws(n_rounds: int, means: Any) -> Any:
    """Rounds of scores in [0, 1] around these means, in blocks that are drawn one after the other."""
    import numpy as np

    rng = np.random.default_rng(0)
    for _ in range(n_rounds):
        yield np.clip(means + rng.uniform(-0.1, 0.1, len(means)), 0.0, 1.0)


def alike(n_arms: int) -> Any:
    """Means of arms that nobody can tell apart."""
    import numpy as np

    return np.full(n_arms, 0.5)


def two_of(n_arms: int) -> Any:
    """Two good arms that nobody can tell apart among many bad ones."""
    import numpy as np

    return np.append(np.full(n_arms - 2, 0.15), [0.85, 0.85])


def game(means: Callable[[], Any], bounded: bool, n_rounds: int) -> int:
    """A game that is asked and told, round by round; the evaluations."""
    from bestarm.algorithms import PairwiseBAI
    from bestarm.comparisons import Betting, StudentMixture

    level = means()
    one = PairwiseBAI(1e-9, comparison=Betting() if bounded else StudentMixture()).start(len(level))
    for row in draws(n_rounds, level):
        one.tell(row[one.ask()])
    return one.n_queries


def race(means: Callable[[], Any], bounded: bool, stored: bool, n_rounds: int) -> int:
    """The same in a race."""
    import bestarm

    level = means()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "race.sqlite" if stored else None
        bounds = UNIT if bounded else None
        with bestarm.Race(range(len(level)), bounds=bounds, delta=1e-9, store=store) as one:
            for row in draws(n_rounds, level):
                for todo in one.ask():
                    one.tell(todo, {arm: row[arm] for arm in todo.arms})
            return int(one.result().n_evaluations)


def show(path: Path, **_: Any) -> None:
    """What ``bestarm show`` prints."""
    import bestarm

    str(bestarm.load_result(path))


def as_json(path: Path, **_: Any) -> None:
    """What ``bestarm show --json`` prints."""
    import bestarm

    bestarm.load_result(path).to_json()


def report(path: Path, **_: Any) -> None:
    """What ``bestarm report`` writes."""
    import bestarm

    bestarm.load_result(path).to_html(path.with_suffix(".html"))


def resume(path: Path, **given: Any) -> None:
    """What a race that is continued does before its first evaluation, and its result."""
    from race_files import continue_race

    continue_race(path, **given)


def stored(work: Callable[..., None], n_arms: int, kind: str, n_rounds: int) -> int:
    """Do something with a file that another process has written; the evaluations."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "race.sqlite"
        call = f"write_race(Path({str(path)!r}), {n_arms}, {kind!r}, {n_rounds})"
        program = f"from pathlib import Path; from race_files import write_race; {call}"
        subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parent)
        begun = time.process_time()
        work(path, n_arms=n_arms, kind=kind, n_rounds=n_rounds)
        print(f"  {work.__name__}: {time.process_time() - begun:.1f} s", file=sys.stderr)
    return n_arms * n_rounds


three, many = partial(alike, 3), partial(two_of, 2000)
CASES: dict[str, tuple[Callable[[int], int], int]] = {
    "game of three": (partial(game, three, False), 10**6),
    "game of three, bounds": (partial(game, three, True), 10**6),
    "race of three": (partial(race, three, False, False), 10**6),
    "race of three, bounds": (partial(race, three, True, False), 10**6),
    "race of three, bounds, stored": (partial(race, three, True, True), 10**6),
    "game of 2,000, two survive": (partial(game, many, False), 2 * 10**5),
    "game of 2,000, two survive, bounds": (partial(game, many, True), 2 * 10**5),
    "race of 2,000, two survive": (partial(race, many, False, False), 2 * 10**5),
    "race of 2,000, two survive, bounds": (partial(race, many, True, False), 2 * 10**5),
}
LENGTHS = {"no bounds": (10**6, 5 * 10**6), "bounds": (10**6, 5 * 10**6), "pool": (10**5, 10**5)}
for the_kind, lengths in LENGTHS.items():
    for work in (show, as_json, resume, report):
        for width, length in zip((10, 2), lengths, strict=True):
            CASES[f"{work.__name__}, {the_kind}, {width} arms"] = (partial(stored, work, width, the_kind), length)


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="words that the names of cases must hold; all cases by default")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.share)
        return
    print(f"{'case':<40}{'peak, MB':>10}{'more, MB':>10}{'evaluations':>14}{'bytes each':>12}{'seconds':>10}")
    for name in (name for name in CASES if all(word in name for word in given.cases)):
        command = [sys.executable, __file__, "--measure", name, "--share", str(given.share)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ)
        found = json.loads(done.stdout)
        each = 1e6 * found["more"] / found["evaluations"]
        line = f"{name:<40}{found['peak']:>10.0f}{found['more']:>10.0f}{found['evaluations']:>14,}"
        print(f"{line}{each:>12.1f}{found['seconds']:>10.1f}", flush=True)


if __name__ == "__main__":
    main()
