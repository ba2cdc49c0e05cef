"""Games and races in any course: Hypothesis chooses what happens next, and what must hold is checked after each step.

Small and always the same here; ``benchmarks/faults.py machines`` runs many more.
"""

import pickle
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import bestarm
from bestarm.algorithms import LUCB, Algorithm, ConvexBAI, Game, HoeffdingRace, KimNelson, PairwiseBAI, VarianceRace
from bestarm.comparisons import Betting, EmpiricalBernstein, Portfolio, StudentMixture, Wins
from killing import outcome

ALGORITHMS: tuple[Algorithm, ...] = (
    PairwiseBAI(0.1),
    PairwiseBAI(0.1, comparison=StudentMixture(min_rounds=3), epsilon=0.1),
    PairwiseBAI(0.1, comparison=Betting(), keep=2.0),
    PairwiseBAI(0.1, comparison=Betting(pool=30)),
    PairwiseBAI(0.1, comparison=EmpiricalBernstein(), max_rounds=40),
    PairwiseBAI(0.1, comparison=Wins(), indifference_zone=0.05),
    ConvexBAI(0.1, comparison=Portfolio(bounds=(0.0, 1.0))),
    HoeffdingRace(0.1, variances=0.01),
    LUCB(0.1, variances=0.01),
    VarianceRace(0.1, rewards="bounded"),
    KimNelson(0.1, indifference_zone=0.1),
)
seeds = st.integers(0, 2**32 - 1)
Step = tuple[str, Any]


def row(seed: int, n_arms: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Scores of all arms on one item, between 0 and 1; later arms do better."""
    luck = np.random.default_rng(seed)
    scores: np.ndarray[Any, np.dtype[np.float64]] = np.clip(
        np.linspace(0.2, 0.8, n_arms) + 0.15 * luck.uniform(-1, 1) + 0.05 * luck.uniform(-1, 1, n_arms), 0.0, 1.0
    )
    return scores


def state(game: Game) -> dict[str, Any]:
    """All that a game says about itself."""
    known = {
        "rounds": game.n_rounds,
        "queries": game.n_queries,
        "counts": game.counts.tolist(),
        "means": np.nan_to_num(game.means, nan=-1.0).tolist(),
        "candidates": game.candidates,
        "eliminations": [(out.arm, out.round, out.by, out.margin) for out in game.eliminations],
        "reason": game.reason,
    }
    if game.n_rounds:
        known |= {"best": game.best, "regret": game.regret_bound, "lead": game.lead(0, 1)}
    return known


def same(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two games are in the same state; sums in another order may differ in the last bits."""
    if one.keys() != two.keys():
        return False
    exact = ("rounds", "queries", "counts", "candidates", "reason", "best")
    close = all(
        np.allclose(
            np.array(one[key], dtype=float), np.array(two[key], dtype=float), rtol=1e-9, atol=1e-12, equal_nan=True
        )
        for key in ("means", "regret", "lead")
        if one.get(key) is not None and two.get(key) is not None
    )
    outs = [[out[:3] for out in known["eliminations"]] for known in (one, two)]
    return close and outs[0] == outs[1] and all(one.get(key) == two.get(key) for key in exact)


class GameMachine(RuleBasedStateMachine):
    """A game that is asked, told, played, copied and left by arms in any order equals one that is told it all anew."""

    @initialize(algorithm=st.sampled_from(ALGORITHMS), n_arms=st.integers(2, 5))
    def start(self, algorithm: Algorithm, n_arms: int) -> None:
        warnings.simplefilter("ignore", bestarm.AssumptionWarning)
        self.algorithm, self.n_arms = algorithm, n_arms
        self.game = algorithm.start(n_arms)
        self.steps: list[Step] = []
        self.before: tuple[int, ...] = tuple(range(n_arms))

    def running(self) -> bool:
        return not self.game.finished

    @precondition(running)
    @rule(seed=seeds)
    def tell(self, seed: int) -> None:
        asked = self.game.ask()
        assert self.game.ask().tolist() == asked.tolist()  # asking changes nothing
        scores = row(seed, self.n_arms)
        self.game.tell(scores[asked])
        self.steps.append(("row", scores))

    @precondition(running)
    @rule(many=st.lists(seeds, min_size=0, max_size=30))
    def play(self, many: list[int]) -> None:
        rows = np.array([row(seed, self.n_arms) for seed in many]).reshape(len(many), self.n_arms)
        used = self.game.play(rows)
        assert used == len(many) or self.game.finished
        self.steps += [("row", scores) for scores in rows[:used]]

    @precondition(running)
    @rule(which=st.integers(0, 4))
    def disqualify(self, which: int) -> None:
        asked = self.game.ask()
        arm = int(asked[which % len(asked)])
        known = state(self.game)
        try:
            self.game.disqualify(arm)
        except (ValueError, TypeError):
            assert same(state(self.game), known)
        else:
            self.steps.append(("out", arm))

    @precondition(running)
    @rule(bad=st.sampled_from([float("nan"), float("inf"), "x", [], [[0.5]]]))
    def refuse(self, bad: Any) -> None:
        asked, known = self.game.ask(), state(self.game)
        try:
            self.game.tell([bad] * len(asked) if isinstance(bad, float) else bad)
        except (ValueError, TypeError):
            assert same(state(self.game), known)
        else:
            raise AssertionError(f"{bad!r} was taken")

    @rule()
    def pickle(self) -> None:
        self.game = pickle.loads(pickle.dumps(self.game))  # noqa: S301 - made here

    @precondition(lambda self: self.game.finished)
    @rule()
    def nothing_after_the_end(self) -> None:
        known = state(self.game)
        for call in (self.game.ask, lambda: self.game.play(row(1, self.n_arms)[None, :])):
            try:
                call()
            except RuntimeError:
                continue
            raise AssertionError("a finished game went on")
        assert same(state(self.game), known)

    @rule()
    def replay(self) -> None:
        fresh = self.algorithm.start(self.n_arms)
        for kind, what in self.steps:
            if kind == "out":
                fresh.disqualify(what)
            else:
                fresh.tell(what[fresh.ask()])
        assert same(state(fresh), state(self.game))

    @invariant()
    def holds(self) -> None:
        game = self.game
        counts, candidates = game.counts, game.candidates
        assert game.n_queries == counts.sum()
        assert counts.max() <= game.n_rounds
        assert candidates
        assert list(candidates) == sorted(set(candidates))
        if game.shrinks:
            assert set(candidates) <= set(self.before)
        gone = {out.arm for out in game.eliminations} | {what for kind, what in self.steps if kind == "out"}
        assert gone.isdisjoint(candidates)
        assert game.finished == (game.reason is not None)
        if game.n_rounds:
            assert game.best in candidates
            bound = game.regret_bound
            assert bound is None or bound >= 0.0
        self.before = candidates


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
)
NAMES = ("worst", "bad", "good", "best")


def score(arm: str, number: int, fails: bool) -> float:
    """A function of the arm and the round; with failures, NaN now and then."""
    if fails and arm in ("bad", "good") and number % 11 == 5:
        return float("nan")
    return float(row(number, 4)[NAMES.index(arm)])


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

    @precondition(lambda self: self.waiting)
    @rule()
    def refuse(self) -> None:
        assert self.race is not None
        todo, arms = next(iter(self.waiting.values()))
        before = self.race.result().n_evaluations
        wrongs: tuple[Any, ...] = (
            {"nobody": 0.5},
            {arms[0]: 0.5, "nobody": 0.5},
            {NAMES[0]: 0.5, NAMES[1]: "x", 5: 0.1},
        )
        for wrong in wrongs:
            try:
                self.race.tell(todo, wrong)
            except (ValueError, TypeError, KeyError, bestarm.BestarmError):
                continue
            raise AssertionError(f"{wrong!r} was taken")
        assert self.race.result().n_evaluations == before

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
    max_examples=10,
    stateful_step_count=15,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # a course that fails is printed as it is: to shorten it takes minutes
    suppress_health_check=list(HealthCheck),
)


def test_a_game_in_any_course() -> None:
    run_state_machine_as_test(GameMachine, settings=SMALL)


def test_a_race_in_any_course() -> None:
    run_state_machine_as_test(RaceMachine, settings=SMALL)
