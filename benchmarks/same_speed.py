"""Is one commit as fast as another? ``python benchmarks/same_speed.py BEFORE [AFTER]``

Measures the games and races of ``speed.py`` with two source trees in turns, each in an interpreter of its own that
stays open, and prints the ratio of their processor times, after over before: machines are noisy, ratios within one run
less so. BEFORE and AFTER are git revisions or folders with a ``src/bestarm`` in them; AFTER is the working tree by
default.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trees import ROOT, check_imported, checked_out, environment_of


def serve() -> None:
    """Do what is asked on standard input, and answer with seconds."""
    import bestarm
    from speed import games, races

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        known = games() | races(Path(folder))
        for work in known.values():
            work.call()  # compiled
        print(json.dumps({"bestarm": bestarm.__file__, "works": list(known)}), flush=True)
        for line in sys.stdin:
            begun = time.process_time()
            known[line.strip()].call()
            print(time.process_time() - begun, flush=True)


@contextmanager
def server(source: Path) -> Iterator[subprocess.Popen[str]]:
    """An interpreter that imports bestarm from this tree and does what it is asked."""
    command = [sys.executable, str(Path(__file__).resolve()), "--serve"]
    with tempfile.TemporaryDirectory() as cache:
        own, pipe = environment_of(source, Path(cache)), subprocess.PIPE
        with subprocess.Popen(command, env=own, stdin=pipe, stdout=pipe, text=True) as process:
            yield process


def told(process: subprocess.Popen[str], work: str = "") -> str:
    """What a server answers; without any work, what it knows."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the interpreter has no pipes")
    if work:
        process.stdin.write(work + "\n")
        process.stdin.flush()
    return process.stdout.readline()


def main() -> None:
    """Measure in turns, and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?", default="HEAD")
    parser.add_argument("after", nargs="?", default=str(ROOT))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--turns", type=int, default=15)
    given = parser.parse_args()
    if given.serve:
        serve()
        return
    with ExitStack() as stack:
        trees = [stack.enter_context(checked_out(name)) for name in (given.before, given.after)]
        two = [stack.enter_context(server(source)) for source in trees]
        known = [json.loads(told(process)) for process in two]
        for source, one in zip(trees, known, strict=True):
            check_imported(one["bestarm"], source)
        print(f"{'work':<48}{'before, ms':>12}{'after, ms':>12}{'after / before':>16}")
        for work in known[0]["works"]:
            pairs = []
            for k in range(given.turns):  # each is the first every other time
                seconds = [float(told(process, work)) for process in (two if k % 2 else two[::-1])]
                pairs.append(seconds if k % 2 else seconds[::-1])
            before, after = (1e3 * statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(second / first for first, second in pairs)
            print(f"{work:<48}{before:>12.1f}{after:>12.1f}{ratio:>16.3f}", flush=True)
        for process in two:
            if process.stdin is not None:
                process.stdin.close()


if __name__ == "__main__":
    main()
