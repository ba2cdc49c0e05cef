"""Attacks on bestarm: kills, interruptions, disk faults, broken executors, hostile files and calls.

    python benchmarks/faults.py all --scale 0.01        # a hundredth of everything
    python benchmarks/faults.py kills --n 1000 --seed 1
    python benchmarks/faults.py stores --seed 1 --only 1234   # one case again, with its traceback

Every case is made from its seed and number alone. A line per kind says how many faults were found, the slowest case and
the largest memory; the faults are written to a file with what is needed to see each of them again. Exits with 1 if
there are any.
"""

import argparse
import os
import sys
from collections import defaultdict
from pathlib import Path

from attacks import pool
from attacks.pool import Found, Tally

# How many kills, interruptions, courses of state machines and so on "all" runs.
FULL = {
    "kills": 1_000,
    "starts": 1_000,
    "interruptions": 300,
    "disk": 400,
    "executors": 400,
    "machines": 2_000,
    "tables": 400_000,
    "stores": 300_000,
    "lines": 100_000,
    "calls": 200_000,
}


def main() -> None:
    """Run one kind of attack, or all."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # of the workers: the cores are kept busy by cases
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=[*FULL, "all"])
    parser.add_argument("--n", type=int, help="number of cases; of kills, or of courses of state machines")
    parser.add_argument("--scale", type=float, default=1.0, help="with all: a share of the full numbers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="run this case alone, here, and show what came of it")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--found", type=Path, default=Path("faults"), help="folder for the faults found")
    given = parser.parse_args()
    if given.only is not None:
        came = pool.replay(given.kind, given.seed, given.only)
        print(f"a fault: {came.what}\n{came.given}\n{came.where}" if isinstance(came, Found) else came)
        sys.exit(isinstance(came, Found))
    kinds = list(FULL) if given.kind == "all" else [given.kind]
    any_fault = False
    for kind in kinds:
        n = given.n if given.n is not None else max(1, round(FULL[kind] * given.scale))
        cases = -(-n // pool.said_by(kind, "PER_CASE", 1))
        tally = pool.attack(kind, cases, given.seed, given.workers, given.first)
        report(tally, given.found)
        any_fault = any_fault or bool(tally.found)
    sys.exit(any_fault)


def report(tally: Tally, folder: Path) -> None:
    """Print what came of a kind of attack, and write its faults to a file."""
    print(tally, flush=True)
    target = folder / f"{tally.kind}.jsonl"
    if not tally.found:
        target.unlink(missing_ok=True)  # of an earlier run
        return
    groups = defaultdict(list)
    for one in tally.found:
        groups[one.pattern].append(one)
    for same in sorted(groups.values(), key=len, reverse=True):
        print(f"  {len(same)} x {ascii(same[0].what)[1:300]} (case {same[0].case})", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    target.write_text("".join(f"{one.line()}\n" for one in tally.found), encoding="utf-8")
    print(f"  all of them, with how to replay them: {target}", flush=True)


if __name__ == "__main__":
    main()
