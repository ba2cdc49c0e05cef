"""How many calls does a score take on its way? ``python benchmarks/score_walk.py [FOLDER WITH src/bestarm]``

Counts calls of Python functions of bestarm, and the files that they are in, with `sys.setprofile`:

- one round of three scores of ``race()`` with a store, from the first evaluation of round 21 to the first of round 22,
  the three evaluations included (commit c8878c9: 148 calls in 26 files);
- the same round by ``Race.ask`` and ``Race.tell``, told at once (c8878c9: 131 calls in 23 files);
- ``print(result)`` of that race after ten rounds, loaded from its file (c8878c9: 496 calls in 35 files);
- games that are played again, and calls of `Game.play`, while the result of that race is printed, asked for a lead and
  exported, one after the other.

The race has three arms, 100 items and scores between 0 and 1, and nobody is out: what a round costs depends on that.
"""

import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

if len(sys.argv) > 1:
    sys.path.insert(0, str(Path(sys.argv[1]).resolve() / "src"))

import bestarm

SOURCE = str(Path(bestarm.__file__).parent)
ARMS = ["a", "b", "c"]
STEADY = 20  # rounds before the one that is counted: everything is imported and compiled by then
OPTIONS: dict[str, Any] = {"items": range(100), "bounds": (0, 1), "delta": 1e-9}


class Calls:
    """Calls of functions of bestarm, from `begin` until `sys.setprofile` is called again."""

    def __init__(self) -> None:
        self.n = 0
        self.files: set[str] = set()
        self.names: Counter[str] = Counter()  # of functions of bestarm.algorithms

    def begin(self) -> None:
        """Count from now on."""
        sys.setprofile(self._see)

    def _see(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            self.n += 1
            self.files.add(frame.f_code.co_filename)
            if "algorithms" in frame.f_code.co_filename:
                self.names[frame.f_code.co_name] += 1

    def __str__(self) -> str:
        return f"{self.n} calls in {len(self.files)} files"


def calls_of(work: Callable[[], object]) -> Calls:
    """What some work calls."""
    calls = Calls()
    calls.begin()
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


def score(arm: str, item: Any) -> float:
    """A score between 0 and 1 that depends on the arm and the item alone."""
    return random.Random(f"{arm} {item}").random()  # noqa: S311 - no secrets here


def round_of_race(folder: Path) -> Calls:
    """A steady round of ``race()``: its evaluations are counted as one call each, whatever they call."""
    calls, evaluations = Calls(), 0

    def evaluate(arm: str, item: Any) -> float:
        nonlocal evaluations
        sys.setprofile(None)
        value = score(arm, item)
        evaluations += 1
        if STEADY * len(ARMS) < evaluations <= (STEADY + 1) * len(ARMS):
            calls.n += 1
            calls.begin()
        return value

    budget = (STEADY + 5) * len(ARMS)
    bestarm.race(evaluate, arms=ARMS, store=folder / "race.sqlite", max_evaluations=budget, progress=False, **OPTIONS)
    return calls


def round_of_ask_and_tell(folder: Path) -> Calls:
    """The same by ask and tell, all scores of the round told at once."""
    with bestarm.Race(ARMS, store=folder / "told.sqlite", **OPTIONS) as race:

        def one_round() -> None:
            for todo in race.ask():
                race.tell(todo, {arm: score(arm, todo.item) for arm in todo.arms})

        for _ in range(STEADY):
            one_round()
        return calls_of(one_round)


def shown(folder: Path) -> Any:
    """The result of a race of ten rounds."""
    path, budget = folder / "shown.sqlite", 10 * len(ARMS)
    return bestarm.race(score, arms=ARMS, store=path, max_evaluations=budget, progress=False, **OPTIONS)


def main() -> None:
    """Print everything."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(f"{bestarm.__file__}")
        print(f"one round of three scores, race() with a store: {round_of_race(folder)}")
        print(f"one round of three scores, ask and tell with a store: {round_of_ask_and_tell(folder)}")
        str(shown(folder))  # everything is imported
        result = bestarm.load_result(folder / "shown.sqlite")
        print(f"print(result): {calls_of(lambda: str(result))}")
        result = shown(folder)
        steps: dict[str, Callable[[], object]] = {
            "print(result)": lambda: str(result),
            "result.lead": lambda: result.lead("a", "b"),
            "result.to_json()": result.to_json,
            "result.to_html(page)": lambda: result.to_html(folder / "page.html"),
        }
        total: Counter[str] = Counter()
        for what, step in steps.items():
            seen = calls_of(step).names
            total += seen
            print(f"then {what}: {seen['start']} games, {seen['play']} calls of play")
        print(f"everything that can be exported: {total['start']} games, {total['play']} calls of play")


if __name__ == "__main__":
    main()
