"""Boundaries against the same formulas with 50 digits, and what infinite ones do."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from mpmath import MPContext  # type: ignore[import-untyped]

from bestarm.algorithms import Algorithm, PairwiseBAI, VarianceRace
from bestarm.algorithms.baselines import (
    BernsteinIntervals,
    ChernoffIntervals,
    GaussianIntervals,
    LUCBIntervals,
    TriangularRegion,
)
from bestarm.comparisons import EmpiricalBernstein, GaussianBernstein
from bestarm.comparisons.boundaries import CHUNK, Boundary, boundary_chunk, variance_inflation

mp = MPContext()  # a context of its own: the precision of others stays
mp.dps = 50
mpf = mp.mpf

Number = Any  # of 50 digits

# Round, number of arms, delta -> slope and offset.
Formula = Callable[[Number, Number, Number], tuple[Number, Number]]

ROUNDS = [3, 4, 5, 10, 30, 100, 137, 1000, 54_321, 10**6]
ARMS = [2, 3, 10, 1000]
DELTAS = [0.9, 0.1, 0.05, 1e-4, 1e-12]


def paper_alpha(t: Number, K: Number, delta: Number) -> Number:
    delta_t = delta / (2 * K**2 * t * (t + 1))
    return mp.sqrt(mp.log(1 / delta_t) / (t - 1))


def inflation(x: Number, f: str = "proved") -> Number:
    if x < mpf(1) / 3:
        return 1 / (1 - 2 * x)
    return mp.exp(2 * x**2 + 1) if f == "proved" else mp.exp(2 * x + 1)


def empirical_bernstein(t: Number, K: Number, delta: Number) -> tuple[Number, Number]:
    a = paper_alpha(t, K, delta)
    return mpf(3) / 2 * a * mp.sqrt(2), 9 * a**2


def gaussian_bernstein(t: Number, K: Number, delta: Number, f: str) -> tuple[Number, Number]:
    a = paper_alpha(t, K, delta)
    return mpf(3) / 2 * a * mp.sqrt(2 * inflation(a, f)), mpf(0)


def chernoff(t: Number, K: Number, delta: Number) -> tuple[Number, Number]:
    return mp.sqrt(2 * mp.log(2 * K * t * (t + 1) / delta) / t), mpf(0)


def gaussian_intervals(t: Number, K: Number, delta: Number) -> tuple[Number, Number]:
    a = mp.sqrt(mp.log(4 * K * t * (t + 1) / delta) / (t - 1))
    return a * mp.sqrt(2 * inflation(a)), mpf(0)


def bernstein_intervals(t: Number, K: Number, delta: Number) -> tuple[Number, Number]:
    x = mp.log(3 * K * t * (t + 1) / delta)
    biased_sd = mp.sqrt((t - 1) / t)  # of an unbiased one
    return biased_sd * mp.sqrt(2 * x / t), 3 * x / t


def lucb_intervals(t: Number, K: Number, delta: Number) -> tuple[Number, Number]:
    return mp.sqrt(2 * mp.log(5 * K * t**4 / (4 * delta))), mpf(0)


def triangular(d: float, n0: int) -> Formula:
    def formula(r: Number, K: Number, delta: Number) -> tuple[Number, Number]:
        eta = ((2 * delta / (K - 1)) ** (-mpf(2) / (n0 - 1)) - 1) / 2
        h2 = 2 * eta * (n0 - 1)
        per_square = mpf(1) / (n0 - 1)  # S2 of one unit of the sum of squares
        return mpf(d) / (2 * r) * h2 * per_square / mpf(d) ** 2, -mpf(d) / 2

    return formula


TABLE: list[tuple[Boundary, Formula, int]] = [  # with the round of the first look
    (EmpiricalBernstein(), empirical_bernstein, 3),
    (GaussianBernstein(f="proved"), partial(gaussian_bernstein, f="proved"), 3),
    (GaussianBernstein(f="published"), partial(gaussian_bernstein, f="published"), 3),
    (ChernoffIntervals(), chernoff, 1),
    (GaussianIntervals(), gaussian_intervals, 2),
    (BernsteinIntervals(), bernstein_intervals, 2),
    (LUCBIntervals(), lucb_intervals, 1),
    (TriangularRegion(0.1, 2), triangular(0.1, 2), 2),
    (TriangularRegion(0.02, 3), triangular(0.02, 3), 3),
    (TriangularRegion(0.1, 10), triangular(0.1, 10), 10),
]
BOUNDARIES = [boundary for boundary, _, _ in TABLE]
every_boundary = pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
every_first_look = pytest.mark.parametrize(("boundary", "first_look"), [(one, look) for one, _, look in TABLE])
EARLY = (ChernoffIntervals, GaussianIntervals, BernsteinIntervals, LUCBIntervals)  # look in round 2 already


def assert_equal_numbers(actual: np.floating, expected: Number, relative: float = 1e-12) -> None:
    assert abs(mpf(float(actual)) - expected) <= relative * abs(expected), (actual, expected)


@pytest.mark.parametrize(("boundary", "formula"), [(boundary, formula) for boundary, formula, _ in TABLE])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("K", ARMS)
def test_slopes_and_offsets_equal_the_formulas(boundary: Boundary, formula: Formula, K: int, delta: float) -> None:
    if isinstance(boundary, TriangularRegion) and delta >= (K - 1) / 2:
        K = 4  # KN needs delta < (K - 1) / 2
    rounds = [2, *ROUNDS] if isinstance(boundary, EARLY) else ROUNDS
    rounds = [t for t in rounds if not isinstance(boundary, TriangularRegion) or t >= boundary.min_rounds]
    slopes, offsets = boundary.boundary(np.array(rounds, dtype=np.float64), K, delta)
    for t, slope, offset in zip(rounds, slopes, offsets, strict=True):
        expected_slope, expected_offset = formula(mpf(t), mpf(K), mpf(delta))
        assert_equal_numbers(slope, expected_slope)
        assert_equal_numbers(offset, expected_offset)


@every_first_look
def test_slopes_are_infinite_before_the_first_look_and_finite_from_there(boundary: Boundary, first_look: int) -> None:
    slopes, offsets = boundary.boundary(np.arange(1.0, 50.0), 3, 0.1)
    assert np.isposinf(slopes[: first_look - 1]).all()
    assert np.isfinite(slopes[first_look - 1 :]).all()
    assert np.isfinite(offsets[first_look - 1 :]).all()
    assert not np.isnan(offsets).any()


# --- f ---------------------------------------------------------------------------------------------------------------

THIRD = 1 / 3


@pytest.mark.parametrize(
    ("x", "proved", "published"),
    [
        (0.0, 1.0, 1.0),
        (0.25, 2.0, 2.0),
        (np.nextafter(THIRD, 0), 3.0, 3.0),
        (THIRD, float(mp.exp(mpf(11) / 9)), float(mp.exp(mpf(5) / 3))),
        (0.5, float(mp.exp(1.5)), float(mp.exp(2))),
        (1.0, float(mp.exp(3)), float(mp.exp(3))),
        (3.0, float(mp.exp(19)), float(mp.exp(7))),
    ],
)
def test_inflation_below_at_and_above_one_third(x: float, proved: float, published: float) -> None:
    assert variance_inflation(np.array([x]), "proved")[0] == pytest.approx(proved, rel=1e-12)
    assert variance_inflation(np.array([x]), "published")[0] == pytest.approx(published, rel=1e-12)


def test_the_published_inflation_is_the_smaller_one_only_above_one() -> None:
    below, between, above = np.linspace(0, 0.333, 50), np.linspace(THIRD, 0.999, 50), np.linspace(1.001, 15, 50)
    assert np.array_equal(variance_inflation(below, "published"), variance_inflation(below, "proved"))
    assert (variance_inflation(between, "published") > variance_inflation(between, "proved")).all()
    assert (variance_inflation(above, "published") < variance_inflation(above, "proved")).all()


def test_the_proved_inflation_inverts_the_bound_of_the_proof() -> None:
    """``Vhat >= V max(1 - 2a, exp(-1 - 2a^2))``: f is never less than one over it, so V <= f(a) Vhat."""
    x = np.linspace(0.001, 10, 1000)
    assert (variance_inflation(x) * np.maximum(1 - 2 * x, np.exp(-1 - 2 * x**2)) >= 1 - 1e-12).all()
    published = variance_inflation(x, "published") * np.maximum(1 - 2 * x, np.exp(-1 - 2 * x**2))
    assert (published[x > 1.01] < 1).all()


# --- infinite boundaries ---------------------------------------------------------------------------------------------

TINY = 5e-324  # the smallest delta there is: f overflows in the first rounds


def infinite_rounds(boundary: Boundary, delta: float) -> int:
    return int(np.isinf(boundary_chunk(boundary, 2, delta, 0)[0]).sum())


@pytest.mark.parametrize("delta", [1e-300, TINY])
@pytest.mark.parametrize(
    ("algorithm", "boundary"),
    [
        (lambda delta: PairwiseBAI(delta, comparison=GaussianBernstein()), GaussianBernstein()),
        (VarianceRace, GaussianIntervals()),
    ],
)
def test_an_infinite_slope_beats_nobody_even_without_variance(
    algorithm: Callable[[float], Algorithm], boundary: Boundary, delta: float
) -> None:
    n_infinite = infinite_rounds(boundary, delta)
    assert n_infinite == 3  # round 3, or 2 and 3, would be looked at but overflow
    game = algorithm(delta).start(2)
    rows = np.tile([0.0, 1e9], (10, 1))
    game.play(rows[:n_infinite])
    assert game.eliminations == []
    game.play(rows[n_infinite : n_infinite + 1])
    assert [one.arm for one in game.eliminations] == [0]


@pytest.mark.parametrize("K", [2, 1000])
@pytest.mark.parametrize("delta", [1e-200, TINY])
def test_kim_nelsons_slope_overflows_silently(K: int, delta: float) -> None:
    slopes, _ = TriangularRegion(0.1, 2).boundary(np.arange(1.0, 5.0), K, delta)
    assert np.isposinf(slopes).all()


# --- chunks ----------------------------------------------------------------------------------------------------------


@every_boundary
def test_chunks_equal_one_call_over_all_rounds(boundary: Boundary) -> None:
    slopes, offsets = boundary.boundary(np.arange(1.0, 3 * CHUNK + 1), 4, 0.1)
    chunks = [boundary_chunk(boundary, 4, 0.1, index) for index in range(3)]
    np.testing.assert_array_equal(np.concatenate([chunk[0] for chunk in chunks]), slopes)
    np.testing.assert_array_equal(np.concatenate([chunk[1] for chunk in chunks]), offsets)


@every_boundary
def test_chunks_are_shared_and_cannot_be_written(boundary: Boundary) -> None:
    slopes, offsets = boundary_chunk(boundary, 4, 0.1, 1)
    again = boundary_chunk(boundary, 4, 0.1, 1)
    assert again[0] is slopes
    assert again[1] is offsets
    for array in (slopes, offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_chunks_of_other_settings_are_others() -> None:
    slopes = boundary_chunk(GaussianBernstein(), 4, 0.1, 0)[0]
    others = [(GaussianBernstein(f="published"), 4, 0.1, 0), (GaussianBernstein(), 5, 0.1, 0)]
    for other in (*others, (GaussianBernstein(), 4, 0.2, 0), (GaussianBernstein(), 4, 0.1, 1)):
        assert not np.array_equal(boundary_chunk(*other)[0], slopes)
