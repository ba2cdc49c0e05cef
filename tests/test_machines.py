"""Races in any course: Hypothesis chooses what happens next, and what must hold is checked after each step.

Small and always the same here; ``benchmarks/faults.py machines`` runs many more.
"""

import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings, stateful
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import bestarm
from bestarm.algorithms import LUCB, HoeffdingRace, KimNelson, PairwiseBAI
from bestarm.comparisons import EmpiricalBernstein, Portfolio
from killing import outcome

RACES: tuple[dict[str, Any], ...] = (
    {"items": range(40), "bounds": (0, 1)},
    {"items": range(40), "bounds": (0, 1), "rounds_in_flight": 3},
    {"items": range(40), "bounds": (0, 1), "on_error": "worst", "rounds_in_flight": 2},
    {"items": range(40), "bounds": (0, 1), "on_error": "disqualify", "rounds_in_flight": 4},
    {"items": range(40), "bounds": (0, 1), "max_evaluations": 50, "rounds_in_flight": 2},
    {"items": range(12), "bounds": (0, 1), "replace": True, "epsilon": 0.2},
    {"items": range(40), "criterion": "wins", "rounds_in_flight": 2},
    {"lower_is_better": True, "min_rounds": 3, "rounds_in_flight": 3},
    {"items": range(30), "bounds": (0, 1), "groups": [k // 3 for k in range(30)]},
    {"items": range(40), "bounds": (0, 1), "comparison": Portfolio()},
    {"algorithm": PairwiseBAI(0.1, comparison=EmpiricalBernstein(), max_rounds=40), "rounds_in_flight": 2},
    {"algorithm": HoeffdingRace(0.1, variances=0.01), "on_error": "disqualify", "rounds_in_flight": 2},
    {"algorithm": KimNelson(0.1, indifference_zone=0.1), "items": range(40)},
    {"algorithm": LUCB(0.1, variances=0.01)},
)
NAMES = ("worst", "bad", "good", "best")


def score(arm: str, number: int, fails: bool) -> float:
    """A function of the arm and the round, between 0 and 1; with failures, NaN now and then."""
    if fails and arm in ("bad", "good") and number % 11 == 5:
        return float("nan")
    luck = np.random.default_rng(number)
    scores = np.linspace(0.2, 0.8, 4) + 0.15 * luck.uniform(-1, 1) + 0.05 * luck.uniform(-1, 1, 4)
    return float(np.clip(scores, 0.0, 1.0)[NAMES.index(arm)])


def tell_one(race: bestarm.Race[str], todo: bestarm.Round[str], arm: str, fails: bool) -> None:
    """Tell one score; that of an arm which was disqualified meanwhile is wanted no more."""
    try:
        race.tell(todo, {arm: score(arm, todo.number, fails)})
    except ValueError:
        out = {one.arm for one in race.result().disqualified}
        assert arm in out or out.issuperset(todo.arms)


class RaceMachine(RuleBasedStateMachine):
    """A race told in any order, in parts, closed and opened again at any time, ends as one that was told in order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.race: bestarm.Race[str] | None = None

    @initialize(options=st.sampled_from(RACES), stored=st.booleans())
    def start(self, options: dict[str, Any], stored: bool) -> None:
        warnings.simplefilter("ignore", bestarm.AssumptionWarning)
        self.options, self.fails = options, "on_error" in options
        self.store = self.folder / "race.sqlite" if stored else None
        self.open()

    def open(self) -> None:
        self.race = bestarm.Race(NAMES, store=self.store, **self.options)
        self.waiting: dict[int, tuple[bestarm.Round[str], list[str]]] = {}

    def running(self) -> bool:
        return self.race is not None and not self.race.finished

    @precondition(running)
    @rule()
    def ask(self) -> None:
        assert self.race is not None
        for todo in self.race.ask():
            assert todo.number not in self.waiting
            self.waiting[todo.number] = (todo, list(todo.arms))

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0, 9), n=st.integers(1, 4), backwards=st.booleans())
    def tell(self, which: int, n: int, backwards: bool) -> None:
        assert self.race is not None
        todo, arms = self.waiting[sorted(self.waiting)[which % len(self.waiting)]]
        told = arms[::-1][:n] if backwards else arms[:n]
        for arm in told:
            tell_one(self.race, todo, arm, self.fails)
        left = [arm for arm in arms if arm not in told]
        if left:
            self.waiting[todo.number] = (todo, left)
        else:
            del self.waiting[todo.number]

    @precondition(running)
    @rule(n=st.integers(1, 30))
    def tell_many(self, n: int) -> None:
        for _ in range(n):
            if self.race is None or self.race.finished:
                return
            self.ask()
            while self.waiting and not self.race.finished:
                self.tell(0, 4, False)

    @rule()
    def show(self) -> None:
        assert self.race is not None
        result = self.race.result()
        assert str(result)
        assert result.to_json()

    @precondition(lambda self: self.store is not None)
    @rule()
    def close_and_open_again(self) -> None:
        assert self.race is not None
        before = outcome(self.race.result())
        self.race.close()
        assert self.store is not None
        loaded = bestarm.load_result(self.store)
        assert {**outcome(loaded), "n_queries": 0} == {**before, "n_queries": 0}
        self.open()
        assert {**outcome(self.race.result()), "n_queries": 0} == {**before, "n_queries": 0}

    @invariant()
    def holds(self) -> None:
        if self.race is None:
            return
        result = self.race.result()
        assert set(result.candidates) <= set(NAMES)
        assert result.candidates
        assert result.answered == (result.best is not None)
        assert {out.arm for out in result.eliminations}.isdisjoint(result.candidates)
        assert result.counts.sum() <= result.n_evaluations * (3 if "groups" in self.options else 1)

    def teardown(self) -> None:
        if self.race is not None:
            self.finish(self.race)
            self.race.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def finish(self, race: bestarm.Race[str]) -> None:
        """Told to its end, the race is the one that was told in order from the beginning."""
        self.tell_many(200)
        plain = bestarm.Race(NAMES, **self.options)
        while not plain.finished:
            for todo in plain.ask():
                for arm in todo.arms:
                    tell_one(plain, todo, arm, self.fails)
        assert outcome(race.result()) == outcome(plain.result())


SMALL = settings(
    max_examples=20,
    stateful_step_count=15,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # a course that fails is printed as it is: to shorten it takes minutes
    suppress_health_check=list(HealthCheck),
)


def test_a_race_in_any_course() -> None:
    stateful.run_state_machine_as_test(RaceMachine, settings=SMALL)
