"""Bets that sleep: their weights, their rounds, no gain under the null across a waking, and tiny leads found."""

import math
from dataclasses import replace

import numpy as np
import pytest

import one_wealth
from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.comparisons import Betting, Portfolio
from bestarm.comparisons.wealth import RESERVE, asleep, delayed_bet, mixture
from games import outcome

SLOW = Betting(bets=(0.3,), reserve=0.5)  # in rounds 12 and 45; small enough for averages over paths
SOON = Betting(bets=(0.9, 0.5), reserve=0.5)  # bets wake in rounds 4, 16, 64, ...


def test_weights_sum_to_one_however_many_have_woken() -> None:
    for n_rounds in (0, 3, 4, 10**6):
        bets = mixture(np.array([0.9, 0.5]), np.array([0.25, 0.75]), 0.3, n_rounds)
        assert bets.weights.sum() == pytest.approx(1.0, rel=1e-14)
        np.testing.assert_allclose(bets.weights[:2], [0.175, 0.525], rtol=1e-14)
    assert [delayed_bet(0.5, 0.3, m).round for m in (1, 2, 3)] == [4, 16, 64]
    assert [delayed_bet(0.5, 0.3, m).bet for m in (1, 2, 3)] == [0.25, 0.125, 0.0625]
    assert sum(delayed_bet(0.5, 0.3, m).weight for m in range(1, 6)) + asleep(0.3, 5) == pytest.approx(0.3, rel=1e-14)
    assert delayed_bet(1e-300, 0.3, 50).round == np.iinfo(np.int64).max


def test_a_bet_wakes_in_its_round_and_not_before() -> None:
    awake, still = Betting(bets=(0.9, 0.5), reserve=0.5), Betting(bets=(0.9, 0.5), reserve=0.0)
    D = np.array([0.5, -0.25, 1.0, 0.75])
    for n in (1, 2, 3):
        half = 0.5 * math.exp(still.log_wealth(D[:n]))
        assert math.exp(awake.log_wealth(D[:n])) == pytest.approx(half + 0.5, rel=1e-12)
    half = 0.5 * math.exp(still.log_wealth(D))
    assert math.exp(awake.log_wealth(D)) == pytest.approx(half + 0.25 * (1 + 0.25 * 0.75) + 0.25, rel=1e-12)


def test_without_a_reserve_nothing_wakes() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (3000, 3)).astype(np.float64)
    game = PairwiseBAI(1e-9, comparison=replace(SOON, reserve=0.0)).start(3)
    game.play(rows)
    assert game.evidence.pairs.better.bets.tolist() == [0.9, 0.5]  # type: ignore[attr-defined]
    assert not game.evidence.pairs.better.asleep.any()  # type: ignore[attr-defined]


@pytest.mark.parametrize("algorithm", [PairwiseBAI(1e-6, comparison=SOON, epsilon=0.2), ConvexBAI(1e-6)])
def test_the_blocks_of_rows_do_not_matter(algorithm: PairwiseBAI | ConvexBAI) -> None:
    comparison = replace(algorithm.comparison, bets=(0.9, 0.5), weights=None, reserve=0.5)  # type: ignore[type-var]
    algorithm = replace(algorithm, comparison=comparison)
    rows = np.random.default_rng(3).beta([1.0, 1.1, 1.2], 1.0, (300, 3))
    whole, single = algorithm.start(3), algorithm.start(3)
    whole.play(rows)
    for row in rows[: whole.n_rounds]:
        single.play(row[None, :])
    assert outcome(whole) == outcome(single)
    one, other = (game.evidence.pairs.better for game in (whole, single))  # type: ignore[attr-defined]
    assert one.bets.size > 4
    np.testing.assert_array_equal(one.total, other.total)


@pytest.mark.parametrize("law", ["coins", "rare wins", "pool"])
@pytest.mark.parametrize("n", [11, 12, 30, 50])
def test_under_the_null_the_mean_wealth_is_one_across_wakings(law: str, n: int) -> None:
    rng, n_paths = np.random.default_rng(8), 20_000
    if law == "coins":
        D = rng.choice([-1.0, 1.0], (70, n_paths))
    elif law == "rare wins":
        D = np.where(rng.random((70, n_paths)) < 0.1, 0.9, -0.1)
    else:
        D = rng.permuted(np.tile(np.repeat([-1.0, 1.0], 35)[:, None], (1, n_paths)), axis=0)
    paths = one_wealth.pair_path(D, one_wealth.bets_of(SLOW, 70), 0.0, 70 if law == "pool" else None)[n - 1]
    some = replace(SLOW, pool=70 if law == "pool" else None)
    for k in range(20):  # the reference is the rule itself
        assert math.log(paths[k]) == pytest.approx(some.log_wealth(D[:n, k]), rel=1e-10, abs=1e-10)
    error = paths.std(ddof=1) / math.sqrt(n_paths)
    assert abs(paths.mean() - 1.0) < 4 * error


def test_a_small_lead_would_be_found_out() -> None:
    """Teeth: the mean wealth is then above one by many standard errors."""
    D = np.where(np.random.default_rng(8).random((50, 20_000)) < 0.52, 1.0, -1.0)
    paths = one_wealth.pair_path(D, one_wealth.bets_of(SLOW, 50))[-1]
    assert paths.mean() - 1.0 > 4 * paths.std(ddof=1) / math.sqrt(20_000)


def test_a_tiny_lead_is_found_with_a_reserve_and_never_without() -> None:
    """Two coins, one heads when the other is tails: a lead of 0.05, a fifth of the smallest bet."""
    heads = np.random.default_rng(1).random(60_000) < 0.525
    rows = np.column_stack([heads, ~heads]).astype(np.float64)
    found, lost = (
        PairwiseBAI(0.05, comparison=Betting(bets=(0.9, 0.25), reserve=share)).start(2) for share in (0.1, 0)
    )
    found.play(rows)
    lost.play(rows)
    assert (found.reason, found.best) == ("decided", 0)
    assert lost.reason is None
    assert lost.evidence.pairs.better.total.max() < 1e-100  # type: ignore[attr-defined]


def test_portfolios_pass_the_reserve_on() -> None:
    assert Portfolio().reserve == Portfolio().pairs.reserve == RESERVE
    assert Portfolio(reserve=0.25).pairs == Betting(reserve=0.25)


@pytest.mark.parametrize("reserve", [-0.1, 1.0, math.nan, True, "0.1"])
@pytest.mark.parametrize("kind", [Betting, Portfolio])
def test_a_reserve_that_is_no_share_is_refused(kind: type[Betting] | type[Portfolio], reserve: float) -> None:
    with pytest.raises(ValueError, match=r"^reserve must be a number from 0 to below 1, got"):
        kind(reserve=reserve)
