"""The Student mixture: its e-value against integrals, its slopes against roots, its level against null paths."""

import math
from functools import lru_cache
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t as student_t

from bestarm.algorithms import EliminationGame, PairwiseBAI
from bestarm.comparisons import StudentMixture
from bestarm.comparisons.boundaries import CHUNK, boundary_chunk
from games import intervals_of, outcome
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
    # Its slopes are huge in the first rounds.
    "one vanishing precision": StudentMixture(precisions=(1e-10,), min_rounds=2),
    "unequal weights": StudentMixture(precisions=(0.5, 30.0, 2000.0), weights=(5.0, 1.0, 2.0), min_rounds=2),
}
every_mixture = pytest.mark.parametrize("name", MIXTURES)


# --- the definition, by integration ----------------------------------------------------------------------------------


def log_evalue_in_two_dimensions(n: int, effect: float, c: float) -> float:
    """Mixture over ``theta >= 0`` of the likelihood ratios, ``d sigma / sigma`` above and below, ``y = sqrt(Q)/sigma``.

    The double integral itself, by Gauss and Legendre's rule on many panels.
    """
    u = n * effect / math.sqrt(n - 1 + n * effect**2)  # S / sqrt(Q)
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


@pytest.mark.parametrize("c", [0.25, 16.0, 400.0])
@pytest.mark.parametrize(
    ("n", "effect"),
    [(2, 0.7), (2, -5.0), (3, 40.0), (10, -0.5), (10, 0.0), (10, 2.0), (200, 0.4), (200, -0.1), (200, 1.5)],
)
def test_evalue_is_the_double_integral(n: int, effect: float, c: float) -> None:
    got = float(StudentMixture(precisions=(c,)).log_evalue(n, effect))
    assert got == pytest.approx(log_evalue_in_two_dimensions(n, effect, c), rel=1e-8, abs=1e-8)


# --- the closed formula, with many digits ----------------------------------------------------------------------------


def student_cdf(n: int, x: Any) -> Any:
    tail = mp.betainc(mp.mpf(n) / 2, mp.mpf(1) / 2, 0, n / (n + x**2), regularized=True) / 2
    return 1 - tail if x > 0 else tail


def log_evalue_of_sums(n: int, S: Any, Q: Any, mixture: StudentMixture) -> Any:
    """SPEC's formula, from the sum of the differences and the sum of their squares."""
    terms = []
    for c, w in zip(map(mp.mpf, mixture.precisions), mixture.weights or (), strict=True):
        F = student_cdf(n, S * mp.sqrt(n) / mp.sqrt((n + c) * Q - S**2))
        terms.append(w * mp.sqrt(c / (n + c)) * (1 - S**2 / ((n + c) * Q)) ** (-mp.mpf(n) / 2) * 2 * F)
    return mp.log(mp.fsum(terms))


def closed_log_evalue(n: int, effect: Any, mixture: StudentMixture) -> Any:
    """The same with ``Q = 1``; the effect may be infinite: constant differences."""
    u = mp.sqrt(n) if effect == mp.inf else n * effect / mp.sqrt(n - 1 + n * effect**2)
    return log_evalue_of_sums(n, u, mp.mpf(1), mixture)


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


@every_mixture
def test_evalue_of_raw_differences(name: str) -> None:
    rng = np.random.default_rng(3)
    for n in (2, 5, 60):
        D = rng.normal(0.4, 1.3, n)
        with mp.workdps(DIGITS):
            expected = float(log_evalue_of_sums(n, mp.fsum(D.tolist()), mp.fsum((D**2).tolist()), MIXTURES[name]))
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


# --- settings --------------------------------------------------------------------------------------------------------


def test_settings_are_brought_into_shape() -> None:
    mixture = StudentMixture(precisions=[1.0, 2.0], weights=np.array([3.0, 1.0]))  # type: ignore[arg-type]
    assert mixture == StudentMixture(precisions=(1.0, 2.0), weights=(0.75, 0.25))
    assert mixture.weights == (0.75, 0.25)
    assert StudentMixture(precisions=(1.0, 2.0, 4.0, 8.0)).weights == (0.25, 0.25, 0.25, 0.25)


@pytest.mark.parametrize(
    ("parameter", "given", "value"),
    [
        *(("precisions", (1.0, precision), precision) for precision in (0.0, -1.0, NAN, INF)),
        *(("weights", (1.0, weight), weight) for weight in (0.0, -1.0, NAN)),
        *(("weights", given, given) for given in [(1.0,), (1.0, 1.0, 1.0), ()]),
        ("precisions", (), ()),
        ("min_rounds", 1, 1),
    ],
)
def test_settings_that_are_refused(parameter: str, given: Any, value: Any, refused: Any) -> None:
    with refused(parameter, value):
        StudentMixture(**{"precisions": (1.0, 2.0), parameter: given})


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


# --- the floor of the boundary ---------------------------------------------------------------------------------------

ROUNDS = np.unique(np.geomspace(2, 10**7, 400).round())
FLOORED = (
    StudentMixture(min_rounds=2),
    StudentMixture(precisions=(1.0,), min_rounds=2),
    StudentMixture(precisions=(1e-6,)),
    StudentMixture(precisions=(0.5, 30.0, 2000.0), weights=(5.0, 1.0, 1e-9)),
)


@pytest.mark.parametrize("mixture", FLOORED, ids=str)
@pytest.mark.parametrize(("n_arms", "delta"), [(2, 0.999), (2, 0.05), (10, 1e-9), (1000, 1e-200)])
def test_the_floor_is_never_above_the_boundary(mixture: StudentMixture, n_arms: int, delta: float) -> None:
    slopes, offsets = mixture.boundary(ROUNDS, n_arms, delta)
    floor, lower = mixture.floor(ROUNDS, n_arms, delta)
    assert (floor <= slopes).all()
    assert (floor >= 0.0).all()
    assert (lower <= offsets).all()


def test_the_floor_of_the_usual_mixture_is_near_the_boundary() -> None:
    slopes, _ = StudentMixture().boundary(ROUNDS[ROUNDS > 100], 10, 0.05)
    floor, _ = StudentMixture().floor(ROUNDS[ROUNDS > 100], 10, 0.05)
    assert (floor > 0.8 * slopes).all()


class Unfloored(StudentMixture):
    """The same comparison, of which no floor is known."""

    def floor(self, *_: Any) -> None:  # type: ignore[override]
        return None


def board_of(game: EliminationGame) -> list[bytes]:
    return [part.tobytes() for part in game._evidence.board]


@pytest.mark.parametrize("seed", range(12))
def test_games_are_the_same_without_a_floor(seed: int) -> None:
    """To the last bit of every statistic, whoever is beaten when, and whatever ends the game."""
    rng = np.random.default_rng(seed)
    n_arms = int(rng.integers(2, 7))
    means = np.append(np.full(n_arms - 1, 0.0), rng.choice([0.0, 0.02, 0.05, 0.1]))
    rows = means + rng.standard_normal((5 * CHUNK, n_arms)) * rng.uniform(0.5, 1.0)
    goal: dict[str, Any] = {"keep": float(rng.choice([1.0, 1.3, 3.0]))}
    if seed % 3 == 1:
        goal["epsilon"] = 0.05
    elif seed % 3 == 2:
        goal["indifference_zone"] = 0.02
    if seed % 2:
        goal["max_rounds"] = int(rng.integers(3 * CHUNK, 5 * CHUNK))
    games = [PairwiseBAI(0.05, comparison=of(), **goal).start(n_arms) for of in (StudentMixture, Unfloored)]
    for game in games:
        begun = 0
        for end in (17, CHUNK, 3 * CHUNK, 3 * CHUNK + 5, 4 * CHUNK, len(rows)):
            if not game.finished:
                game.play(rows[begun:end])
                begun = end
    one, other = games
    assert isinstance(one, EliminationGame)
    assert isinstance(other, EliminationGame)
    assert outcome(one) == outcome(other)
    assert board_of(one) == board_of(other)
    assert np.array_equal(intervals_of(one).low, intervals_of(other).low)


def test_a_long_game_that_nobody_decides_computes_its_boundary_in_few_rounds() -> None:
    boundary_chunk.cache_clear()
    rows = np.random.default_rng(0).standard_normal((20 * CHUNK, 3))
    game = PairwiseBAI(1e-6).start(3)
    assert game.play(rows) == len(rows)
    assert boundary_chunk.cache_info().misses <= 2


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
