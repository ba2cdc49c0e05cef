"""Every betting rule follows from the one wealth: random games, in which arms also fail and are withdrawn."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import bestarm
import one_wealth
from bestarm.algorithms import Algorithm, ConvexBAI, EliminationGame, PairwiseBAI
from bestarm.comparisons import Betting, LeaderBetting, Portfolio, SymmetricBetting, Wins, wealth
from bestarm.comparisons.wealth import MANY_ROWS, RESERVE, WealthEvidence, mixture
from bestarm.kernels.state import FOREVER
from bestarm.record.store import check_cost
from games import outcome, tell_both
from naive import Matrix
from slow_games import Rule, WealthGame, wealth_game

RNG = np.random.Generator
N_GAMES, N_ROUNDS = 25, 120

RULES: dict[str, list[Rule]] = {
    "Betting": [Betting(), Betting((-1.0, 3.0), bets=(0.9, 0.5), reserve=0.5)],
    "Betting, pool": [Betting(pool=N_ROUNDS), Betting((-1.0, 3.0), pool=60)],
    "Wins": [Wins(), Wins(bets=(0.9, 0.5), reserve=0.5)],
    "Wins, pool": [Wins(pool=N_ROUNDS + 1), Wins(pool=61)],
    "LeaderBetting": [LeaderBetting(), LeaderBetting((-1.0, 3.0), pairs=0), LeaderBetting(pairs=0.5)],
    "LeaderBetting, pool": [LeaderBetting(pool=N_ROUNDS), LeaderBetting(pairs=0, pool=60)],
    "SymmetricBetting": [SymmetricBetting(), SymmetricBetting(student=0), SymmetricBetting(student=0.3, min_rounds=2)],
    "Portfolio": [Portfolio(), Portfolio((-1.0, 3.0), pool=60)],
}


def some_rows(rng: RNG, n_arms: int) -> Matrix:
    """Scores in [0, 1] of any number of values: shared noise, one arm nearly a copy of another, or a turn midway."""
    level = 0.6 - rng.choice([0.001, 0.1, 0.4]) * rng.random(n_arms)
    noise = rng.uniform(0.02, 0.2) * rng.standard_normal((N_ROUNDS + 1, n_arms))
    rows: Matrix = np.clip(level + noise + rng.uniform(0, 0.2) * rng.standard_normal((N_ROUNDS + 1, 1)), 0.0, 1.0)
    kind = rng.integers(3)
    if kind == 1:
        rows[:, 1] = np.clip(rows[:, 0] - 0.03 + 0.01 * rng.standard_normal(len(rows)), 0.0, 1.0)
    elif kind == 2:
        middle = int(rng.integers(5, 60))
        rows[middle:] = rows[middle:, rng.permutation(n_arms)]
    return rows


def any_rows(rng: RNG, n_arms: int) -> Matrix:
    """Scores without bounds, of heavy tails, or whose differences take five values."""
    shape = (N_ROUNDS, n_arms)
    noises: list[Any] = [rng.standard_cauchy(shape), rng.standard_normal(shape), rng.integers(-1, 2, shape)]
    rows: Matrix = rng.permutation(np.linspace(0.0, 1.5, n_arms)) + noises[rng.integers(3)]
    return rows


def both_games(rng: RNG, rule: Rule) -> tuple[EliminationGame, WealthGame]:
    """A game of the library and its slow version, at the beginning."""
    n_arms, delta = int(rng.integers(3, 8)), float(rng.choice([0.3, 0.1, 0.02]))
    low, high = rule.bounds or (0.0, 1.0)
    goal: dict[str, Any] = {"keep": float(rng.choice([1.0, 1.0, 2.5]))}
    if not isinstance(rule, SymmetricBetting) or rule.student > 0:
        goal["epsilon"] = (high - low) * float(rng.choice([0.0, 0.0, 0.02, 0.1]))
    zone = 0.0 if isinstance(rule, Portfolio) else (high - low) * float(rng.choice([0.0, 0.0, 0.03, 0.15]))
    unbounded = isinstance(rule, SymmetricBetting) and rng.random() < 0.6
    rows = any_rows(rng, n_arms) if unbounded else low + (high - low) * some_rows(rng, n_arms)
    slow = wealth_game(rule, rows, delta, zone=zone, **goal)
    if isinstance(rule, Portfolio):
        game = ConvexBAI(delta, comparison=rule, **goal).start(n_arms)
    else:
        game = PairwiseBAI(delta, comparison=rule, indifference_zone=zone, **goal).start(n_arms)
    assert isinstance(game, EliminationGame)
    return game, slow


def compared(rng: RNG, name: str, n_games: int) -> Counter[str]:
    """Play games by a rule both ways, all of which must be the same; what has happened in them."""
    seen = Counter[str]()
    while seen["games"] < n_games:
        game, slow = both_games(rng, RULES[name][rng.integers(len(RULES[name]))])
        failed, withdrawn = tell_both(rng, game, slow, fails=name != "Portfolio")
        if slow.by_rounding:
            seen["by rounding"] += 1
            continue
        assert outcome(game) == slow.outcome, (slow.goal, slow.strategies, slow.rows)
        if name == "SymmetricBetting":
            queried, wealth = slow.playing(slow.t), game._evidence.rivals.total  # type: ignore[attr-defined]
            np.testing.assert_allclose(wealth[queried], slow.totals(one_wealth.Rivals)[queried], rtol=1e-9)
        seen.update(games=1, failed=failed, withdrawn=withdrawn, out=len(slow.eliminations), **{str(slow.reason): 1})
        seen.update(zone=slow.goal.zone > 0, epsilon=slow.goal.epsilon > 0, kept=slow.goal.keep > 1)
    return seen


@pytest.mark.parametrize("name", RULES)
def test_games_with_failures_and_withdrawals_are_those_of_the_definition(name: str) -> None:
    seen = compared(np.random.default_rng(list(RULES).index(name)), name, N_GAMES)
    assert seen["by rounding"] <= 1
    happened = ["out", "withdrawn", "decided", "epsilon", "kept"]
    happened += [] if name == "Portfolio" else ["failed", "zone"]
    assert {what: seen[what] for what in happened if seen[what] < 2} == {}


# --- bets that sleep -------------------------------------------------------------------------------------------------

SLOW = Betting(bets=(0.3,), reserve=0.5)  # in rounds 12 and 45; small enough for averages over paths
SOON = Betting(bets=(0.9, 0.5), reserve=0.5)  # bets wake in rounds 4, 16, 64, ...


def test_weights_sum_to_one_however_many_have_woken() -> None:
    for n_rounds in (0, 3, 4, 10**6):
        bets = mixture(np.array([0.9, 0.5]), np.array([0.25, 0.75]), 0.3, n_rounds)
        assert bets.weights.sum() == pytest.approx(1.0, rel=1e-14)
        np.testing.assert_allclose(bets.weights[:2], [0.175, 0.525], rtol=1e-14)
    halved = mixture(np.array([0.5]), np.ones(1), 0.4, 100)
    assert halved.first_rounds.tolist() == [1, 4, 16, 64, FOREVER]
    assert halved.bets.tolist() == [0.5, 0.25, 0.125, 0.0625, 0.0]
    assert halved.weights.tolist() == [0.6, 0.2, 0.1, 0.05, 0.05]
    assert mixture(np.array([1e-300]), np.ones(1), 0.3, FOREVER - 1).first_rounds.tolist() == [1, FOREVER]


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
    assert game._evidence.pairs.better.bets.tolist() == [0.9, 0.5]  # type: ignore[attr-defined]
    assert not game._evidence.pairs.better.asleep.any()  # type: ignore[attr-defined]


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
    one, other = (game._evidence.pairs.better for game in (whole, single))  # type: ignore[attr-defined]
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
    assert lost._evidence.pairs.better.total.max() < 1e-100  # type: ignore[attr-defined]


def test_portfolios_pass_the_reserve_on() -> None:
    assert Portfolio().reserve == Portfolio().pairs.reserve == RESERVE
    assert Portfolio(reserve=0.25).pairs == Betting(reserve=0.25)


# --- many arms, of which few stay -------------------------------------------------------------------------------------

K = MANY_ROWS + 6
WAKING_SOON = (0.9, 0.3, 0.1)  # the next bet wakes in round 100
ALGORITHMS: list[Algorithm] = [
    PairwiseBAI(1e-6, comparison=Betting(bets=WAKING_SOON)),
    PairwiseBAI(1e-6, comparison=Betting(bets=WAKING_SOON, pool=400), keep=2.0),
    PairwiseBAI(1e-6, comparison=Betting(bets=WAKING_SOON), epsilon=0.04, indifference_zone=0.01),
    PairwiseBAI(1e-6, comparison=Wins(bets=WAKING_SOON, pool=400), epsilon=0.01),
    ConvexBAI(1e-6, comparison=Portfolio(bets=WAKING_SOON)),
    PairwiseBAI(1e-6, comparison=LeaderBetting(pairs=0.5)),
]


def few_good_arms(n_rounds: int, n_arms: int = K) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Four good arms that are hard to tell apart among bad ones, with noise."""
    level = np.append(np.linspace(0.1, 0.35, n_arms - 4), [0.8, 0.81, 0.82, 0.82])
    return np.clip(level + np.random.default_rng(0).uniform(-0.2, 0.2, (n_rounds, n_arms)), 0.0, 1.0)


def played_in_blocks(algorithm: Algorithm, rows: Any, block: int) -> EliminationGame:
    """A game in blocks; its best arm but one is disqualified on the way, where that can be."""
    game = algorithm.start(rows.shape[1])
    assert isinstance(game, EliminationGame)
    for first in range(0, len(rows), block):
        if game.finished:
            break
        if first == 6 * block and game.no_disqualification is None:
            game.disqualify(K - 2)
        game.play(rows[first : first + block])
    return game


def wealths_of(game: EliminationGame) -> list[Any]:
    assert isinstance(game._evidence, WealthEvidence)
    pairs, near = game._evidence.pairs, game._evidence.near
    return [*([] if pairs is None else [pairs.better]), *([] if near is None else [near])]


def bytes_of(game: EliminationGame) -> int:
    """The memory of what a game keeps of pairs of arms."""
    assert isinstance(game._evidence, WealthEvidence)
    pairs, portfolio = game._evidence.pairs, getattr(game._evidence, "portfolio", [])
    parts = (game._evidence.board, *wealths_of(game), [] if pairs is None else [pairs.sums], portfolio)
    return sum(array.nbytes for part in parts for array in part)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
def test_bets_against_arms_that_are_out_are_given_back_and_no_number_changes(
    algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = few_good_arms(390)
    small = played_in_blocks(algorithm, rows, 30)
    monkeypatch.setattr(wealth, "MANY_ROWS", 10**9)
    large = played_in_blocks(algorithm, rows, 30)

    assert len(small.eliminations) >= K - 4
    assert small.eliminations == large.eliminations
    assert (small.candidates, small.best, small.n_rounds) == (large.candidates, large.best, large.n_rounds)
    standing = [arm for arm in small.candidates if arm in small.next_arms()]
    for few, all_rows in zip(wealths_of(small), wealths_of(large), strict=True):
        if all_rows.row_of.size == K:
            assert len(few.total) * 4 <= K == len(all_rows.total)
            np.testing.assert_array_equal(few.total[few.row_of[standing]], all_rows.total[standing])
            np.testing.assert_array_equal(few.log_wealth[few.row_of[standing]], all_rows.log_wealth[standing])
    assert [small.lead_bound(K - 1, arm) for arm in range(K - 1)] == [large.lead_bound(K - 1, b) for b in range(K - 1)]


def test_an_arm_that_is_withdrawn_keeps_no_bets() -> None:
    game = PairwiseBAI(1e-6, comparison=Betting()).start(K)
    assert isinstance(game, EliminationGame)
    rows = few_good_arms(4)
    game.play(rows[:2])
    for arm in range(K - 2):
        game.withdraw(arm)
    game.play(rows[2:])
    assert len(game.candidates) == K
    assert len(wealths_of(game)[0].total) == 2


def test_what_a_result_asks_its_game_needs_no_bets() -> None:
    rows = few_good_arms(50, 8)
    with bestarm.Race(range(8), items=range(100), bounds=(0.0, 1.0), delta=1e-6) as race:
        for row in rows:
            for todo in race.ask():
                race.tell(todo, {arm: row[arm] for arm in todo.arms})
        result, going_on = race.result(), race.state.game
    assert isinstance(going_on, EliminationGame)
    bound = going_on.regret_bound
    assert result.regret_bound == bound
    assert isinstance(result.game, EliminationGame)
    assert len(wealths_of(result.game)[0].total) == 0
    assert result.game.play(rows) == 0  # it stays where it is
    assert result.game.regret_bound == bound


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
def test_the_memory_of_a_game_is_known_before_it_is_taken(
    algorithm: Algorithm, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_arms = 160
    game = algorithm.start(n_arms)
    assert isinstance(game, EliminationGame)
    taken = bytes_of(game)
    monkeypatch.setattr("bestarm.record.store.MOST_MEMORY", int(0.9 * taken))
    with pytest.raises(ValueError, match=r"takes .* GiB of memory"):
        check_cost(algorithm, n_arms, 1)
    monkeypatch.setattr("bestarm.record.store.MOST_MEMORY", int(1.1 * taken))
    check_cost(algorithm, n_arms, 1)


# --- what is kept -----------------------------------------------------------------------------------------------------


def history_of(game: EliminationGame) -> Any:
    assert isinstance(game._evidence, WealthEvidence)
    return game._evidence.history


@pytest.mark.parametrize("keep", [1.0, 2.5])
def test_the_history_of_a_game_does_not_depend_on_the_blocks_in_which_it_was_played(keep: float) -> None:
    rng = np.random.default_rng(1)
    rows = np.clip(rng.normal(np.linspace(0.2, 0.5, 12), 0.2, (3000, 12)), 0, 1)
    algorithm = PairwiseBAI(0.05, comparison=Betting(), keep=keep)
    one_by_one, in_blocks, at_once = (algorithm.start(12) for _ in range(3))
    for row in rows:
        if not one_by_one.finished:
            one_by_one.tell(row[one_by_one.ask()])
    used = 0
    while not in_blocks.finished and used < len(rows):
        used += in_blocks.play(rows[used : used + int(rng.integers(1, 200))])
    at_once.play(rows)
    counts = at_once.counts
    assert len(set(counts.tolist())) > 5
    for game in (one_by_one, in_blocks, at_once):
        assert isinstance(game, EliminationGame)
        assert game.counts.tolist() == counts.tolist()
        assert history_of(game).nbytes < 16 * game.n_queries + 4000
        for a in range(12):
            for b in range(12):
                n = min(counts[a], counts[b])
                np.testing.assert_array_equal(history_of(game).differences(a, b), rows[:n, a] - rows[:n, b])


@pytest.mark.parametrize("comparison", [Betting(), Betting(pool=300), Wins(), Wins(pool=300)])
@pytest.mark.parametrize("n_rounds", [1, 20, 250])
def test_the_smallest_bound_is_found_without_most_of_the_others(
    comparison: Any, n_rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.clip(np.random.default_rng(2).normal(np.linspace(0.2, 0.5, 12), 0.2, (n_rounds, 12)), 0, 1)
    game = PairwiseBAI(0.05, comparison=comparison).start(12)
    game.play(rows)
    assert isinstance(game, EliminationGame)
    for arm in range(12):
        others = [other for other in range(12) if other != arm]
        slow = min(game.lead_bound(arm, b) for b in others)  # type: ignore[type-var]
        assert game._evidence.smallest_lead_bound(arm, others) == pytest.approx(slow, rel=0, abs=1e-11)
    found: list[float] = []

    def noted(*given: Any, **options: Any) -> float:
        found.append(brentq(*given, **options))
        return found[-1]

    monkeypatch.setattr("scipy.optimize.brentq", noted)
    assert game.regret_bound == max(0.0, -min(found, default=-1.0))
    assert len(found) < len(game.candidates) or n_rounds == 1
