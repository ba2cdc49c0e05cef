"""Portfolios of bets: as the slow reference plays them, never gaining under the null, never much worse than pairs."""

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bestarm
from bestarm.algorithms import ConvexBAI, EliminationGame, Game, PairwiseBAI
from bestarm.arms import TableArms
from bestarm.comparisons import Betting, Portfolio
from games import feed, intervals_of, outcome, regret_of
from naive import Matrix
from one_wealth import Portfolios
from slow_games import wealth_game
from statistics_helpers import binomial_p_value, contradicts

RNG = np.random.Generator
Vector = NDArray[np.float64]
INF, NAN = float("inf"), float("nan")


def evidence(game: Game) -> Any:
    return game._evidence  # type: ignore[attr-defined]


def portfolio_bets(game: Game) -> Matrix:
    """Entry (i, j): the share that is bet on j against i in the next round."""
    bets: Matrix = evidence(game).portfolio.bets
    return bets.copy()


def portfolio_wealth(game: Game) -> Vector:
    wealth: Vector = np.exp(evidence(game).portfolio.log_wealth)
    return wealth


def whole_wealth(game: Game) -> Vector:
    """Against each arm, half in the portfolio, half in pairs; one at the start."""
    pairs = evidence(game).pairs.better.total[:, : game.n_arms].sum(axis=1) / (game.n_arms - 1)
    mixed: Vector = (portfolio_wealth(game) + pairs) / 2
    return mixed


# --- random games ----------------------------------------------------------------------------------------------------


def plain(rng: RNG, n: int, K: int) -> Matrix:
    level = rng.uniform(0.3, 0.7) + rng.uniform(0, 0.3) * rng.uniform(-1, 1, K)
    noise = rng.uniform(0, 0.3) * rng.uniform(-1, 1, (n, 1)) + rng.uniform(0.05, 0.3) * rng.uniform(-1, 1, (n, K))
    return np.clip(level + noise, 0, 1)


def zeros_and_ones(rng: RNG, n: int, K: int) -> Matrix:
    return (plain(rng, n, K) > rng.random((n, 1))).astype(np.float64)


def an_average_less_a_gap(rng: RNG, n: int, K: int, gap: float | None = None) -> Matrix:
    """Arm 0 is close to an average of the others, and worse."""
    X = rng.uniform(0.1, 1, (n, K))
    lost = rng.uniform(0.02, 0.1) if gap is None else gap
    X[:, 0] = np.clip(X[:, 1:] @ rng.dirichlet(5 * np.ones(K - 1)) - lost + rng.uniform(-0.02, 0.02, n), 0, 1)
    return X


def equal_arms(rng: RNG, n: int, K: int) -> Matrix:
    return an_average_less_a_gap(rng, n, K)[:, rng.integers(K, size=K)]


def turning(rng: RNG, n: int, K: int) -> Matrix:
    X, middle = plain(rng, n, K), int(rng.integers(1, n))
    return np.concatenate([X[:middle], X[middle:][:, rng.permutation(K)]])


MAKERS: list[Callable[[RNG, int, int], Matrix]] = [
    plain,
    zeros_and_ones,
    an_average_less_a_gap,
    an_average_less_a_gap,
    equal_arms,
    turning,
]


def options(rng: RNG, K: int, scale: float) -> dict[str, Any]:
    return {
        "keep": float(rng.choice([1.0, 2.0, 98.0])),
        "epsilon": scale * float(rng.choice([0.0, 0.0, 0.05, 0.2])),
        "max_rounds": int(rng.integers(1, 100)) if rng.random() < 0.1 else None,
        "max_queries": int(rng.integers(K, 100 * K)) if rng.random() < 0.1 else None,
    }


def renewals(n_rounds: int) -> set[int]:
    """The rounds after which the bets are chosen anew."""
    t, out = 8, set[int]()
    while t <= n_rounds:
        out.add(t)
        t += max(1, int(0.1 * t))
    return out


def test_random_games_are_played_as_the_reference_plays_them() -> None:
    rng, seen = np.random.default_rng(0), Counter[str]()
    while seen["games"] < 300:
        n, K = int(rng.integers(5, 200)), int(rng.integers(2, 6))
        low, length = [(0.0, 1.0), (0.0, 1.0), (-1.0, 4.0), (0.25, 0.5)][rng.integers(4)]
        rows = low + length * MAKERS[rng.integers(len(MAKERS))](rng, n, K)
        portfolio = Portfolio(bounds=(low, low + length), pool=n if rng.random() < 0.4 else None)
        delta, given = float(rng.choice([0.9, 0.3, 0.1, 0.01])), options(rng, K, length)
        slow = wealth_game(portfolio, rows, delta, **given)
        slow.play()
        assert slow.closest > 1e-9  # beyond what rounding can decide
        assert not slow.by_rounding
        assert slow.totals(Portfolios).min() > 0
        game = ConvexBAI(delta, comparison=portfolio, **given).start(K)
        feed(rng, game, rows)
        assert outcome(game) == slow.outcome
        out = [one for one in game.eliminations if one.arm in slow.at_exit]
        margins = [np.log(sum(slow.at_exit[one.arm]) * delta) for one in out]
        assert [one.margin for one in out] == pytest.approx(margins, abs=1e-9)
        by_portfolio = sum(slow.at_exit[one.arm][1] < 1 / delta for one in out)
        assert all(one.weights is None for one in game.eliminations)
        seen.update(games=1, eliminations=len(out), by_portfolio=by_portfolio, pool=portfolio.pool is not None)
        seen.update([str(slow.reason)])
    reasons = ["decided", "within epsilon", "all items used", "budget", "None"]
    assert min(seen["eliminations"], seen["by_portfolio"], seen["pool"]) >= 100
    assert {reason: seen[reason] for reason in reasons if seen[reason] < 10} == {}


@pytest.mark.parametrize("pool", [None, 100])
def test_what_was_bet_on_an_arm_that_is_withdrawn_is_not_bet(pool: int | None) -> None:
    portfolio, rows = Portfolio(pool=pool), np.random.default_rng(0).uniform([0.2, 0.4, 0.3], 0.9, (40, 3))
    game, slow = ConvexBAI(1e-9, comparison=portfolio).start(3), wealth_game(portfolio, rows, 1e-9)
    assert isinstance(game, EliminationGame)
    for row in rows:
        if slow.t == 30:
            assert portfolio_bets(game)[0, 1] > 0.1
            game.withdraw(1)
            slow.withdraw(1)
        slow.next_round()
        game.tell(row[game.ask()])
        np.testing.assert_allclose(portfolio_wealth(game), slow.totals(Portfolios), rtol=1e-9)
    assert game.candidates == (0, 1, 2)


@pytest.mark.parametrize("K", [2, 5, 30])
def test_the_bets_are_the_growth_optimal_ones_of_the_last_renewal(K: int) -> None:
    rng, n = np.random.default_rng(K), 120
    rows = 2 * an_average_less_a_gap(rng, n, K) - 1
    game = ConvexBAI(1e-12, comparison=Portfolio(bounds=(-1.0, 1.0))).start(K)
    for t in range(1, n + 1):
        before = portfolio_bets(game)
        game.tell(rows[t - 1, game.ask()])
        bets = portfolio_bets(game)
        assert len(game.candidates) == K
        if t not in renewals(n):
            assert np.array_equal(bets, before)
            continue
        for i in range(K):
            D = (np.delete(rows[:t], i, axis=1) - rows[:t, [i]]) / 2
            np.testing.assert_allclose(np.delete(bets[i], i), Portfolios.fastest(D), atol=1e-10)
            assert bets[i, i] == 0
    assert K == 2 or np.count_nonzero(portfolio_bets(game)) > K
    assert portfolio_bets(game).sum(axis=1).max() > 0.5


@pytest.mark.parametrize("pool", [None, 200])
def test_wealth_is_never_negative_whatever_the_rewards(pool: int | None) -> None:
    """After some rounds with steady leads, all is won by the arm against which most is bet."""
    worst, rng = INF, np.random.default_rng(1)
    for _ in range(20):
        K = int(rng.integers(2, 6))
        game = ConvexBAI(1e-12, comparison=Portfolio(pool=pool)).start(K)
        game.play(np.linspace(0.4, 0.6, K) + rng.uniform(-0.05, 0.05, (int(rng.integers(8, 80)), K)))
        for _ in range(60):
            most = np.argmax(portfolio_bets(game).sum(axis=1))
            game.tell((game.ask() == most).astype(np.float64))
            assert np.all(portfolio_wealth(game) > 0.0)
            assert np.all(np.isfinite(portfolio_wealth(game)))
            worst = min(worst, float(portfolio_wealth(game).min()))
    assert worst < 1e-6


# --- the past alone chooses the bets ---------------------------------------------------------------------------------


def after(rows: Matrix, algorithm: ConvexBAI) -> Game:
    game = algorithm.start(rows.shape[1])
    game.play(rows)
    return game


def law_with_equal_means(rng: RNG, K: int) -> tuple[Matrix, Vector]:
    """All arrangements of a few rewards, equally likely; then some arms are made worse in some of them."""
    values = rng.choice([0.0, 0.25, 0.5, 1.0], K)
    rows = np.array(list(itertools.permutations(values)))
    rows[:, 1:] *= rng.choice([1.0, 1.0, 0.9], (len(rows), K - 1))
    return rows, np.full(len(rows), 1 / len(rows))


@pytest.mark.parametrize("K", [2, 3])
def test_against_the_best_arm_a_round_gains_nothing_on_average(K: int) -> None:
    rng, bet, algorithm = np.random.default_rng(2), 0, ConvexBAI(1e-9)
    for _ in range(40):
        past = plain(rng, int(rng.integers(8, 60)), K)
        past[:, 0] *= rng.uniform(0.3, 1)  # the bets are against arm 0, which is the best from now on
        before = after(past, algorithm)
        rows, chances = law_with_equal_means(rng, K)
        assert np.all(chances @ rows <= (chances @ rows)[0] + 1e-12)
        games = [after(np.concatenate([past, row[None]]), algorithm) for row in rows]
        for wealth in (portfolio_wealth, whole_wealth):
            mean = sum(chance * wealth(game)[0] for chance, game in zip(chances, games, strict=True))
            assert mean <= wealth(before)[0] * (1 + 1e-12)
        bet += portfolio_bets(before)[0].sum() > 0.1
    assert bet >= 20


@pytest.mark.parametrize("K", [2, 3])
def test_against_the_best_arm_of_a_pool_what_is_left_of_it_gains_nothing_on_average(K: int) -> None:
    """All orders of the last items, with bets that stand: the first eight items are seen, and bad for the best arm."""
    rng, bet, grew, pool = np.random.default_rng(3), 0, 0, 12
    algorithm = ConvexBAI(1e-9, comparison=Portfolio(pool=pool))
    for _ in range(15):
        items = rng.choice([0.0, 0.25, 0.5, 1.0], (pool, K))
        items[:, 0] += np.maximum(0.0, (items.mean(axis=0) - items[:, 0].mean()).max() - rng.choice([0.0, -0.01]))
        items = items / items.max()
        items = items[np.argsort(items[:, 0] - items[:, 1:].mean(axis=1))]
        before = after(items[:8], algorithm)
        if before.finished:
            continue
        games = [after(items[[*range(8), *order]], algorithm) for order in itertools.permutations(range(8, pool))]
        for wealth in (portfolio_wealth, whole_wealth):
            assert np.mean([wealth(game)[0] for game in games]) <= wealth(before)[0] * (1 + 1e-12)
        assert all(0 in game.candidates for game in games)
        bet += portfolio_bets(before)[0].sum() > 0.1
        grew += any(portfolio_wealth(game)[0] > 1.05 * portfolio_wealth(before)[0] for game in games)
    assert bet >= 8
    assert grew >= 3


# --- the promise -----------------------------------------------------------------------------------------------------

GAMES, DELTA, EPSILON = 400, 0.2, 0.1


def equal_means(rng: RNG, n: int) -> Matrix:
    return (rng.random((n, 3)) < 0.5).astype(np.float64)


def a_small_lead(rng: RNG, n: int) -> Matrix:
    return (rng.random((n, 3)) < [0.51, 0.5, 0.5]).astype(np.float64)


def an_average_with_a_small_lead(rng: RNG, n: int) -> Matrix:
    """Without noise of its own the best arm would be told at once; with a little it is a near tie with an average."""
    X = rng.choice([0.2, 0.8], (n, 3))
    X[:, 0] = X[:, 1:].mean(axis=1) + 0.001 + rng.uniform(-0.1, 0.1, n)
    return X


def within_epsilon(rng: RNG, n: int) -> Matrix:
    return (rng.random((n, 3)) < [0.5, 0.5 - 1.01 * EPSILON, 0.5 - 1.01 * EPSILON]).astype(np.float64)


def shuffled_pool(rng: RNG, n: int) -> Matrix:
    """The means of the pool lie together closely."""
    items = np.random.default_rng(n).choice([0.0, 1.0], (n, 3))
    items[:, 0] += (items.mean(axis=0).max() - items[:, 0].mean() + 0.001) * np.linspace(0, 2, n)
    return rng.permutation(items / items.max())


CELLS: dict[str, tuple[Callable[[RNG, int], Matrix], int, dict[str, Any]]] = {
    "equal means": (equal_means, 1000, {}),
    "a small lead": (a_small_lead, 1000, {"keep": 2.0}),
    "an average with a small lead": (an_average_with_a_small_lead, 1000, {}),
    "a pool": (shuffled_pool, 100, {"comparison": Portfolio(pool=100)}),
    "epsilon": (within_epsilon, 3000, {"epsilon": EPSILON}),
}


def errors(cell: str, games: int = GAMES, delta: float = DELTA) -> int:
    """Games in which arm 0 is out or, if the game ended within epsilon, not the answer."""
    maker, n, settings = CELLS[cell]
    rng, wrong = np.random.default_rng(list(CELLS).index(cell)), 0
    for _ in range(games):
        game = after(maker(rng, n), ConvexBAI(delta, **settings))
        wrong += game.best != 0 if game.reason == "within epsilon" else 0 not in game.candidates
    return wrong


@pytest.mark.parametrize("cell", CELLS)
def test_the_best_arm_stays(cell: str) -> None:
    assert not contradicts(errors(cell), GAMES, DELTA, len(CELLS))


def test_a_level_that_is_not_kept_is_found_out() -> None:
    """Teeth: games at a much larger delta err too often for a small one."""
    assert binomial_p_value(errors("equal means", delta=0.999), GAMES, DELTA) < 1e-6


def test_with_epsilon_equal_arms_end() -> None:
    rng, reasons = np.random.default_rng(4), Counter[str | None]()
    for _ in range(20):
        reasons[after(equal_means(rng, 5000), ConvexBAI(0.05, epsilon=0.15)).reason] += 1
    assert reasons["within epsilon"] >= 15
    assert reasons[None] == 0


# --- beside the bets on single differences ---------------------------------------------------------------------------


def first_eliminations(game: Game) -> tuple[float, set[int]]:
    if not game.eliminations:
        return INF, set()
    first = game.eliminations[0].round
    return first, {one.arm for one in game.eliminations if one.round == first}


def noise_first(rng: RNG, n: int, K: int) -> Matrix:
    """The portfolio loses much of its wealth before there is anything to learn."""
    X, noisy = plain(rng, n, K), int(rng.integers(20, 150))
    X[:noisy] = rng.choice([0.0, 1.0], (noisy, K))
    return X


@pytest.mark.parametrize("pool", [None, 400])
def test_what_pairs_show_at_half_delta_is_shown(pool: int | None) -> None:
    """At most log 2 of the evidence is lost: until the first elimination, arm by arm."""
    rng, seen = np.random.default_rng(5), Counter[str]()
    for _ in range(300):
        maker = noise_first if rng.random() < 0.5 else MAKERS[rng.integers(len(MAKERS))]
        rows = maker(rng, 400, int(rng.integers(2, 7)))
        K, delta = rows.shape[1], float(rng.choice([0.5, 0.05]))
        pairs = PairwiseBAI(delta / 2, comparison=Betting(pool=pool)).start(K)
        mixed = after(rows, ConvexBAI(delta, comparison=Portfolio(pool=pool)))
        pairs.play(rows)
        (t_pairs, by_pairs), (t_mixed, by_mixed) = first_eliminations(pairs), first_eliminations(mixed)
        assert t_mixed <= t_pairs
        assert t_mixed < t_pairs or by_pairs <= by_mixed
        seen.update(earlier=t_mixed < t_pairs, close=t_pairs - 2 <= t_mixed < INF)
    assert min(seen["earlier"], seen["close"]) >= 10


def test_an_arm_that_follows_an_average_is_out_far_sooner_than_by_pairs() -> None:
    rng, rounds = np.random.default_rng(6), Counter[str]()
    for _ in range(5):
        rows = an_average_less_a_gap(rng, 20_000, 5, gap=0.01)
        pairs, mixed = PairwiseBAI(0.05, comparison=Betting()).start(5), after(rows, ConvexBAI(0.05))
        pairs.play(rows)
        for name, game in [("pairs", pairs), ("mixed", mixed)]:
            rounds[name] += next(one.round for one in game.eliminations if one.arm == 0)
    assert 2 * rounds["mixed"] <= rounds["pairs"]


# --- what can be said about differences ------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", [None, 3000])
def test_the_regret_bound_reaches_epsilon_when_the_game_ends_within_it(pool: int | None) -> None:
    rng, reasons = np.random.default_rng(7), Counter[str | None]()
    for _ in range(10):
        rows = np.clip(rng.normal([0.5, 0.5, 0.3], 0.1, (3000, 3)), 0, 1)
        game = ConvexBAI(0.1, comparison=Portfolio(pool=pool), epsilon=0.05).start(3)
        bounds = []
        while not game.finished:
            game.play(rows[game.n_rounds : game.n_rounds + 1])
            if game.n_rounds % 25 == 0 and not game.finished:
                bounds.append(regret_of(game))
        assert all(bound >= 0.05 - 1e-9 for bound in bounds)
        assert game.reason != "within epsilon" or regret_of(game) <= 0.05 + 1e-9
        reasons[game.reason] += 1
    assert reasons["within epsilon"] >= 5


def test_the_regret_bound_is_that_of_the_pairs_at_half_delta() -> None:
    """The portfolio says nothing about single differences; the bets on these have half of the wealth."""
    rows = np.random.default_rng(8).random((300, 3))
    mixed, pairs = after(rows, ConvexBAI(0.1)), PairwiseBAI(0.05, comparison=Betting()).start(3)
    pairs.play(rows)
    assert mixed.candidates == pairs.candidates == (0, 1, 2)
    assert regret_of(mixed) == pytest.approx(regret_of(pairs), abs=1e-10)
    np.testing.assert_allclose(intervals_of(mixed).low, intervals_of(pairs).low, atol=1e-10)


# --- settings --------------------------------------------------------------------------------------------------------


def test_it_is_the_default_and_brought_into_shape() -> None:
    portfolio = Portfolio(bets=[0.5, 0.1], weights=[3, 1], bounds=(0, 2))
    assert (portfolio.bets, portfolio.weights, portfolio.bounds) == ((0.5, 0.1), (0.75, 0.25), (0.0, 2.0))
    assert portfolio.pairs == Betting(bets=(0.5, 0.1), weights=(0.75, 0.25), bounds=(0.0, 2.0))
    assert ConvexBAI() == ConvexBAI(0.05, comparison=Portfolio())
    assert hash(portfolio) == hash(Portfolio(bets=(0.5, 0.1), weights=(3.0, 1.0), bounds=(0.0, 2.0)))


def test_it_can_be_simulated() -> None:
    arms = TableArms(an_average_less_a_gap(np.random.default_rng(9), 500, 4, gap=0.3))
    sim = bestarm.simulate(ConvexBAI(0.1, epsilon=0.3), arms, repetitions=20, seed=0, progress=False)
    assert sim.answered.all()
    assert np.all(arms.means[sim.winners] > arms.means.max() - 0.3)
