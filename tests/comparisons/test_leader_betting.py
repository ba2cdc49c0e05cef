"""Bets on the leaders: as the slow reference plays them, with an error of at most delta whatever attacks them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.algorithms import EliminationGame, PairwiseBAI
from bestarm.arms import TableArms
from bestarm.comparisons import Betting, LeaderBetting
from bestarm.comparisons.leader_betting import SHIFTS, LeaderEvidence
from bestarm.kernels.leaders import replace_withdrawn
from bestarm.kernels.state import with_room
from games import intervals_of, outcome, regret_of, tell_both
from naive import Matrix
from one_wealth import Leaders
from slow_games import WealthGame, wealth_game
from statistics_helpers import contradicts

DELTA = 0.1


def started(comparison: LeaderBetting, n_arms: int, **options: Any) -> EliminationGame:
    game = PairwiseBAI(DELTA, comparison=comparison, **options).start(n_arms)
    assert isinstance(game, EliminationGame)
    return game


def leaders_of(game: EliminationGame) -> LeaderEvidence:
    assert isinstance(game._evidence, LeaderEvidence)
    return game._evidence


# --- the arithmetic --------------------------------------------------------------------------------------------------


def coins(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Matrix:
    return (rng.random((n_rounds, n_arms)) < rng.uniform(0.3, 0.7, n_arms)).astype(np.float64)


def shared_noise(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Matrix:
    noise = 0.1 * rng.standard_normal((n_rounds, n_arms)) + 0.1 * rng.standard_normal((n_rounds, 1))
    return np.clip(rng.uniform(0.3, 0.7, n_arms) + noise, 0.0, 1.0)


SETTINGS: list[tuple[dict[str, Any], dict[str, Any], int]] = [
    ({}, {}, 5),
    ({"pairs": 0}, {}, 20),
    ({"pairs": 0.5}, {"keep": 2.5}, 3),
    ({"pairs": 0}, {"indifference_zone": 0.05}, 5),
    ({}, {"indifference_zone": 0.02, "keep": 2.0}, 4),
    ({}, {"epsilon": 0.1}, 3),
]


def played_both(
    comparison: LeaderBetting, rows: Matrix, indifference_zone: float = 0.0, **options: Any
) -> tuple[EliminationGame, WealthGame]:
    """The game of these rows, and its slow version."""
    game = started(comparison, rows.shape[1], indifference_zone=indifference_zone, **options)
    game.play(rows)
    slow = wealth_game(comparison, rows, DELTA, zone=indifference_zone, **options)
    slow.play()
    return game, slow


@pytest.mark.parametrize(("n_rounds", "on_a_pool"), [(120, False), (120, True), (40, False), (40, True)])
@pytest.mark.parametrize(("settings", "options", "n_arms"), SETTINGS, ids=str)
def test_games_and_regret_bounds_are_those_of_the_slow_reference(
    settings: dict[str, Any], options: dict[str, Any], n_arms: int, n_rounds: int, on_a_pool: bool
) -> None:
    """Regret bounds of short games: the slow ones take long."""
    pool = max(80, n_rounds) if on_a_pool else None
    for seed, draw in enumerate((coins, shared_noise)):
        rows = draw(np.random.default_rng(seed), n_rounds, n_arms)
        game, slow = played_both(LeaderBetting(pool=pool, **settings), rows, **options)
        assert outcome(game) == slow.outcome
        wealth = slow.totals(Leaders)
        for arm in game.candidates:
            assert leaders_of(game).leaders.total[arm] == pytest.approx(wealth[arm], rel=1e-9)
        if n_rounds == 40:
            assert game.regret_bound == pytest.approx(slow_regret_bound(slow, game.best), rel=1e-12)


@pytest.mark.parametrize("pool", [None, 120])
def test_the_widest_averages_are_bet_on_where_they_promise_most(pool: int | None) -> None:
    """Arms 1 to 9 win in every other round, arms 10 to 19 in the others: averages of both vary least."""
    wins = (np.arange(120)[:, None] + (np.arange(20) >= 10)) % 2
    wins[:, 0] = np.random.default_rng(0).random(120) < 0.4
    rows, comparison = wins.astype(np.float64), LeaderBetting(pool=pool)
    game, slow = started(comparison, 20), wealth_game(comparison, rows, DELTA)
    widest = 0
    while slow.goes_on():
        slow.next_round()
        game.tell(rows[slow.t - 1, game.ask()])
        arms = slow.candidates
        np.testing.assert_allclose(leaders_of(game).leaders.total[arms], slow.totals(Leaders)[arms], rtol=1e-9)
        widest += any((one.on > 0).sum(axis=2).max() == 16 for one in slow.strategies if isinstance(one, Leaders))
    assert outcome(game) == slow.outcome
    assert widest >= 5


def test_more_than_a_hundred_arms_keep_nothing_of_pairs() -> None:
    for comparison in (LeaderBetting(), LeaderBetting(pairs=0)):
        evidence = leaders_of(started(comparison, 101))
        assert evidence.pairs is None
        assert max(array.size for array in [*evidence.board, *evidence.leaders]) <= 101 * 8
    few = leaders_of(started(LeaderBetting(), 100)).pairs
    assert few is not None
    assert few.sums.shape == (100, 100)


def test_the_leader_is_named_where_there_are_no_pairs() -> None:
    rows = np.tile([0.2, 0.9, 0.5], (40, 1)) + 0.05 * np.random.default_rng(0).random((40, 3))
    game = started(LeaderBetting(pairs=0), 3)
    game.play(rows)
    assert game.best == 1
    assert {one.by for one in game.eliminations} == {1}


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("bounds", (1, 1)), ("pool", 1), ("pairs", 1.0), ("pairs", -0.1), ("pairs", float("nan"))],
)
def test_wrong_settings_are_refused(parameter: str, value: Any, refused: Any) -> None:
    with refused(parameter, value):
        LeaderBetting(**{parameter: value})


# --- the guarantee ---------------------------------------------------------------------------------------------------


def rare(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Matrix:
    """The first arm wins rarely and much, the others are steady."""
    rows = np.full((n_rounds, n_arms), 0.1)
    rows[:, 0] = rng.random(n_rounds) < 0.1
    return rows


def equal_coins(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Matrix:
    return (rng.random((n_rounds, n_arms)) < 0.5).astype(np.float64)


def opposed(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Matrix:
    """All others lose where the first wins."""
    wins = rng.random((n_rounds, 1)) < 0.5
    return np.concatenate([wins, np.repeat(~wins, n_arms - 1, axis=1)], axis=1).astype(np.float64)


TIES = [(draw, n_arms, pool) for draw in (equal_coins, rare, opposed) for n_arms in (2, 10) for pool in (None, 60)]


def ever_out(draw: Callable[..., Matrix], n_arms: int, pool: int | None, games: int, **options: Any) -> int:
    """In how many games the first arm, which is as good as all others, is out."""
    out = 0
    for number in range(games):
        rng = np.random.default_rng([number, n_arms])
        rows = draw(rng, pool or 300, n_arms)
        if pool is not None:  # the same mean over the pool for all arms, in an order of its own for each
            rows = rng.permuted(np.repeat(rows[:, :1], n_arms, axis=1), axis=0)
        game = started(LeaderBetting(pool=pool), n_arms, **options)
        game.play(rows[: pool - 1 if pool else 300])
        out += 0 not in game.candidates
    return out


@pytest.mark.parametrize(("draw", "n_arms", "pool"), TIES)
def test_the_best_of_equal_arms_is_out_in_at_most_a_share_delta_of_games(
    draw: Callable[..., Matrix], n_arms: int, pool: int | None
) -> None:
    games = 400
    assert not contradicts(ever_out(draw, n_arms, pool, games), games, DELTA, len(TIES))


def test_more_than_delta_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth: leaders that are chosen when the round is known."""
    play = LeaderEvidence.play

    def peeking(self: LeaderEvidence, rows: Matrix) -> int:
        for used in range(len(rows)):
            leaders, n = self.leaders, int(self.leaders.progress[0].n_columns)
            columns = leaders.arms[:n].copy()
            order = np.argsort(-rows[used, columns], kind="stable")
            for by_column in (leaders.sums, leaders.risked, *leaders.wealth, *leaders.gained, *leaders.squares):
                by_column[:n] = by_column[:n][order]
            leaders.arms[:n] = columns[order]
            leaders.column_of[leaders.arms[:n]] = np.arange(n)
            if play(self, rows[used : used + 1]) == 0:
                return used
        return len(rows)

    monkeypatch.setattr(LeaderEvidence, "play", peeking)
    assert contradicts(ever_out(equal_coins, 5, None, 60), 60, DELTA, 1)


# --- failures --------------------------------------------------------------------------------------------------------


def out_by_failures(games: int) -> int:
    """Equal coins of which the others fail when they would lose and the first would win: how often the first is out."""
    out, n_arms = 0, 40
    for number in range(games):
        rows = equal_coins(np.random.default_rng([7, number]), 200, n_arms)
        game = started(LeaderBetting(pairs=0), n_arms)
        for row in rows:
            if game.finished:
                break
            leader = max((arm for arm in game.ask().tolist() if arm != 0), key=lambda arm: game.means[arm], default=0)
            if game.n_rounds > 3 and leader != 0 and row[leader] < row[0] and len(game.candidates) > 2:
                game.disqualify(leader)
            game.tell(row[game.ask()])
        out += 0 not in game.candidates
    return out


def test_arms_that_fail_when_they_would_lose_do_no_harm() -> None:
    games = 300
    assert not contradicts(out_by_failures(games), games, DELTA, 1)


def test_leaders_that_close_up_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth: the same attack where the next one takes the place of the arm that failed, in the same round."""

    def close_up(self: LeaderEvidence, arm: int) -> None:
        place = int(np.flatnonzero(self.board.arms == arm)[0])
        is_out, self.board.is_out[place] = self.board.is_out[place], True
        replace_withdrawn(self.board.n_rounds, self.board, self.leaders, with_room(self.past_leaders), 0.0)
        self.board.is_out[place] = is_out

    monkeypatch.setattr(LeaderEvidence, "discard_evidence", close_up)
    assert contradicts(out_by_failures(60), 60, DELTA, 1)


def failed_and_worst(pool: int | None, n_arms: int) -> tuple[EliminationGame, EliminationGame, list[int]]:
    """A game whose leader fails in round 11, one in which it has the worst score there, and the other arms."""
    rows = shared_noise(np.random.default_rng(3), 30, n_arms)
    failed, worst = (started(LeaderBetting(pool=pool, pairs=0), n_arms) for _ in range(2))
    for game in (failed, worst):
        game.play(rows[:10])
    leader = int(np.argmax(failed.means))
    failed.disqualify(leader)
    row = np.where(np.arange(n_arms) == leader, 0.0, rows[10])
    failed.tell(row[failed.ask()])
    worst.tell(row[worst.ask()])
    return failed, worst, [arm for arm in range(n_arms) if arm != leader]


def test_the_record_of_a_race_speaks_about_items_like_these() -> None:
    """Items are a sample of a law in which all arms are equal: the first is ruled out for the law in few races."""
    games, out = 200, 0
    for seed in range(games):
        rng = np.random.default_rng(seed)
        table = equal_coins(rng, 40, 4)
        named: Any = {"arms": ["a", "b", "c", "d"], "bounds": (0, 1), "comparison": LeaderBetting(), "seed": seed}
        result = bestarm.race_table(table, delta=DELTA, **named)
        assert result.for_population is not None
        out += "a" not in result.for_population.candidates
    assert not contradicts(out, games, DELTA, 1)


# --- leads -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pool", [None, 60])
def test_bounds_for_leads_do_not_depend_on_how_often_and_about_whom_they_are_asked(pool: int | None) -> None:
    """Also of more leaders than are remembered."""
    rows = shared_noise(np.random.default_rng(9), 30, 8)
    once, often = started(LeaderBetting(pool=pool), 8), started(LeaderBetting(pool=pool), 8)

    def bounds(game: EliminationGame) -> list[float | None]:
        others = [[other for other in game.candidates if other != arm] for arm in range(8)]
        return [game._evidence.smallest_lead_bound(arm, others[arm]) for arm in range(8)]

    once.play(rows)
    for row in rows:
        often.tell(row[often.ask()])
        bounds(often)
        intervals_of(often)
    assert bounds(often) == bounds(once)
    assert often.intervals() == once.intervals()


def slow_regret_bound(slow: WealthGame, leader: int) -> float:
    """The largest over all other candidates of the smallest shift that is ruled out, for rewards in [0, 1]."""
    shifts = np.array(sorted({*np.maximum(SHIFTS, slow.goal.zone).tolist(), slow.goal.epsilon or 1.0}))
    ruled_out, left = slow.ruled_out(leader, shifts), [0.0]
    for arm in set(slow.candidates) - {leader}:
        n, behind = slow.shared(arm, leader), slow.lead(arm, leader)
        most = (behind + slow.pool - n) / slow.pool if slow.pool else 1.0  # what is left of a pool can make of it
        left.append(min(*shifts[ruled_out[:, arm]], 1.0, most))
    return max(left)


def test_regret_bounds_with_failures_and_withdrawals_are_those_of_the_definition() -> None:
    rng, failed, withdrawn = np.random.default_rng(5), 0, 0
    for _ in range(30):
        rows = shared_noise(rng, 40, int(rng.integers(3, 7)))
        zone, comparison = float(rng.choice([0.0, 0.05])), LeaderBetting(pairs=rng.choice([0.0, 0.05]))
        game = started(comparison, rows.shape[1], indifference_zone=zone)
        slow = wealth_game(comparison, rows, DELTA, zone=zone)
        happened = tell_both(rng, game, slow)
        assert game.regret_bound == pytest.approx(slow_regret_bound(slow, game.best), rel=1e-12)
        failed, withdrawn = failed + happened[0], withdrawn + happened[1]
    assert min(failed, withdrawn) >= 10


@pytest.mark.parametrize("pool", [None, 100])
def test_an_arm_that_failed_is_asked_about_with_the_worst_score(pool: int | None) -> None:
    failed, worst, others = failed_and_worst(pool, 5)
    for arm in others:
        rest = [other for other in others if other != arm]
        for game in (failed, worst):
            game._evidence.smallest_lead_bound(arm, rest)
        wealth = [leaders_of(game).regret.wealth_against(arm).totals for game in (failed, worst)]
        np.testing.assert_allclose(wealth[0], wealth[1], rtol=1e-13)


def test_a_log_has_room_for_every_renewal() -> None:
    rows = shared_noise(np.random.default_rng(1), 400, 3)[:, [0, 0, 0]]  # nobody is ever out
    at_once, one_by_one = started(LeaderBetting(), 3), started(LeaderBetting(), 3)
    at_once.play(rows)
    for row in rows:
        one_by_one.tell(row[one_by_one.ask()])
    (a, b) = (leaders_of(game).past_leaders for game in (at_once, one_by_one))
    n = int(a.n_entries[0])
    assert n > 128
    for name in ("first_rounds", "leaders", "choice", "variances"):
        np.testing.assert_array_equal(getattr(a, name)[:n], getattr(b, name)[:n])


LAWS: list[tuple[Any, ...]] = [  # means, and whether all arms share the luck of a round
    ([0.6, 0.5], False),
    ([0.6, 0.55], True),
    ([0.55, 0.5, 0.5, 0.5, 0.4], False),
    ([0.5] * 6, False),
    ([0.06, 0.03, 0.03], False),
    ([0.97, 0.9, 0.94], True),
]


def misses_regret(comparison: LeaderBetting, rows: Matrix, truth: Matrix, delta: float) -> bool:
    """Whether the best arm is out, or better than the leader by more than the bound, at any time."""
    game, best = PairwiseBAI(delta, comparison=comparison).start(truth.size), int(np.argmax(truth))
    for row in rows:
        if game.finished:
            break
        game.tell(row[game.ask()])
        if best not in game.candidates or truth[best] - truth[game.best] > regret_of(game) + 1e-12:
            return True
    return False


def regrets_missed(means: list[float], shared: bool, pool: int | None, games: int, delta: float) -> int:
    """In how many games the best arm was out, or better than the leader by more than the bound, at any time."""
    missed, n_arms = 0, len(means)
    for number in range(games):
        rng = np.random.default_rng([17, number, n_arms])
        rows = (rng.random((80, 1 if shared else n_arms)) < means).astype(np.float64)
        if pool is not None:  # the same law, but its means over the pool are the truth
            rows = rows[:pool]
        truth = rows.mean(axis=0) if pool else np.array(means)
        missed += misses_regret(LeaderBetting(pool=pool), rows[: pool - 1 if pool else None], truth, delta)
    return missed


@pytest.mark.parametrize("pool", [None, 60])
@pytest.mark.parametrize(("means", "shared"), LAWS)
def test_the_best_arm_is_out_or_beyond_the_regret_bound_in_at_most_a_share_delta_of_games(
    means: list[float], shared: bool, pool: int | None
) -> None:
    games = 120
    assert not contradicts(regrets_missed(means, shared, pool, games, DELTA), games, DELTA, 2 * len(LAWS))


def test_regret_bounds_that_fail_too_often_would_be_noticed() -> None:
    """Teeth: games at a larger delta, judged as if it were this one."""
    assert contradicts(regrets_missed([0.6, 0.5], False, None, 120, 0.5), 120, DELTA, 2 * len(LAWS))


@pytest.mark.parametrize("pairs", [None, 0, 0.5])
def test_the_regret_bound_is_no_less_than_that_of_each_candidate(pairs: float | None) -> None:
    """Also where the pool leaves so little that the bounds of some arms are cut, and others come first."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        pool, n_arms = int(rng.integers(5, 40)), int(rng.integers(3, 7))
        rows = rng.choice([0.0, 0.5, 1.0], (pool, n_arms)) if seed % 2 else coins(rng, pool, n_arms)
        game = started(LeaderBetting(pool=pool, pairs=pairs), n_arms)
        for row in rows:
            game.tell(row[game.ask()])
            if game.finished:
                break
            leader, bound = game.best, regret_of(game)
            for arm in set(game.candidates) - {leader}:
                single = game._evidence.smallest_lead_bound(leader, [arm])
                assert single is not None
                assert bound >= -single - 1e-12


def test_a_pool_that_hides_the_best_arm_is_no_way_round_the_regret_bound() -> None:
    """When all items that the leader wins are seen, its opposite is cut to 0; the best arm must not be forgotten."""
    missed, games, pool, gain = 0, 150, 46, 0.2
    leader = np.repeat([1.0, 0.0], pool // 2)
    best = np.where(leader == 1.0, 1.0 - gain * (1.0 - 0.9 / (pool // 2)), gain)
    table = np.column_stack([leader, best, 1.0 - leader])
    truth = table.mean(axis=0)
    for number in range(games):
        rows = np.random.default_rng([5, number]).permutation(table)[:-1]
        missed += misses_regret(LeaderBetting(pool=pool), rows, truth, 0.01)
    assert not contradicts(missed, games, 0.01, 1)


@pytest.mark.parametrize("n_arms", [2, 4])
def test_with_a_zone_no_wealth_is_more_than_without_the_protection_of_the_leader(n_arms: int) -> None:
    """So that eliminations and the regret bound hold together."""
    cut, comparison = 0, LeaderBetting(pairs=0)
    for seed in range(6):
        rows = equal_coins(np.random.default_rng(40 + seed), 80, n_arms)
        game = PairwiseBAI(1e-9, comparison=comparison, indifference_zone=0.3).start(n_arms)
        slow = wealth_game(comparison, rows, 1e-9, zone=0.3)
        slow.play()
        uncut = np.array([on_leaders[0] for on_leaders, _ in slow.if_worse(0, np.array([0.0]))]) / 0.95
        assert isinstance(game, EliminationGame)
        for number, row in enumerate(rows):
            game.tell(row[game.ask()])
            for arm in game.candidates:
                ratio = leaders_of(game).leaders.total[arm] / uncut[number, arm]
                assert ratio <= 1 + 1e-9
                cut += ratio < 0.99
    assert cut > 0


def test_games_look_for_epsilon_in_the_same_rounds_where_bets_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    def until_waking(self: LeaderEvidence) -> int:
        return 7 - self.board.n_rounds % 7

    monkeypatch.setattr(LeaderEvidence, "_rounds_until_waking", until_waking)
    ends = []
    for epsilon in np.linspace(0.02, 0.3, 40):
        rows = shared_noise(np.random.default_rng(2), 300, 3)
        at_once, one_by_one = started(LeaderBetting(), 3, epsilon=epsilon), started(LeaderBetting(), 3, epsilon=epsilon)
        at_once.play(rows)
        for row in rows:
            if one_by_one.finished:
                break
            one_by_one.tell(row[one_by_one.ask()])
        assert (at_once.n_rounds, at_once.reason) == (one_by_one.n_rounds, one_by_one.reason)
        ends.append(at_once.n_rounds)
    assert any(end % 7 == 0 for end in ends)


def test_a_game_in_which_nobody_is_queried_learns_nothing() -> None:
    game = started(LeaderBetting(), 4)
    game.play(np.random.default_rng(0).random((5, 4)))
    for arm in (0, 1):
        game.withdraw(arm)
    for arm in (2, 3):
        game.disqualify(arm)
    assert (game.candidates, game.next_arms().tolist()) == ((0, 1), [])
    assert game.play(np.full((3, 4), 0.5)) == 0
    assert game.n_rounds == 5


def test_a_pool_that_is_exhausted_leaves_no_doubt_about_leads() -> None:
    rows = np.tile([[0.5, 0.6], [0.6, 0.5]], (10, 1))
    game = started(LeaderBetting(pool=20), 2)
    game.play(rows)
    assert str(game.reason) == "all items used"
    assert game.lead_bound(0, 1) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("pool", [None, 60])
def test_true_leads_are_outside_of_the_intervals_in_at_most_a_share_delta_of_games(pool: int | None) -> None:
    games, failures = 200, 0
    for number in range(games):
        rng = np.random.default_rng([11, number])
        rows = rng.beta(0.3, 0.6, (60, 3)) ** [1.0, 1.0, 1.3]
        leads = rows.mean(axis=0) if pool else np.array([1 / 3, 1 / 3, 0.0])
        game = started(LeaderBetting(pool=pool), 3)
        wrong = False
        for row in rows[:50]:
            if game.finished:
                break
            game.tell(row[game.ask()])
            if game.n_rounds % 5:
                continue
            intervals = intervals_of(game)
            pairs = [(0, 1)] if pool is None else [(0, 1), (0, 2), (1, 2)]
            wrong |= any(not intervals.low[a, b] <= leads[a] - leads[b] <= intervals.high[a, b] for a, b in pairs)
        failures += wrong
    assert not contradicts(failures, games, DELTA, 2)


@pytest.mark.parametrize("pairs", [0, None])
def test_games_end_within_epsilon(pairs: float | None) -> None:
    rng, ended, wrong = np.random.default_rng(12), 0, 0
    for _ in range(60):
        rows = np.clip([0.5, 0.5, 0.42] + 0.02 * rng.standard_normal((400, 3)), 0.0, 1.0)
        game = started(LeaderBetting(pairs=pairs), 3, epsilon=0.05)
        game.play(rows)
        ended += str(game.reason) == "within epsilon"
        assert regret_of(game) <= 0.05
        wrong += game.finished and game.best == 2
    assert ended == 60
    assert not contradicts(wrong, 60, DELTA, 1)


@pytest.mark.parametrize("n_arms", [2, 8])
def test_with_a_zone_the_best_arm_is_lost_in_at_most_a_share_delta_of_games_if_it_leads_by_it(n_arms: int) -> None:
    games, lost = 300, 0
    for number in range(games):
        rng = np.random.default_rng([13, number])
        rows = (rng.random((2000, n_arms)) < np.array([0.55] + [0.45] * (n_arms - 1))).astype(np.float64)
        game = started(LeaderBetting(), n_arms, indifference_zone=0.1)
        game.play(rows)
        lost += 0 not in game.candidates
    assert not contradicts(lost, games, DELTA, 2)


# --- what it is for --------------------------------------------------------------------------------------------------


def test_it_takes_a_sixth_fewer_queries_than_bets_on_pairs() -> None:
    rng = np.random.default_rng(0)
    table = (rng.random((2000, 12)) < 0.3 + 0.03 * np.arange(12)).astype(np.float64)
    of_pairs, of_leaders = (
        bestarm.simulate(PairwiseBAI(DELTA, comparison=comparison), TableArms(table), repetitions=100).mean_queries
        for comparison in (Betting(), LeaderBetting())
    )
    assert of_leaders < 5 / 6 * of_pairs


def test_a_tiny_lead_is_found() -> None:
    """Every lead is, because the bets shrink; the smallest fixed one would lose here."""
    heads = np.random.default_rng(0).random(200_000) < 0.504
    game = started(LeaderBetting(pairs=0), 2)
    game.play(np.column_stack([heads, ~heads]).astype(np.float64))
    assert game.candidates == (0,)
