"""Three programs whose speeds differ by 2%, on a machine with a changing load: is the fastest found?

``python benchmarks/command_race.py`` races them twenty times with `bestarm.race_commands`; after each race it times the
programs one after the other, each as often as the race ran it, and takes the best mean, as people do by hand. The
programs count; they are made with the C compiler of the system.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.sources.programs import Command, Measure

SLOWER = 1.02
ZONE = 0.015  # of the time of the fastest: leads below are not worth telling apart
FASTEST = "fast"

# A process that is busy for a while and then is not: phases of 0.2 to 3 seconds.
LOAD = """
import random, time
luck = random.Random({seed})
while True:
    end = time.monotonic() + luck.uniform(0.2, 3.0)
    while time.monotonic() < end:
        sum(range(1000))
    time.sleep(luck.uniform(0.2, 3.0))
"""


@contextmanager
def changing_load(seed: int) -> Iterator[None]:
    """A second process that keeps the machine busy now and then."""
    process = subprocess.Popen([sys.executable, "-c", LOAD.format(seed=seed)])
    try:
        yield
    finally:
        process.kill()
        process.wait()


COUNTING = """
#include <stdlib.h>
int main(int n, char **given) {
    volatile unsigned long x = 0;
    for (long k = atol(given[1]); k > 0; k--) x += k;
    return 0;
}
"""


def compiled(folder: Path) -> str:
    """The program that counts as far as it is told."""
    compiler = shutil.which("cc")
    if compiler is None:
        sys.exit("this benchmark needs a C compiler called cc")
    (folder / "count.c").write_text(COUNTING)
    subprocess.run([compiler, "-O1", "-o", folder / "count", folder / "count.c"], check=True)
    return str(folder / "count")


def programs(count: str, loops: int) -> tuple[dict[str, list[str]], float]:
    """Three programs, the second and third 2% and 4% slower than the first, start included; the time of the first."""
    start = measured(count, 0)
    unit = (measured(count, loops) - start) / loops
    total = start + unit * loops
    names = {FASTEST: 1.0, "2% slower": SLOWER, "4% slower": SLOWER**2}
    return {name: [count, str(round((total * factor - start) / unit))] for name, factor in names.items()}, total


def measured(count: str, loops: int) -> float:
    """The shortest of some times, which is the one least disturbed."""
    command = Command((count, str(loops)), "time", 60.0)
    return min(command(0) for _ in range(200))


def one_after_the_other(commands: dict[str, Command], counts: dict[str, int], luck: random.Random) -> str:
    """The program with the best mean when each is timed in a block of its own, in random order."""
    order = list(commands)
    luck.shuffle(order)
    means = {name: sum(commands[name](0) for _ in range(counts[name])) / counts[name] for name in order}
    return min(means, key=lambda name: means[name])


def main() -> None:
    """Race, time by hand, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--races", type=int, default=20)
    parser.add_argument("--loops", type=int, default=10_000_000)
    parser.add_argument("--delta", type=float, default=0.05)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        given, seconds = programs(compiled(Path(folder)), arguments.loops)
        compare(given, ZONE * seconds, arguments.races, arguments.delta)


def compare(given: dict[str, list[str]], zone: float, races: int, delta: float) -> None:
    """Race and time by hand, and print what came out."""
    commands = Measure("time", 60.0).of(given, with_items=False)
    raced, by_hand, runs, begun = 0, 0, 0, time.monotonic()
    for seed in range(races):
        with changing_load(seed):
            result = bestarm.race_commands(given, delta=delta, indifference_zone=zone, seed=seed, progress=False)
            counts = dict(zip(result.arms, result.counts.tolist(), strict=True))
            simple = one_after_the_other(commands, counts, random.Random(seed))  # noqa: S311 - no secrets here
        raced += result.best == FASTEST
        by_hand += simple == FASTEST
        runs += result.n_evaluations
        print(
            f"race {seed + 1}: {result.best} after {result.n_evaluations} runs; one after the other: {simple}",
            flush=True,
        )
    table = Table(title=f"{races} races, {runs:,} runs, {time.monotonic() - begun:,.0f} s")
    for heading in ("way", "fastest found", "asked"):
        table.add_column(heading)
    table.add_row("bestarm commands", f"{raced} of {races}", "19 of 20")
    table.add_row("one program after the other, as many runs", f"{by_hand} of {races}", "")
    Console().print(table)


if __name__ == "__main__":
    main()
