"""Bets on differences: their wealth is a plain product, never gains under the null, and bounds the mean."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import bestarm
import one_wealth
from bestarm.algorithms import Game, PairwiseBAI
from bestarm.arms import PoolArms, TableArms
from bestarm.comparisons import Betting, Portfolio, Wins
from bestarm.kernels.wealth import FOLD
from statistics_helpers import binomial_p_value

Array = NDArray[np.float64]
INF, NAN = float("inf"), float("nan")

BETS: dict[str, Betting] = {
    "default": Betting(),
    "one large bet": Betting(bets=(0.999,), reserve=0.0),
    "one small bet": Betting(bets=(0.01,)),
    "unequal weights": Betting(bets=(0.9, 0.5, 0.02), weights=(1.0, 5.0, 2.0)),
    "waking soon": Betting(bets=(0.9, 0.5), reserve=0.4),
    "nothing asleep": Betting(reserve=0.0),
}
every_betting = pytest.mark.parametrize("name", BETS)


# --- the wealth ------------------------------------------------------------------------------------------------------


def exact_wealth(D: Array, betting: Betting, nu: float) -> Any:
    """The mixture of products with 40 digits; ``D`` and ``nu`` in units of rewards."""
    scale = 1 / (mp.mpf(betting.bounds[1]) - mp.mpf(betting.bounds[0]))
    total = mp.mpf(0)
    for bet, weight, first in one_wealth.bets_of(betting, len(D)):
        wealth, so_far = mp.mpf(weight), mp.mpf(0)
        for s, difference in enumerate(D.tolist(), start=1):
            d, y = difference * scale, nu * scale
            if betting.pool is not None:
                y = (betting.pool * nu * scale - so_far) / (betting.pool - s + 1)
            if y < -1 - mp.mpf("1e-9"):
                return mp.inf
            cut = bet if y <= -1 else min(mp.mpf(bet), one_wealth.CAP / (1 + y))
            wealth *= 1 + cut * (d - y) if s >= first else 1
            so_far += d
        total += wealth
    return total


@every_betting
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-3.0, 7.0)])
@pytest.mark.parametrize("pool", [None, 30, 35, 1000])
@pytest.mark.parametrize("nu", [0.0, -0.3, 0.2, 0.9, -1.0])
def test_wealth_is_the_plain_product(name: str, bounds: tuple[float, float], pool: int | None, nu: float) -> None:
    betting = replace(BETS[name], bounds=bounds, pool=pool)
    length = bounds[1] - bounds[0]
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 30):
        D = length * np.clip(rng.normal(0.1, 0.6, n), -1, 1)
        with mp.workdps(40):
            expected = float(mp.log(exact_wealth(D, betting, nu * length)))
        assert betting.log_wealth(D, nu * length) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_the_cut_binds_in_some_of_these_cases() -> None:
    """With a large null mean the uncut wealth would be another number, and even negative."""
    D = np.array([-1.0, 1.0, 0.5])
    assert 1 + 0.999 * (D[0] - 0.9) < 0
    wealth = math.exp(BETS["one large bet"].log_wealth(D[:1], 0.9))
    assert wealth == pytest.approx(1 - one_wealth.CAP, rel=1e-10)


@pytest.mark.parametrize(("name", "won"), [*((name, 0) for name in BETS), ("one large bet", 4000)])
def test_wealth_after_thousands_of_lost_rounds_is_a_number(name: str, won: int) -> None:
    """Also if it is below the smallest positive float, and grows again."""
    D = np.concatenate([np.full(1000 if won else 3000, -1.0), np.full(won, 1.0)])
    with mp.workdps(40):
        expected = float(mp.log(exact_wealth(D, BETS[name], 0.0)))
    assert not won or expected < -745
    assert BETS[name].log_wealth(D) == pytest.approx(expected, rel=1e-10)


def test_impossible_nulls_are_ruled_out_for_good() -> None:
    pooled = Betting(pool=10)
    won = np.ones(6)  # four rounds are left: the mean is above 0 whatever they bring
    assert pooled.log_wealth(np.append(won, 1.0)) == INF
    assert pooled.log_wealth(np.append(won, -1.0)) == INF
    assert pooled.log_wealth(np.append(won, -np.ones(4))) == INF
    assert math.isfinite(pooled.log_wealth(np.ones(5)))
    assert pooled.log_wealth(np.array([0.0]), -1.0 - 1e-6) == INF


# --- the same in a game ----------------------------------------------------------------------------------------------


def wealth_logs(game: Game, near: bool = False) -> Array:
    """Entry (i, j): the logarithm of the wealth that the game holds for "j is better than i"."""
    evidence: Any = game._evidence  # type: ignore[attr-defined]
    wealth = evidence.near if near else evidence.pairs.better
    K = game.n_arms
    logs = (wealth.log_wealth + np.log(wealth.growth))[:K, :, :K] + np.log(wealth.weights)[None, :, None]
    with np.errstate(divide="ignore"):
        logs = np.concatenate([logs, np.log(wealth.asleep)[:K, None, :K]], axis=1)
    top = logs.max(axis=1)
    out: Array = top + np.log(np.exp(logs - top[:, None, :]).sum(axis=1))
    return out


def bets_made(game: Game, i: int, j: int) -> int:
    """Rounds in which it was bet that j is better than i: i a candidate, j queried."""
    ends = {one.arm: one.round for one in game.eliminations}
    return min(ends.get(i, game.n_rounds), int(game.counts[j]))


@pytest.mark.parametrize("pool", [None, 500])
@pytest.mark.parametrize(("zone", "epsilon"), [(0.0, 0.0), (0.05, 0.02)])
@pytest.mark.parametrize("keep", [1.0, 2.0])
@pytest.mark.parametrize("n_rounds", [FOLD - 1, FOLD, 3 * FOLD + 5, 500])
@pytest.mark.parametrize("bets", [Betting(), BETS["waking soon"]], ids=["default", "waking soon"])
def test_the_wealth_of_a_game_is_that_of_the_differences(
    bets: Betting, pool: int | None, zone: float, epsilon: float, keep: float, n_rounds: int
) -> None:
    rng = np.random.default_rng(6)
    rows = np.clip(rng.normal([0.2, 0.45, 0.5, 0.55, 0.56], 0.25, (n_rounds, 5)), 0, 1)
    betting = replace(bets, pool=pool)
    game = PairwiseBAI(0.05, comparison=betting, keep=keep, indifference_zone=zone, epsilon=epsilon).start(5)
    game.play(rows)
    if n_rounds > 3 * FOLD:
        assert game.eliminations  # so that some wealth is frozen
    for near, nu in [(False, -zone)] + [(True, -epsilon)] * (epsilon > 0):
        logs = wealth_logs(game, near)
        for i, j in itertools.permutations(range(5), 2):
            n = bets_made(game, i, j)
            expected = betting.log_wealth(rows[:n, j] - rows[:n, i], nu)
            if math.isfinite(expected):
                assert logs[i, j] == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_folding_keeps_the_wealth_of_thousands_of_lost_rounds() -> None:
    """Bets of nearly all the wealth on heads or tails lose it, whichever arm they are on."""
    rows = (np.random.default_rng(2).random((6000, 3)) < 0.5).astype(np.float64)
    rows[:, 0] = rows[:, 1]
    betting = Betting(bets=(0.95, 0.9), reserve=0.0)
    game = PairwiseBAI(0.05, comparison=betting).start(3)
    game.play(rows)
    assert (game.n_rounds, game.reason) == (6000, None)
    logs = wealth_logs(game)
    assert logs[0, 1] == pytest.approx(0.0, abs=1e-10)
    for i, j in [(0, 2), (2, 0), (1, 2)]:
        assert logs[i, j] == pytest.approx(betting.log_wealth(rows[:, j] - rows[:, i]), rel=1e-10)
        assert logs[i, j] < -1000


def test_margin_and_opponent_of_an_elimination() -> None:
    rows = np.random.default_rng(9).random((400, 3)) * [0.6, 1.0, 1.0]
    game = PairwiseBAI(0.05, comparison=Betting()).start(3)
    game.play(rows)
    out = game.eliminations[0]
    assert out.arm == 0
    wealth = [math.exp(Betting().log_wealth(rows[: out.round, j] - rows[: out.round, 0])) for j in (1, 2)]
    assert out.by == 1 + int(np.argmax(wealth))
    assert out.margin == pytest.approx(math.log(sum(wealth) / (2 / 0.05)), rel=1e-10, abs=1e-10)


# --- under the null the wealth does not grow -------------------------------------------------------------------------

VALUES = (-1.0, -0.5, 0.0, 0.5, 1.0)


def pools(size: int, nu: float) -> Iterator[tuple[float, ...]]:
    """All pools of this size that meet the null."""
    for pool in itertools.combinations_with_replacement(VALUES, size):
        if sum(pool) <= size * nu + 1e-12:
            yield pool


def orders(pool: tuple[float, ...], s: int) -> list[tuple[float, ...]]:
    """The first ``s`` items, in all orders of the pool, as often as they come."""
    return list(itertools.permutations(pool, s))


@pytest.mark.parametrize(
    ("name", "size", "nu"), [*itertools.product(BETS, [3, 4], [0.0, -0.25, 0.2]), ("unequal weights", 5, 0.0)]
)
def test_mean_wealth_over_all_orders_of_a_pool_is_at_most_one(name: str, size: int, nu: float) -> None:
    betting = replace(BETS[name], pool=size)
    for pool in pools(size, nu):
        for s in range(1, size + 1):
            wealth = [math.exp(betting.log_wealth(np.array(order), nu)) for order in orders(pool, s)]
            assert min(wealth) >= 0
            assert np.mean(wealth) <= 1 + 1e-12


def test_a_pool_on_the_edge_of_the_null_keeps_its_mean_wealth() -> None:
    """Where the mean is just nu every step is fair, so the mean is one and not less."""
    betting = replace(Betting(), pool=4)
    for pool in [(-1.0, 0.0, 0.0, 1.0), (-0.5, -0.5, 0.5, 0.5)]:
        wealth = [math.exp(betting.log_wealth(np.array(order))) for order in orders(pool, 4)]
        assert np.mean(wealth) == pytest.approx(1.0, rel=1e-10)


def test_without_the_pool_in_the_bets_the_mean_wealth_would_be_too_large() -> None:
    """Teeth: betting on a pool just above the null does win."""
    betting = replace(Betting(), pool=4)
    wealth = [math.exp(betting.log_wealth(np.array(order))) for order in orders((-0.5, 0.0, 0.5, 0.5), 3)]
    assert np.mean(wealth) > 1.01


def test_wealth_that_is_not_cut_goes_negative() -> None:
    """Why there is a cut: after losses the null mean of what is left of a pool is large."""
    D = np.array([-1.0, -1.0, -1.0])
    y = np.array([one_wealth.null_mean(0.0, 4, t + 1, D[:t].sum()) for t in range(3)])
    uncut = np.cumprod(1 + 0.95 * (D - y))
    assert uncut.min() < 0
    assert math.isfinite(replace(Betting(bets=(0.95,)), pool=4).log_wealth(D))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    data=st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 1)), min_size=1, max_size=5),
    name=st.sampled_from(sorted(BETS)),
    past=st.lists(st.floats(-1, 1), max_size=4),
)
def test_one_round_keeps_the_mean_wealth_where_the_mean_is_the_null_mean(
    data: list[tuple[float, float]], name: str, past: list[float]
) -> None:
    """Also where bets are cut: each is a fixed share of the wealth once the past is known."""
    values, weights = (np.array(column) for column in zip(*data, strict=True))
    shares = weights / weights.sum()
    nu = float(shares @ values)
    before = math.exp(BETS[name].log_wealth(np.array(past), nu))
    after = [math.exp(BETS[name].log_wealth(np.array([*past, value]), nu)) for value in values]
    assert float(shares @ after) == pytest.approx(before, rel=1e-10, abs=1e-12)


# --- the mean from below ---------------------------------------------------------------------------------------------


@every_betting
@pytest.mark.parametrize("pool", [None, 40])
def test_wealth_falls_with_the_mean_it_is_bet_against(name: str, pool: int | None) -> None:
    betting = replace(BETS[name], pool=pool)
    rng = np.random.default_rng(4)
    for n in (1, 5, 40):
        D = np.clip(rng.normal(0.2, 0.5, n), -1, 1)
        logs = np.array([betting.log_wealth(D, nu) for nu in np.linspace(-1, 1, 81)])
        finite = logs[np.isfinite(logs)]
        assert np.all(logs[: logs.size - finite.size] == INF)
        assert np.all(np.diff(finite) < 0)


@every_betting
@pytest.mark.parametrize("pool", [None, 100, 10**6])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-20.0, 30.0)])
@pytest.mark.parametrize("n", [1, 3, 60, 99])
def test_the_lower_bound_is_where_the_wealth_crosses(
    name: str, pool: int | None, bounds: tuple[float, float], n: int
) -> None:
    betting, rng = replace(BETS[name], bounds=bounds, pool=pool), np.random.default_rng(7)
    length = bounds[1] - bounds[0]
    step = 1e-11 * length
    kinds = np.clip(rng.normal(0.3, 0.4, n), -1, 1), rng.integers(-1, 2, n), np.zeros(n), np.ones(n)
    for D in length * np.array(kinds, dtype=np.float64):
        for log_threshold in (0.1, math.log(20.0), 20.0):
            bound = betting.lower_bound(D, log_threshold)
            assert -length <= bound < np.mean(D) or np.mean(D) == -length
            assert betting.log_wealth(D, bound + step) < log_threshold
            if bound > -length:
                assert betting.log_wealth(D, bound - step) >= log_threshold


def test_the_lower_bound_of_nothing_is_the_end_of_the_range() -> None:
    assert Betting(bounds=(0.0, 4.0)).lower_bound(np.array([]), 3.0) == -4.0
    assert Betting().lower_bound(np.array([-1.0] * 50), 3.0) == pytest.approx(-1.0, abs=1e-10)


def test_the_lower_bound_of_a_pool_uses_what_is_left() -> None:
    """After 89 of 100 items with difference 0.5 the mean is at least (44.5 - 11) / 100, whatever the others bring."""
    D = np.full(90, 0.5)
    sure = Betting(pool=100).lower_bound(D, math.log(1e200))
    assert sure == pytest.approx(0.335, abs=1e-9)
    assert Betting(pool=100).lower_bound(D, math.log(20)) > 0.335
    assert Betting().lower_bound(D, math.log(1e200)) < 0.3


# --- settings --------------------------------------------------------------------------------------------------------


def test_settings_are_values() -> None:
    given_lists = Betting(bets=[0.5, 0.25], weights=[3.0, 1.0], bounds=[0, 2])  # type: ignore[arg-type]
    assert given_lists == Betting(bets=(0.5, 0.25), weights=(0.75, 0.25), bounds=(0.0, 2.0))
    assert hash(given_lists) == hash(Betting(bets=(0.5, 0.25), weights=(0.75, 0.25), bounds=(0.0, 2.0)))
    assert given_lists.scale == 0.5


def test_default_weights_are_proportional_to_the_root_of_the_bet() -> None:
    weights = np.array(Betting(bets=(0.64, 0.16)).weights)
    np.testing.assert_allclose(weights, [2 / 3, 1 / 3], rtol=1e-14)
    assert sum(Betting().weights or ()) == pytest.approx(1.0, rel=1e-14)


REFUSED: list[tuple[str, Any, Any]] = [  # parameter, what is given, and the value that the error names
    *(("bets", (0.5, bet), bet) for bet in (1.0, 0.0, -0.5, NAN)),
    *(("weights", (1.0, weight), weight) for weight in (0.0, -1.0, NAN)),
    *((name, given, given) for name, given in [("bets", ()), ("weights", (1.0,)), ("bounds", (0.0, 1.0, 2.0))]),
    *(("bounds", bounds, bounds) for bounds in [(1.0, 0.0), (1.0, 1.0), (0.0, INF), (NAN, 1.0)]),
    *(("pool", pool, pool) for pool in (1, 0, 2.5, True)),
    *(("reserve", share, share) for share in (-0.1, 1.0, NAN, True, "0.1")),
]


@pytest.mark.parametrize(("parameter", "given", "value"), REFUSED, ids=str)
@pytest.mark.parametrize("kind", [Betting, Portfolio, Wins])
def test_settings_that_are_refused(kind: Any, parameter: str, given: Any, value: Any, refused: Any) -> None:
    with refused(parameter, value):
        kind(**{"bets": (0.5, 0.2), parameter: given})


# --- the level, on null paths ----------------------------------------------------------------------------------------

N_PATHS, N_ROUNDS = 3000, 600


def null_paths(law: str, rng: np.random.Generator) -> tuple[Array, int | None]:
    """Paths of differences of mean 0, and the pool they are drawn from."""
    shape = (N_PATHS, N_ROUNDS)
    if law == "Bernoulli":
        return (rng.random(shape) < 0.3).astype(float) - (rng.random(shape) < 0.3), None
    if law == "rare large losses":
        return np.where(rng.random(shape) < 0.04, -0.96, 0.04), None
    if law == "rare large wins":
        return np.where(rng.random(shape) < 0.04, 0.96, -0.04), None
    values = np.concatenate([np.full(N_ROUNDS // 4, -0.75), np.full(3 * N_ROUNDS // 4, 0.25)])
    return rng.permuted(np.tile(values, (N_PATHS, 1)), axis=1), N_ROUNDS


LAWS = ["Bernoulli", "rare large losses", "rare large wins", "skewed pool"]


def level_p_value(law: str, alpha: float, threshold: float, without_pool: bool = False) -> float:
    """Of "at most a share alpha of the null paths ever reaches the threshold"."""
    D, pool = null_paths(law, np.random.default_rng(LAWS.index(law)))
    betting = Betting()
    bets = one_wealth.bets_of(betting, len(D.T))
    wealth = one_wealth.pair_path(D.T, bets, 0.0, None if without_pool else pool)
    crossed = np.any(wealth >= threshold, axis=0)
    return binomial_p_value(int(crossed.sum()), N_PATHS, alpha)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("alpha", [0.1, 0.05])
def test_null_paths_cross_at_most_as_often_as_they_may(law: str, alpha: float) -> None:
    assert level_p_value(law, alpha, 1 / alpha) >= 1e-3


@pytest.mark.parametrize("law", LAWS)
def test_a_threshold_that_is_too_low_is_found_out(law: str) -> None:
    assert level_p_value(law, 0.1, 0.25 / 0.1) < 1e-3


def test_games_of_equal_arms_lose_the_first_in_at_most_a_share_delta() -> None:
    """The average over opponents, as the game has it."""
    rng = np.random.default_rng(15)
    scores = np.column_stack([rng.permutation(np.repeat([0.0, 1.0], [60, 40])) for _ in range(5)])
    for seed, comparison, arms in [
        (0, Betting(), TableArms(scores)),
        (1, Betting(pool=100), PoolArms(scores)),
    ]:
        algorithm = PairwiseBAI(0.1, comparison=comparison, max_rounds=100)
        sim = bestarm.simulate(algorithm, arms, repetitions=600, seed=seed, progress=False)
        assert binomial_p_value(int((~sim.candidates[:, 0]).sum()), 600, 0.1) >= 1e-3
