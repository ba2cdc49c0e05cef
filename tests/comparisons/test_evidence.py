"""What goes with what is said when an algorithm is made; an own comparison is one small class; promises are stated."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.algorithms.baselines import (
    BernsteinIntervals,
    ChernoffIntervals,
    GaussianIntervals,
    LUCBIntervals,
    TriangularRegion,
)
from bestarm.arms import equicorrelated_arms
from bestarm.comparisons import (
    Betting,
    Comparison,
    ConvexBernstein,
    GaussianBernstein,
    PairBoundary,
    Portfolio,
    StudentMixture,
)
from games import intervals_of, regret_of
from subjects import COMPARISONS, SUBJECTS

Array = NDArray[np.float64]


# --- roles ------------------------------------------------------------------------------------------------------------

OF_PAIRS = [one for one in COMPARISONS.values() if one.role == "pairs"]
OF_COMBINATIONS = [one for one in COMPARISONS.values() if one.role == "combinations"]


@pytest.mark.parametrize(
    ("comparison", "fits", "other"),
    [
        *((one, PairwiseBAI, ConvexBAI) for one in OF_PAIRS),
        *((one, ConvexBAI, PairwiseBAI) for one in OF_COMBINATIONS),
    ],
)
def test_a_comparison_goes_with_the_algorithm_of_its_role(comparison: Comparison, fits: Any, other: Any) -> None:
    assert fits(0.1, comparison=comparison).comparison is comparison
    words = f"{re.escape(repr(comparison))} is a test of .*: use it with {fits.__name__}$"
    with pytest.raises(ValueError, match=f"^{other.__name__} compares an arm with .*, but {words}"):
        other(0.1, comparison=comparison)


def test_both_roles_are_there() -> None:
    assert {type(one) for one in OF_PAIRS} >= {StudentMixture, GaussianBernstein, Betting}
    assert {type(one) for one in OF_COMBINATIONS} == {Portfolio, ConvexBernstein}


class Juror:
    role = "juries"  # which nobody plays

    def __repr__(self) -> str:
        return "Juror()"


NO_COMPARISONS: list[Any] = [
    Juror(),
    ChernoffIntervals(),
    GaussianIntervals(),
    BernsteinIntervals(),
    LUCBIntervals(),
    TriangularRegion(0.1, 10),
    None,
    "Betting",
    0.05,
    StudentMixture,
    Portfolio,
    PairwiseBAI(0.1),
]


@pytest.mark.parametrize("thing", NO_COMPARISONS, ids=repr)
@pytest.mark.parametrize(("kind", "such_as"), [(PairwiseBAI, "StudentMixture()"), (ConvexBAI, "Portfolio()")])
def test_what_is_no_comparison_is_refused(kind: Any, such_as: str, thing: Any) -> None:
    """Boundaries for the interval of one arm, or for KN's first stage, are none: the kernels would take them."""
    message = f"{kind.__name__} needs a comparison such as bestarm.comparisons.{such_as}, got {thing!r}"
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        kind(0.1, comparison=thing)


# --- an own comparison ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SixSigma(PairBoundary):
    """Six standard errors of the mean difference, whatever the level: good enough for a test."""

    assumption: ClassVar[str] = "six standard errors are enough"

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        slope = np.where(rounds < 10, np.inf, 6.0 / np.sqrt(rounds))
        return slope, np.zeros_like(slope)


ARMS = equicorrelated_arms(4, correlation=0.9)


def test_an_own_boundary_plays_games() -> None:
    game = PairwiseBAI(0.1, comparison=SixSigma(), keep=1.5).start(4)
    rows = ARMS.draw(3000, np.random.default_rng(0))
    game.play(rows)
    assert (game.reason, game.best) == ("decided", 3)
    first = game.eliminations[0]
    lead = rows[: first.round, first.by] - rows[: first.round, first.arm]
    margin = lead.mean() - 6.0 * lead.std(ddof=1) / np.sqrt(first.round)
    assert first.margin == pytest.approx(margin, rel=1e-10)
    assert game.guarantee.assumption == SixSigma.assumption


def test_an_own_boundary_gives_intervals_and_regret() -> None:
    game = PairwiseBAI(0.1, comparison=SixSigma()).start(4)
    rows = ARMS.draw(40, np.random.default_rng(1))
    game.play(rows)
    assert not game.eliminations
    difference = rows[:, 3] - rows[:, 0]
    low = difference.mean() - 6.0 * difference.std(ddof=1) / np.sqrt(40)
    assert intervals_of(game).low[3, 0] == pytest.approx(low, rel=1e-10)
    assert regret_of(game) > 0


def test_without_a_sentence_an_own_comparison_says_where_to_look() -> None:
    class Silent(PairBoundary):
        def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
            return np.ones_like(rounds), np.ones_like(rounds)

    game = PairwiseBAI(0.1, comparison=Silent()).start(2)
    assert game.guarantee.assumption == "what Silent assumes holds (see its documentation)"


@dataclass(frozen=True)
class Faulty(PairBoundary):
    """Its own mistake, at the level of simultaneous intervals only."""

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        if delta < 0.1:
            raise TypeError("unsupported operand in my own boundary")
        return SixSigma().boundary(rounds, n_arms, delta)


def test_an_error_within_an_own_comparison_is_not_taken_for_a_want_of_intervals() -> None:
    game = PairwiseBAI(0.1, comparison=Faulty()).start(3)
    game.play(np.random.default_rng(0).normal(size=(20, 3)))
    assert game.regret_bound is not None
    with pytest.raises(TypeError, match=r"^unsupported operand in my own boundary$"):
        game.intervals()


# --- what is promised -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_game_states_its_assumption_and_its_promise(name: str) -> None:
    """The kit compares with the settings where there are some; here the words are those of bestarm."""
    algorithm: Any = SUBJECTS[name].algorithm
    promise = algorithm.start(3).guarantee
    assert re.match("(all scores|the items) .*[^.]$", promise.assumption)
    assert promise.delta == algorithm.delta == 0.1
    assert promise.epsilon == getattr(algorithm, "epsilon", 0.0)
    assert promise.indifference_zone == getattr(algorithm, "indifference_zone", 0.0)
    assert promise.pool == getattr(getattr(algorithm, "comparison", None), "pool", None)


@pytest.mark.parametrize("name", [name for name, one in COMPARISONS.items() if one.bounds is not None])
def test_bounds_are_part_of_the_assumption(name: str) -> None:
    low, high = COMPARISONS[name].bounds or (0.0, 0.0)
    assert f"[{low:g}, {high:g}]" in COMPARISONS[name].assumption


def test_promises_of_the_subjects_differ() -> None:
    promises = [SUBJECTS[name].algorithm.start(3).guarantee for name in SUBJECTS]
    assert len({one.assumption for one in promises}) >= 5
    assert {one.pool for one in promises} == {None, 40, 41}
    assert {one.epsilon > 0 for one in promises} == {one.indifference_zone > 0 for one in promises} == {True, False}
