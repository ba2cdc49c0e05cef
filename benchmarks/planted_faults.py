"""Do the tests notice? ``python benchmarks/planted_faults.py``

Plants one small fault of ``planted_faults.txt`` after the other in a copy of the tree, runs the tests that are aimed at
it there, and prints who was killed. A text that does not occur exactly once is refused: the list must follow the code.
First the same tests run without any fault, for a kill means nothing where they fail anyway. ``--only WORD`` takes the
faults with this word, ``--check`` only looks whether all faults can be planted.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "benchmarks", "pyproject.toml", "README.md")
PATIENCE = 900  # seconds for the tests of one fault; a fault that hangs is noticed too
PASSED, FAILED = 0, 1  # exit codes of pytest; another one is no verdict


@dataclass(frozen=True)
class Fault:
    """A fault in a file of src/bestarm, and the test files that are aimed at it."""

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]


def read_faults() -> list[Fault]:
    """The list, in which faults are separated by empty lines."""
    text = Path(__file__).with_name("planted_faults.txt").read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in text.split("\n\n") if not block.startswith("#")]
    return [parse(block) for block in blocks if block]


def parse(lines: list[str]) -> Fault:
    """One fault: its name, its file and tests, lines as they are (-) and as they are with the fault (+)."""
    name, where, *changed = lines
    file, _, tests = where.partition(": ")
    right, wrong = ("\n".join(line[2:] for line in changed if line.startswith(sign)) for sign in "-+")
    if not (file.endswith(".py") and right and right != wrong):
        raise ValueError(f"this is no fault: {lines}")
    return Fault(name, file, right, wrong, tuple(tests.split()))


def planted(text: str, fault: Fault) -> str:
    """The source with the fault in it."""
    times = text.count(fault.right)
    if times != 1:
        raise ValueError(f"{fault.file} must hold {fault.right!r} exactly once, found {times} times")
    return text.replace(fault.right, fault.wrong)


def copy_tree(target: Path) -> None:
    """A copy of the sources and the tests, compiled kernels included: they are kept for one state of their sources."""
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, target / name)


def run_tests(tree: Path, tests: Sequence[str]) -> str:
    """The fate of a fault in a tree: survived where these tests pass, killed, or the words that pytest ended with."""
    own = os.environ | {"PYTHONPATH": str(tree / "src")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", *(f"tests/{name}" for name in tests)]
    try:
        done = subprocess.run(command, cwd=tree, env=own, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return "killed (hung)"
    ended = f"pytest ended with {done.returncode}: {done.stdout.strip()[-500:]}"
    return {PASSED: "survived", FAILED: "killed"}.get(done.returncode, ended)


def try_fault(fault: Fault) -> tuple[str, float]:
    """Whether a fault was killed, and the seconds that it took."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        source = tree / "src/bestarm" / fault.file
        source.write_text(planted(source.read_text(encoding="utf-8"), fault), encoding="utf-8")
        return run_tests(tree, fault.tests), time.monotonic() - begun


def problems(faults: Sequence[Fault]) -> list[str]:
    """Why faults cannot be planted, or that no test is aimed at them."""
    found = []
    for fault in faults:
        source = ROOT / "src/bestarm" / fault.file
        try:
            planted(source.read_text(encoding="utf-8"), fault)
        except (OSError, ValueError) as error:
            found.append(f"{fault.name}: {error}")
        missing = [name for name in fault.tests if not (ROOT / "tests" / name).is_file()]
        if missing or not fault.tests:
            found.append(f"{fault.name}: there are no tests {missing}")
    return found


def check_without_faults(faults: Sequence[Fault]) -> None:
    """The tests must pass where nothing is planted."""
    with tempfile.TemporaryDirectory(prefix="fault-") as folder:
        copy_tree(Path(folder))
        outcome = run_tests(Path(folder), sorted({name for fault in faults for name in fault.tests}))
    if outcome != "survived":
        raise RuntimeError(f"the tests fail without any fault: {outcome}")


def main() -> int:
    """Plant all faults; the number of survivors is not 0 where tests are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="faults with this word in their name or file")
    parser.add_argument("--workers", type=int, default=1, help="faults tried at a time")
    parser.add_argument("--skip-control", action="store_true", help="do not run the tests without faults first")
    parser.add_argument("--check", action="store_true", help="only look whether all faults can be planted")
    options = parser.parse_args()
    faults = [fault for fault in read_faults() if options.only in f"{fault.file} {fault.name}"]
    wrong = problems(faults)
    if wrong or options.check:
        print("\n".join([*wrong, f"{len(wrong)} problems with {len(faults)} faults"]))
        return int(bool(wrong))
    if not options.skip_control:
        check_without_faults(faults)
    dead = 0
    with ThreadPoolExecutor(options.workers) as pool:
        for fault, (fate, seconds) in zip(faults, pool.map(try_fault, faults), strict=True):
            dead += fate.startswith("killed")
            print(f"{fate:>10} after {seconds:3.0f} s  {fault.file}: {fault.name}", flush=True)
    print(f"{dead} of {len(faults)} faults were killed")
    return int(dead < len(faults))


if __name__ == "__main__":
    sys.exit(main())
