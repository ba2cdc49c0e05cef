"""Boundaries of a user's own: what a race takes from them, and what it refuses."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from bestarm.algorithms import PairwiseBAI
from bestarm.algorithms.baselines import TriangularRegion
from bestarm.comparisons import PairBoundary
from bestarm.comparisons.boundaries import boundary_chunk
from bestarm.values import Array
from small_race import run


@dataclass(frozen=True)
class Signs(PairBoundary):
    """For scores 0 and 1: the sign test, which is about arms that are no better and says nothing about leads."""

    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    supports_epsilon: ClassVar[bool] = False

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        level = np.log(n_arms * rounds * (rounds + 1.0) / delta)
        room = rounds**2 - 2.0 * level * rounds
        slopes = np.sqrt(2.0 * level * (rounds - 1.0) / np.where(room > 0, room, 1.0))
        return np.where(room > 0, slopes, np.inf), np.zeros_like(rounds)


# --- without the proof for leads --------------------------------------------------------------------------------------


def test_nothing_is_said_about_leads_without_their_proof() -> None:
    game = PairwiseBAI(comparison=Signs()).start(2)
    game.play(np.tile([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]], (10, 1)))
    assert (game.lead_bound(0, 1), game.lead(0, 1), game.intervals(), game.regret_bound) == (None,) * 4


def test_a_race_says_nothing_about_leads_without_their_proof() -> None:
    result = run(comparison=Signs(), bounds=None, max_evaluations=30)
    assert (result.reason, result.intervals) == ("budget", None)
    assert np.isnan(result.regret_bound)
    assert not np.isfinite(result.lead("high", "low")[1:]).any()


@pytest.mark.parametrize("aim", ["epsilon", "indifference_zone"])
def test_no_tolerance_without_the_proof_for_leads(aim: str) -> None:
    options: dict[str, Any] = {aim: 0.1}
    with pytest.raises(ValueError, match=rf"^{aim} needs a comparison that supports .*{aim}=0\.1 with .*Signs"):
        PairwiseBAI(comparison=Signs(), **options)
    with pytest.raises(ValueError, match=f"{aim} needs a comparison"):
        run(comparison=Signs(), bounds=None, **options)


# --- without bounds, and not Gaussian ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class SubGaussian(PairBoundary):
    """Any sub-Gaussian differences, discrete ones too."""

    assumption = "differences are sub-Gaussian"
    nearly_gaussian: ClassVar[bool] = False

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        level = np.log(n_arms * rounds * (rounds + 1.0) / delta)
        return np.where(rounds < 2, np.inf, 0.0), np.sqrt(2.0 * level / rounds)


@dataclass(frozen=True)
class Unsaid(SubGaussian):
    """The same, which does not say that it needs nothing of Gaussian data."""

    nearly_gaussian: ClassVar[bool] = True


@pytest.mark.parametrize(("comparison", "gaussian"), [(SubGaussian(), False), (Unsaid(), True)])
def test_a_comparison_without_bounds_need_not_be_gaussian(comparison: PairBoundary, gaussian: bool) -> None:
    game = PairwiseBAI(comparison=comparison).start(2)
    game.play(np.random.default_rng(1).integers(0, 2, (60, 2)).astype(float))
    assert game.guarantee.nearly_gaussian is gaussian
    assert ["not Gaussian" in one for one in game.warnings] == [True] * gaussian


# --- what is no boundary ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Returns(PairBoundary):
    """A boundary that returns what one of the functions below makes of good slopes and offsets."""

    case: str

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> Any:
        slopes, offsets = SubGaussian().boundary(rounds, n_arms, delta)
        return NO_BOUNDARIES[self.case][0](slopes + 1.0, offsets)


def at_2000(values: Array, value: float) -> Array:
    changed = values.copy()
    changed[1999] = value
    return changed


NO_BOUNDARIES: dict[str, tuple[Any, type[Exception], str]] = {
    "negative slope": (lambda s, o: (at_2000(s, -0.5), o), ValueError, r"slopes of at least 0, got slope -0\.5 .*2000"),
    "negative slopes": (lambda s, o: (-s, o), ValueError, "slopes of at least 0, got slope -inf .* round 1:"),
    "offset -inf": (lambda s, o: (s, at_2000(o, -np.inf)), ValueError, "offsets above -inf, .* -inf for round 2000"),
    "offset NaN": (lambda s, o: (s, at_2000(o, np.nan)), ValueError, "numbers, got NaN for round 2000"),
    "one array": (lambda s, o: s, TypeError, "two arrays, slopes and offsets by round, got array"),
    "nothing": (lambda s, o: None, TypeError, "two arrays, .*got None"),
    "three arrays": (lambda s, o: (s, o, o), TypeError, "two arrays"),
    "texts": (lambda s, o: ("a", "b"), TypeError, "two arrays"),
    "numbers": (lambda s, o: (1.0, 0.1), ValueError, "a slope and an offset for each of the 2048 rounds"),
}


@pytest.mark.parametrize("case", NO_BOUNDARIES)
def test_what_is_no_boundary_is_refused_by_name(case: str) -> None:
    _, kind, message = NO_BOUNDARIES[case]
    game = PairwiseBAI(comparison=Returns(case)).start(3)
    with pytest.raises(kind, match=rf"^Returns\.boundary must return .*{message}"):
        game.play(np.zeros((3, 3)))


def test_a_finite_negative_offset_is_a_boundary() -> None:
    offsets = boundary_chunk(TriangularRegion(0.1, 10), 3, 0.1, 0).offsets
    assert (offsets == -0.05).all()
