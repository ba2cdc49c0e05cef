"""The Student mixture: its e-value against integrals, its slopes against roots, its level against null paths."""

import math
import re
from functools import lru_cache
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t as student_t

from bestarm.algorithms import PairwiseBAI
from bestarm.comparisons import StudentMixture
from statistics_helpers import binomial_p_value

Array = NDArray[np.float64]
INF, NAN = float("inf"), float("nan")
DIGITS = 40

OCTAVES = StudentMixture(precisions=tuple(4.0**k for k in range(8)), min_rounds=2)  # the grid that SPEC names
MIXTURES = {
    "default": StudentMixture(min_rounds=2),
    "octaves": OCTAVES,
    "one precision": StudentMixture(precisions=(1.0,), min_rounds=2),
    "one tiny precision": StudentMixture(precisions=(1e-6,), min_rounds=2),
    "one vanishing precision": StudentMixture(
        precisions=(1e-10,), min_rounds=2
    ),  # its slopes are huge in the first rounds
    "unequal weights": StudentMixture(precisions=(0.5, 30.0, 2000.0), weights=(5.0, 1.0, 2.0), min_rounds=2),
}
every_mixture = pytest.mark.parametrize("name", MIXTURES)


# --- the definition, by integration ----------------------------------------------------------------------------------


def scale_free(n: int, effect: float) -> Any:
    """``S / sqrt(Q)`` of ``n`` differences whose mean over their unbiased standard deviation is the effect."""
    return n * mp.mpf(effect) / mp.sqrt(n - 1 + n * mp.mpf(effect) ** 2)


def evalue_by_integration(n: int, effect: float, mixture: StudentMixture) -> Any:
    """Mixture over ``theta >= 0`` of the likelihood ratios, ``d sigma / sigma`` above and below, ``y = sqrt(Q)/sigma``.

    The inner integral is Gaussian: that of ``2 sqrt(c/2pi) exp(-(n + c) theta^2/2 + theta u y)`` over ``theta >= 0``.
    """
    u = scale_free(n, effect)

    def of(c: float) -> Any:
        a = n + mp.mpf(c)

        def integrand(y: Any) -> Any:
            prior = mp.sqrt(c / a) * mp.exp((u * y) ** 2 / (2 * a)) * mp.erfc(-u * y / mp.sqrt(2 * a))
            return y ** (n - 1) * mp.exp(-(y**2) / 2) * prior

        peak = mp.sqrt((n - 1) / (1 - u**2 / a))
        return mp.quad(integrand, [0, peak / 2, peak, 2 * peak, 4 * peak, mp.inf])

    null = mp.quad(lambda y: y ** (n - 1) * mp.exp(-(y**2) / 2), [0, mp.sqrt(n - 1), 2 * mp.sqrt(n), mp.inf])
    return sum(w * of(c) for c, w in zip(mixture.precisions, mixture.weights or (), strict=True)) / null


def log_evalue_in_two_dimensions(n: int, effect: float, c: float) -> float:
    """The double integral over ``theta`` and ``y`` itself, by Gauss and Legendre's rule on many panels."""
    u = float(scale_free(n, effect))
    peak = math.sqrt((n - 1) / (1 - u**2 / (n + c)))
    y, w_y = panels(6 * peak + 10)
    theta, w_theta = panels(6 * abs(u) * peak / (n + c) + 10 / math.sqrt(n + c))
    exponent = (
        -(n + c) / 2 * theta[:, None] ** 2 + (n - 1) * np.log(y)[None, :] - y**2 / 2 + u * theta[:, None] * y[None, :]
    )
    top = exponent.max()
    integral = math.log(float(w_theta @ np.exp(exponent - top) @ w_y)) + float(top)
    null = (n / 2 - 1) * math.log(2) + math.lgamma(n / 2)
    return integral + math.log(2 * math.sqrt(c / (2 * math.pi))) - null


def panels(end: float, n_panels: int = 40, order: int = 16) -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(order)
    width = end / n_panels
    starts = width * np.arange(n_panels)[:, None]
    return (starts + width * (nodes + 1) / 2).ravel(), np.tile(weights * width / 2, n_panels)


@pytest.mark.parametrize(
    ("n", "effect", "name"),
    [
        (2, 0.5, "default"),
        (2, -3.0, "unequal weights"),
        (2, 1000.0, "one tiny precision"),
        (3, 1.5, "default"),
        (3, -0.2, "one precision"),
        (10, 0.0, "default"),
        (10, 2.0, "unequal weights"),
        (10, 30.0, "one precision"),
        (10, -1.0, "default"),
        (200, 0.3, "one precision"),
        (200, -0.3, "one precision"),
        (200, 1.5, "one precision"),
    ],
)
def test_evalue_is_the_integral_of_the_likelihood_ratio(n: int, effect: float, name: str) -> None:
    with mp.workdps(30):
        expected = mp.log(evalue_by_integration(n, effect, MIXTURES[name]))
    got = float(MIXTURES[name].log_evalue(n, effect))
    assert got == pytest.approx(float(expected), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("c", [0.25, 16.0, 400.0])
@pytest.mark.parametrize(
    ("n", "effect"), [(2, 0.7), (2, -5.0), (3, 40.0), (10, -0.5), (10, 2.0), (200, 0.4), (200, -0.1)]
)
def test_evalue_is_the_double_integral(n: int, effect: float, c: float) -> None:
    got = float(StudentMixture(precisions=(c,)).log_evalue(n, effect))
    assert got == pytest.approx(log_evalue_in_two_dimensions(n, effect, c), rel=1e-8, abs=1e-8)


# --- the closed formula, with many digits ----------------------------------------------------------------------------


def student_cdf(n: int, x: Any) -> Any:
    tail = mp.betainc(mp.mpf(n) / 2, mp.mpf(1) / 2, 0, n / (n + x**2), regularized=True) / 2
    return 1 - tail if x > 0 else tail


def closed_log_evalue(n: int, effect: Any, mixture: StudentMixture) -> Any:
    """SPEC's formula with ``S = u``, ``Q = 1``; the effect may be infinite: constant differences."""
    u = mp.sqrt(n) if effect == mp.inf else n * effect / mp.sqrt(n - 1 + n * effect**2)
    terms = []
    for c, w in zip(map(mp.mpf, mixture.precisions), mixture.weights or (), strict=True):
        F = student_cdf(n, u * mp.sqrt(n) / mp.sqrt(n + c - u**2))
        terms.append(w * mp.sqrt(c / (n + c)) * (1 - u**2 / (n + c)) ** (-mp.mpf(n) / 2) * 2 * F)
    return mp.log(mp.fsum(terms))


@every_mixture
@pytest.mark.parametrize("n", [2, 3, 10, 200, 10**4, 10**7])
def test_evalue_is_the_closed_formula(n: int, name: str) -> None:
    effects = [-20.0 / math.sqrt(n), -1.0 / math.sqrt(n), 0.0, 0.3 / math.sqrt(n), 8.0 / math.sqrt(n), 3.0, 1e6]
    with mp.workdps(DIGITS + 10):
        expected = [float(closed_log_evalue(n, mp.mpf(effect), MIXTURES[name])) for effect in effects]
    np.testing.assert_allclose(MIXTURES[name].log_evalue(n, effects), expected, rtol=1e-10, atol=1e-10)


@every_mixture
def test_evalue_of_constant_differences_is_the_limit(name: str) -> None:
    for n in (2, 7, 300):
        with mp.workdps(DIGITS):
            expected = float(closed_log_evalue(n, mp.inf, MIXTURES[name]))
        assert float(MIXTURES[name].log_evalue(n, INF)) == pytest.approx(expected, rel=1e-10)
        assert float(MIXTURES[name].log_evalue(n, 1e12)) == pytest.approx(expected, rel=1e-8)


def evalue_of_differences(differences: Array, mixture: StudentMixture) -> Any:
    """SPEC's formula from the differences themselves."""
    n, S, Q = len(differences), mp.fsum(differences.tolist()), mp.fsum((differences**2).tolist())
    total = mp.mpf(0)
    for c, w in zip(mixture.precisions, mixture.weights or (), strict=True):
        F = student_cdf(n, S * mp.sqrt(n) / mp.sqrt((n + c) * Q - S**2))
        total += w * mp.sqrt(c / (n + c)) * (1 - S**2 / ((n + c) * Q)) ** (-mp.mpf(n) / 2) * 2 * F
    return mp.log(total)


@every_mixture
def test_evalue_of_raw_differences(name: str) -> None:
    rng = np.random.default_rng(3)
    for n in (2, 5, 60):
        D = rng.normal(0.4, 1.3, n)
        with mp.workdps(DIGITS):
            expected = float(evalue_of_differences(D, MIXTURES[name]))
        effect = np.mean(D) / np.std(D, ddof=1)
        assert float(MIXTURES[name].log_evalue(n, effect)) == pytest.approx(expected, rel=1e-10, abs=1e-10)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    n=st.integers(2, 10**7),
    effects=st.tuples(st.floats(-5, 5), st.floats(-5, 5)),
    name=st.sampled_from(sorted(MIXTURES)),
)
def test_evalue_grows_with_the_mean_over_the_standard_deviation(
    n: int, effects: tuple[float, float], name: str
) -> None:
    assume(abs(effects[0] - effects[1]) > 1e-3)
    low, high = (float(value) for value in MIXTURES[name].log_evalue(n, sorted(effects)))
    assert low < high or high == -INF  # far on the wrong side all digits underflow


def test_no_effect_is_no_evidence() -> None:
    assert np.all(StudentMixture().log_evalue([2, 10, 1000, 10**6], 0.0) < 0)


# --- slopes ----------------------------------------------------------------------------------------------------------


def root(n: int, log_threshold: Any, mixture: StudentMixture, near: float) -> float:
    return float(
        mp.findroot(
            lambda s: closed_log_evalue(n, s, mixture) - log_threshold,
            (near * (1 - 1e-4), near * (1 + 1e-4)),
            tol=1e-30,
        )
    )


SLOPES = [
    ("default", 2, 2, 0.9),
    ("default", 4, 2, 0.05),
    ("default", 20, 10, 1e-12),
    ("default", 500, 50, 0.01),
    ("default", 10**5, 10, 0.1),
    ("default", 10**7, 10, 1e-12),
    ("default", 10**7, 2, 0.9),
    ("octaves", 7, 10, 0.1),
    ("octaves", 3000, 10, 0.05),
    ("one precision", 2, 2, 0.7),
    ("one precision", 9, 10, 0.1),
    ("one precision", 10**7, 10, 1e-12),
    ("one tiny precision", 2, 2, 0.05),
    ("one tiny precision", 2, 10, 0.01),
    ("one tiny precision", 1000, 2, 1e-12),
    ("one vanishing precision", 2, 2, 0.001),
    ("one vanishing precision", 3, 10, 1e-6),
    ("unequal weights", 12, 4, 0.05),
    ("unequal weights", 10**6, 4, 1e-6),
]


@pytest.mark.parametrize(("name", "n", "n_arms", "delta"), SLOPES)
def test_slope_is_the_root_of_the_closed_formula(name: str, n: int, n_arms: int, delta: float) -> None:
    slopes, offsets = MIXTURES[name].boundary(np.array([float(n)]), n_arms, delta)
    with mp.workdps(DIGITS):
        expected = root(n, mp.log((n_arms - 1) / mp.mpf(delta)), MIXTURES[name], float(slopes[0]))
    assert float(slopes[0]) == pytest.approx(expected, rel=1e-10)
    assert offsets.tolist() == [0.0]


@pytest.mark.parametrize(("name", "n", "n_arms", "delta"), SLOPES)
def test_evalue_crosses_the_threshold_at_the_slope(name: str, n: int, n_arms: int, delta: float) -> None:
    slope = MIXTURES[name].boundary(np.array([float(n)]), n_arms, delta)[0][0]
    below, above = MIXTURES[name].log_evalue(n, slope * np.array([1 - 1e-9, 1 + 1e-9]))
    assert below < math.log((n_arms - 1) / delta) < above


@every_mixture
@pytest.mark.parametrize(("n_arms", "delta"), [(2, 0.9), (2, 0.05), (10, 0.1), (50, 1e-12)])
def test_slope_is_infinite_just_where_constant_differences_do_not_reach_the_threshold(
    name: str, n_arms: int, delta: float
) -> None:
    rounds = np.arange(1.0, 81.0)
    slopes, _ = MIXTURES[name].boundary(rounds, n_arms, delta)
    with mp.workdps(DIGITS):
        threshold = mp.log((n_arms - 1) / mp.mpf(delta))
        reached = [n >= 2 and closed_log_evalue(n, mp.inf, MIXTURES[name]) > threshold for n in range(1, 81)]
    np.testing.assert_array_equal(np.isfinite(slopes), reached)
    assert np.all(slopes > 0)


def test_octaves_beat_nobody_up_to_round_six() -> None:
    slopes, _ = OCTAVES.boundary(np.arange(1.0, 9.0), 10, 0.1)
    assert np.isinf(slopes).tolist() == [True] * 6 + [False] * 2


@pytest.mark.parametrize(("n_arms", "delta"), [(2, 0.9), (2, 0.05), (10, 0.1), (50, 1e-12)])
def test_slopes_of_the_default_shrink(n_arms: int, delta: float) -> None:
    rounds = np.concatenate([np.arange(1.0, 3000.0), np.geomspace(3000, 1e7, 200).round()])
    slopes, _ = StudentMixture(min_rounds=2).boundary(rounds, n_arms, delta)
    finite = slopes[np.isfinite(slopes)]
    assert finite.size > 3000
    assert np.isinf(slopes[: slopes.size - finite.size]).all()
    assert np.all(np.diff(finite) < 0)


def test_slopes_grow_with_the_threshold() -> None:
    rounds = np.array([30.0, 1000.0])
    slopes = np.array(
        [StudentMixture(min_rounds=2).slopes(rounds, math.log(1 / delta)) for delta in (0.5, 0.1, 1e-3, 1e-9)]
    )
    assert np.all(np.diff(slopes, axis=0) > 0)


def test_a_slope_does_not_depend_on_the_rounds_it_is_computed_with() -> None:
    rounds = np.concatenate([np.arange(1.0, 400.0), [1e4, 1e7]])
    together = StudentMixture(min_rounds=2).slopes(rounds, math.log(90.0))
    alone = [StudentMixture(min_rounds=2).slopes(np.array([n]), math.log(90.0))[0] for n in rounds]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


# --- settings --------------------------------------------------------------------------------------------------------


def test_weights_are_scaled_to_one() -> None:
    assert StudentMixture(precisions=(1.0, 2.0), weights=(3.0, 1.0)).weights == (0.75, 0.25)
    assert StudentMixture(precisions=(1.0, 2.0, 4.0, 8.0)).weights == (0.25, 0.25, 0.25, 0.25)


def test_settings_are_values() -> None:
    given_lists = StudentMixture(precisions=[1.0, 4.0], weights=[1.0, 1.0])
    assert given_lists.precisions == (1.0, 4.0)
    assert given_lists == StudentMixture(precisions=(1.0, 4.0))
    assert hash(given_lists) == hash(StudentMixture(precisions=(1.0, 4.0)))
    assert StudentMixture(precisions=(1.0, 4.0)) != StudentMixture(precisions=(1.0, 5.0))
    assert StudentMixture(precisions=np.array([1.0, 4.0])) == given_lists  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("precisions", "message"),
    [
        ((1.0, 0.0), "precisions must be above 0, got precisions[1] = 0.0"),
        ((-1.0,), "precisions must be above 0, got precisions[0] = -1.0"),
        ((1.0, NAN), "precisions must be finite, got precisions[1] = nan"),
        ((INF,), "precisions must be finite, got precisions[0] = inf"),
        ((), "precisions must be a sequence of at least one number, got shape (0,)"),
    ],
)
def test_precisions_that_are_refused(precisions: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        StudentMixture(precisions=precisions)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((1.0,), "weights must have 2 entries, got 1"),
        ((1.0, 1.0, 1.0), "weights must have 2 entries, got 3"),
        ((1.0, 0.0), "weights must be above 0, got weights[1] = 0.0"),
        ((-1.0, 1.0), "weights must be above 0, got weights[0] = -1.0"),
        ((1.0, NAN), "weights must be finite, got weights[1] = nan"),
        ((), "weights must be a sequence of at least one number, got shape (0,)"),
    ],
)
def test_weights_that_are_refused(weights: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        StudentMixture(precisions=(1.0, 2.0), weights=weights)


def test_a_first_look_at_a_single_round_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^min_rounds must be a whole number of at least 2, got 1"):
        StudentMixture(min_rounds=1)


# --- games -----------------------------------------------------------------------------------------------------------


def first_finite(n_arms: int, delta: float, mixture: StudentMixture) -> int:
    slopes, _ = mixture.boundary(np.arange(1.0, 200.0), n_arms, delta)
    return int(np.flatnonzero(np.isfinite(slopes))[0]) + 1


@pytest.mark.parametrize("name", ["default", "octaves", "one tiny precision"])
@pytest.mark.parametrize("n_arms", [2, 5])
def test_constant_differences_decide_at_the_first_look(name: str, n_arms: int) -> None:
    noise = np.random.default_rng(0).integers(0, 1000, size=(100, 1)) / 8.0
    rows = noise + np.arange(n_arms) / 4.0
    game = PairwiseBAI(0.1, comparison=MIXTURES[name]).start(n_arms)
    game.play(rows)
    assert (game.reason, game.best) == ("decided", n_arms - 1)
    assert game.n_rounds == first_finite(n_arms, 0.1, MIXTURES[name])


def test_two_rounds_may_be_enough() -> None:
    game = PairwiseBAI(0.05, comparison=MIXTURES["one tiny precision"]).start(2)
    game.play(np.array([[0.0, 1.0], [0.5, 1.5], [3.0, 0.0]]))
    assert (game.reason, game.n_rounds, game.best) == ("decided", 2, 1)


def test_equal_arms_never_beat_each_other() -> None:
    noise = np.random.default_rng(1).normal(size=(3000, 1))
    game = PairwiseBAI(0.5).start(3)
    game.play(np.repeat(noise, 3, axis=1))
    assert (game.reason, game.candidates, game.n_rounds) == (None, (0, 1, 2), 3000)


# --- the level, on null paths ----------------------------------------------------------------------------------------

N_PATHS, N_ROUNDS = 3000, 1000


@lru_cache(maxsize=2)
def null_effects() -> Array:
    """Mean over standard deviation after rounds 2, 3, ... of paths of mean 0, each with a scale of its own."""
    rng = np.random.default_rng(20)
    D = rng.normal(size=(N_PATHS, N_ROUNDS)) * 10 ** rng.uniform(-3, 3, size=(N_PATHS, 1))
    n = np.arange(1, N_ROUNDS + 1)
    S, Q = np.cumsum(D, axis=1), np.cumsum(D**2, axis=1)
    effects: Array = (S / n)[:, 1:] / np.sqrt((Q - S**2 / n)[:, 1:] / (n[1:] - 1))
    return effects


def level_p_value(slopes: Array, alpha: float) -> float:
    """Of "at most a share alpha of the null paths ever crosses"."""
    crossed = np.any(null_effects() > slopes, axis=1)
    return binomial_p_value(int(crossed.sum()), N_PATHS, alpha)


@every_mixture
@pytest.mark.parametrize("alpha", [0.1, 0.05])
def test_null_paths_cross_at_most_as_often_as_they_may(name: str, alpha: float) -> None:
    slopes = MIXTURES[name].slopes(np.arange(2.0, N_ROUNDS + 1), math.log(1 / alpha))
    assert level_p_value(slopes, alpha) >= 1e-3


@pytest.mark.parametrize("alpha", [0.1, 0.05])
def test_a_t_test_repeated_after_every_round_is_found_out(alpha: float) -> None:
    n = np.arange(2.0, N_ROUNDS + 1)
    assert level_p_value(student_t.ppf(1 - alpha, n - 1) / np.sqrt(n), alpha) < 1e-12


@pytest.mark.parametrize("alpha", [0.1, 0.05])
def test_a_threshold_four_times_too_low_is_found_out(alpha: float) -> None:
    slopes = StudentMixture(precisions=(1.0,), min_rounds=2).slopes(
        np.arange(2.0, N_ROUNDS + 1), math.log(1 / (4 * alpha))
    )
    assert level_p_value(slopes, alpha) < 1e-3


def test_the_crossing_frequency_that_was_measured() -> None:
    """About two in a hundred paths cross 1/0.05 with the octaves."""
    slopes = OCTAVES.slopes(np.arange(2.0, N_ROUNDS + 1), math.log(1 / 0.05))
    share = float(np.any(null_effects() > slopes, axis=1).mean())
    assert abs(share - 0.02) < 4 * math.sqrt(0.02 * 0.98 / N_PATHS)
