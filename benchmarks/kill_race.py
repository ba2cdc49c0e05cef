"""Races killed with SIGKILL at random moments and continued: they must end as if nothing had happened.

    python benchmarks/kill_race.py --kills 200

The moments are spread evenly over the time that an uninterrupted run takes, from the start of the interpreter on. A
race that ends before it is killed often enough is run anew. Exits with 1 if a race ends in another way than the
uninterrupted one, or evaluates or loses what was stored.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from killing import RACES, Tally, kill_race

SEED = 5


def row(tally: Tally) -> list[str]:
    """One race as the table shows it."""
    counts = (tally.kills, tally.evaluating, tally.resumes, tally.finished, tally.stored, tally.repeated)
    when = f"{min(tally.moments):.0%} to {max(tally.moments):.0%}" if tally.moments else ""
    return [tally.race, *(f"{number:,}" for number in counts), when, "; ".join(tally.faults) or "the same"]


def main() -> None:
    """Kill all races in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200, help="how many in all")
    kills = parser.parse_args().kills
    console = Console(width=120)
    table = Table(title=f"{kills} kills, seed {SEED}")
    headings = (
        "race",
        "kills",
        "evaluating",
        "resumes",
        "finished",
        "stored scores",
        "repeated",
        "killed at",
        "verdict",
    )
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="right" if 0 < k < 7 else "left")
    tallies, begun = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for k, name in enumerate(RACES):
            (Path(folder) / name).mkdir()
            its_kills = kills // len(RACES) + (k < kills % len(RACES))
            tallies.append(kill_race(name, its_kills, Path(folder) / name, np.random.default_rng([SEED, k])))
            table.add_row(*row(tallies[-1]))
    console.print(table)
    console.print(
        "Evaluating: kills after a start had begun to evaluate. "
        "Repeated: evaluations that were running, or not stored yet, when their process was killed. "
        f"{sum(tally.kills for tally in tallies)} kills in {time.perf_counter() - begun:.0f} s."
    )
    sys.exit(any(tally.faults for tally in tallies))


if __name__ == "__main__":
    main()
