"""Kernels by themselves, on numbers that can be worked out by hand.

`make test` runs these, and every algorithm against its slow version, once more with the compiler off: what is compiled
is what is written, and the coverage of the kernels is seen.
"""

import inspect
import math
import pkgutil
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from bestarm import kernels
from bestarm.algorithms import ConvexBAI, EliminationGame, PairwiseBAI
from bestarm.comparisons import LeaderBetting, Portfolio
from bestarm.comparisons.leader_betting import LeaderEvidence
from bestarm.comparisons.wealth import CAP, mixture
from bestarm.kernels import compiling, state
from bestarm.kernels.boundaries import lucb, race_intervals, race_pairs
from bestarm.kernels.convex import convex_sign, nonnegative_minimum, race_convex, sparse_sign
from bestarm.kernels.rounds import affine, all_within, withdraw_arms
from bestarm.kernels.wealth import log_wealth
from naive import Matrix

POSITIVE, UNKNOWN, NEGATIVE = 1, 0, -1
STEPS = 50


def vector(*values: float) -> Any:
    return np.array(values, dtype=np.float64)


# --- rows ------------------------------------------------------------------------------------------------------------


def test_affine_is_the_product_up_to_the_width_of_each_row() -> None:
    noise, root = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]]), np.array([[2.0, 99.0, 99.0], [1.0, -1.0, 4.0]])
    rows = affine(noise, root, np.array([1, 3]), vector(10.0, 20.0))
    assert rows.tolist() == [[12.0, 25.0], [10.0, 21.0]]
    assert affine(noise, root, np.array([0, 0]), vector(10.0, 20.0)).tolist() == [[10.0, 20.0]] * 2


@pytest.mark.parametrize(
    ("value", "inside"), [(0.0, True), (1.0, True), (-1e-9, False), (1.0 + 1e-9, False), (math.nan, False)]
)
def test_bounds_belong_to_their_interval(value: float, inside: bool) -> None:
    assert bool(all_within(np.array([[0.5, 0.5], [value, 0.5]]), 0.0, 1.0)) is inside


# --- wealth ----------------------------------------------------------------------------------------------------------

WEALTH: list[Any] = [  # differences, null mean, pool, bets, weights, cap, and the wealth
    ((0.5, -0.25, 1.0), 0.0, 0, (0.5,), (1.0,), 0.99, 1.25 * 0.875 * 1.5),
    # A bet of 0.9 would risk 1.35 of its wealth: it is cut to 0.8 / 1.5.
    ((0.25,), 0.5, 0, (0.1, 0.9), (0.25, 0.75), 0.8, 0.25 * (1 - 0.1 * 0.25) + 0.75 * (1 - 0.8 / 1.5 * 0.25)),
    ((-1.0, 0.0), -1.0, 0, (0.9,), (1.0,), 0.99, 1.9),  # no difference is below -1: all may be bet
    ((1.0, 1.0, 1.0), 0.0, 4, (0.5,), (1.0,), 0.99, 1.5 * 5 / 3 * 2),
    ((1.0, 1.0, 1.0, 1.0), 0.0, 4, (0.5,), (1.0,), 0.99, math.inf),  # a pool cannot have this mean any more
]


@pytest.mark.parametrize(("differences", "nu", "pool", "bets", "weights", "cap", "expected"), WEALTH)
def test_the_wealth_of_bets_is_the_weighted_mean_of_products(
    differences: Any, nu: float, pool: int, bets: Any, weights: Any, cap: float, expected: float
) -> None:
    awake = mixture(vector(*bets), vector(*weights), 0.0, 0)  # all bets are made from the first round on
    assert math.exp(log_wealth(vector(*differences), nu, pool, awake, cap)) == pytest.approx(expected, rel=1e-14)


# --- combinations ----------------------------------------------------------------------------------------------------

APART = np.array([[1.21, -1.0], [-1.0, 1.21]])  # neither is enough alone, their mean is
OPPOSED = vector(1.0, 1.0)
THREE = np.array([[3.0, -0.9, -0.9], [-0.9, 3.0, -0.9], [-0.9, -0.9, 3.0]])  # all three are needed


def sign(n: Matrix, B: Matrix, limit: int = STEPS) -> tuple[int, list[float]]:
    w = np.zeros(n.size)
    return int(convex_sign(n, B, w, limit)), w.tolist()


def test_an_average_beats_where_no_arm_does() -> None:
    verdict, (first, second) = sign(OPPOSED, APART)
    assert verdict == POSITIVE
    assert first == pytest.approx(second)
    assert first > 0


def test_the_arm_that_is_furthest_ahead_is_enough_alone() -> None:
    assert sign(vector(1.2, 3.0, 2.0), np.eye(3)) == (POSITIVE, [0.0, 1.0, 0.0])


NEITHER = [(-1.0, -1.0), (0.5, 0.5), (0.7, -3.0), (0.0, 0.0)]


@pytest.mark.parametrize(
    ("n", "B", "limit", "verdict"),
    [
        *((n, B, STEPS, NEGATIVE) for n in NEITHER for B in (np.eye(2), np.array([[1.0, -0.1], [-0.1, 1.0]]))),
        ((1.0,), np.eye(1), STEPS, UNKNOWN),  # exactly on the boundary
        *((OPPOSED, APART, limit, UNKNOWN) for limit in (0, 1)),  # out of steps
    ],
)
def test_only_what_is_certified_is_said(n: Any, B: Matrix, limit: int, verdict: int) -> None:
    assert sign(vector(*n), B, limit)[0] == verdict


@pytest.mark.parametrize(("s", "verdict"), [(1, UNKNOWN), (2, UNKNOWN), (3, POSITIVE)])
def test_fewer_arms_than_are_needed_are_not_enough(s: int, verdict: int) -> None:
    assert int(sparse_sign(np.ones(3), THREE, np.zeros(3), s, STEPS)) == verdict


def test_the_heaviest_arms_are_enough_by_themselves() -> None:
    """The third adds a little to the two that are enough: it is left out, and has no weight."""
    n, B = vector(1.0, 1.0, 0.3), np.zeros((3, 3))
    B[:2, :2] = APART
    B[2, 2] = 0.5
    w = np.zeros(3)
    assert convex_sign(n, B, w, STEPS) == POSITIVE
    w = vector(1.0, 1.0, 0.01)  # a proof that uses all three
    assert sparse_sign(n, B, w, 2, STEPS) == POSITIVE
    assert w[2] == 0.0
    assert min(w[0], w[1]) > 0.0


def test_no_average_of_few_where_there_is_none_of_many() -> None:
    assert sparse_sign(vector(-1.0, -2.0), np.eye(2), np.zeros(2), 1, STEPS) == NEGATIVE


def test_the_nonnegative_minimum_drops_what_would_be_negative() -> None:
    B, n, w = np.array([[2.0, 1.5], [1.5, 2.0]]), vector(2.0, 1.0), vector(1.0, 1.0)
    nonnegative_minimum(n, B, w, STEPS)  # unrestricted the second would be -4/7
    assert w.tolist() == pytest.approx([1.0, 0.0], abs=1e-12)
    w = np.zeros(2)
    nonnegative_minimum(n, B, w, 1)  # out of steps: one arm has entered
    assert w.tolist() == [1.0, 0.0]


# --- games -----------------------------------------------------------------------------------------------------------


def test_lucb_queries_all_then_two_and_stops_when_the_leader_is_clear() -> None:
    duel = state.new_duel(3)
    rows, sds = np.array([[1.0, 0.0, 0.5]] * 4), np.ones(3)
    assert lucb(rows, np.full(4, 1.0), sds, duel) == (4, False)
    assert duel.progress[["n_rounds", "n_queries"]].item() == (4, 3 + 3 * 2)
    assert duel.counts.tolist() == [
        4,
        1,
        4,
    ]  # the third has the highest bound besides the leader: 1.5, 1.21, 1.08 against 1
    assert lucb(rows, np.full(4, 0.01), sds, duel) == (1, True)


def test_intervals_stop_at_the_limit_and_drop_who_is_below() -> None:
    game = state.new_board(2)
    rows, none, known = np.array([[1.0, 0.0]] * 5), np.zeros(5), np.ones(2)
    game.progress["max_rounds"] = 3
    wide = np.full(5, 0.6)  # 0.4 against 0.6: they overlap
    assert race_intervals(rows, wide, none, game, known) == 3
    assert game.now.n_candidates == 2
    game.progress["max_rounds"] = 9
    assert race_intervals(rows, np.full(5, 0.4), none, game, known) == 1
    assert game.now.n_candidates == 1
    assert game.margin[1] == pytest.approx(0.2)
    assert (game.beaten_by[1], game.beaten_round[1]) == (0, 4)


def test_who_leaves_moves_behind_and_the_others_close_up() -> None:
    game = state.new_board(4)
    game.means[:] = [1.0, 2.0, 3.0, 4.0]
    game.sum_squares[:] = [10.0, 20.0, 30.0, 40.0]
    for a in range(4):
        for b in range(a):
            game.squares[a, b] = 10 * (a + 1) + (b + 1)  # of arms a and b, both from 1
    game.last_round[1] = 5
    withdraw_arms(game, 5)
    assert game.arms.tolist() == [0, 2, 3, 1]
    assert game.means.tolist() == [1.0, 3.0, 4.0, 2.0]
    assert game.sum_squares.tolist() == [10.0, 30.0, 40.0, 20.0]
    assert [game.squares[a, b] for a in range(4) for b in range(a)] == [31, 41, 43, 21, 32, 42]
    assert game.lead_at_exit[1, 3] == 2.0 == -game.lead_at_exit[3, 1]
    assert game.now.n_queried == 3


@pytest.mark.parametrize("seed", range(5))
def test_several_that_leave_at_once_are_kept_as_if_they_left_one_after_the_other(seed: int) -> None:
    rng, K = np.random.default_rng(seed), 9
    at_once, one_by_one = state.new_board(K), state.new_board(K)
    for game in (at_once, one_by_one):
        game.means[:], game.sum_squares[:] = np.arange(K), 10.0 * np.arange(K)
        game.squares[:] = np.arange(K * K).reshape(K, K)
        game.is_out[2] = True
    left = set(range(K))
    for t in range(1, 4):
        leaving = sorted(rng.choice(sorted(left), size=int(rng.integers(1, len(left) - 1)), replace=False).tolist())
        left -= set(leaving)
        at_once.last_round[leaving] = t
        withdraw_arms(at_once, t)
        for arm in leaving:
            one_by_one.last_round[arm] = t
            withdraw_arms(one_by_one, t)
        for name in ("arms", "means", "sum_squares", "is_out", "lead_at_exit", "last_round", "progress"):
            np.testing.assert_array_equal(getattr(at_once, name), getattr(one_by_one, name))
        np.testing.assert_array_equal(np.tril(at_once.squares, -1), np.tril(one_by_one.squares, -1))
        assert at_once.arms[: len(left)].tolist() == sorted(left)
        for a in range(K):
            for b in range(a):
                arms = sorted((at_once.arms[a], at_once.arms[b]))
                assert at_once.squares[a, b] == K * arms[1] + arms[0]
        if len(left) < 3:
            break


def played_pairs(rows: Matrix, rule: state.PairRule, slope: float) -> state.Board:
    game = state.new_board(rows.shape[1])
    slopes = np.full(len(rows), slope)
    race_pairs(rows, slopes, np.zeros(len(rows)), game, rule)
    return game


def test_a_spread_is_learned_up_to_its_round_and_not_after_it() -> None:
    rows = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 100.0], [-7.0, 3.0]])
    first_two = state.PairRule(1.0, 0.0, 0.0, linear=True, learn_until=2)
    assert played_pairs(rows, first_two, slope=1e9).squares[1, 0] == pytest.approx(2.0)  # of 0 and 2
    differences = rows[:, 0] - rows[:, 1]
    always = state.PairRule(1.0, 0.0, 0.0, linear=True)
    assert played_pairs(rows, always, slope=1e9).squares[1, 0] == pytest.approx(4 * differences.var())


def convex_game(rows: Matrix, slope: float, keep: float, steps: int) -> tuple[state.Board, state.ConvexSearch]:
    K = rows.shape[1]
    game, search, rule = state.new_board(K), state.new_search(K), state.ConvexRule(keep, 1.0, K, steps)
    slopes = np.full(len(rows), slope)
    slopes[0] = np.inf
    race_convex(rows, slopes, np.zeros(len(rows)), game, search, rule)
    return game, search


def test_who_was_dropped_and_is_still_queried_is_not_dropped_again() -> None:
    noise = np.array([[0.1, 0.0], [-0.1, 0.1], [0.0, -0.1], [0.1, 0.0], [-0.1, 0.0]])
    rows = np.column_stack([noise[:, 0] - 5.0, noise[:, 1] + 0.02, np.zeros(5)])
    game, _ = convex_game(rows, slope=1.0, keep=98.0, steps=STEPS)
    assert game.beaten_round[0] == 2
    assert game.now.n_queried == 3
    assert game.last_round[0] == 2 * 98
    assert game.now.n_candidates == 2


def test_a_sign_that_is_not_certified_drops_nobody_and_is_counted() -> None:
    """Two arms that beat the third together; without steps only single arms are looked at."""
    luck = 3.0 * np.array([1.0, -1.0, 1.0, -1.0])
    rows = np.column_stack([0.5 + luck, 0.5 - luck, np.zeros(4)])
    game, search = convex_game(rows, slope=0.6, keep=1.0, steps=STEPS)
    assert game.beaten_round[2] == 2
    assert search.proofs[2].tolist() == pytest.approx([0.5, 0.5, 0.0])
    blind, unsure = convex_game(rows, slope=0.6, keep=1.0, steps=0)
    assert blind.now.n_candidates == 3
    assert unsure.progress[0].n_uncertified == unsure.progress[0].n_solved > 0


@pytest.mark.parametrize("pool", [24, 38])  # stakes of 1.2 and of 0.995
def test_a_portfolio_loses_no_more_than_the_cap_in_a_round(pool: int) -> None:
    """A sure lead is bet on with nearly all; then it turns, and what is left of the pool must turn it back."""
    steps = 0.01 * np.ones(22)
    steps[20:] = -1.0
    rows = np.column_stack([np.where(steps < 0, 1.0, 0.0), np.where(steps < 0, 0.0, 0.01)])
    game = ConvexBAI(0.05, comparison=Portfolio(pool=pool)).start(2)
    evidence = game._evidence  # type: ignore[attr-defined]
    game.play(rows[:21])
    before, bet = evidence.portfolio.log_wealth[0], evidence.portfolio.bets[0, 1]
    null_mean = 0.8 / (pool - 21)  # of the rounds that are left, if the mean over the pool is at most 0
    assert bet * (1.0 + null_mean) > CAP
    game.play(rows[21:22])
    assert evidence.portfolio.log_wealth[0] - before == pytest.approx(math.log(1.0 - CAP))


@pytest.mark.parametrize("zone", [0.0, 0.3])
def test_an_arm_that_fails_stays_among_the_leaders_until_its_round_is_over(zone: float) -> None:
    rows = np.tile([0.2, 0.4, 0.9], (3, 1))
    game = PairwiseBAI(0.05, comparison=LeaderBetting(pairs=0), indifference_zone=zone).start(3)
    assert isinstance(game, EliminationGame)
    assert isinstance(game._evidence, LeaderEvidence)
    leaders = game._evidence.leaders
    game.play(rows[:2])
    assert leaders.arms.tolist() == [2, 1, 0]
    game.disqualify(2)
    assert (leaders.failing.tolist(), leaders.progress[0].n_columns) == ([False, False, True], 3)
    assert game.ask().tolist() == [0, 1]
    game.tell([0.2, 0.4])
    assert not leaders.failing.any()
    assert leaders.arms[: leaders.progress[0].n_columns].tolist() == [1, 0]
    assert leaders.total[1] < 1.0 + zone  # the leader that it was bet on had the worst score


def all_kernels() -> dict[str, Any]:
    """All functions that are compiled, by themselves or as a part of others."""
    modules = [import_module(f"bestarm.kernels.{one.name}") for one in pkgutil.iter_modules(kernels.__path__)]
    found = {name: getattr(one, "py_func", one) for module in modules for name, one in vars(module).items()}
    of_compiling = vars(compiling)
    return {name: one for name, one in found.items() if inspect.isfunction(one) and name not in of_compiling}


def test_kernels_have_at_most_eight_parameters() -> None:
    numbers = {name: len(inspect.signature(kernel).parameters) for name, kernel in all_kernels().items()}
    assert len(numbers) > 60
    assert {name: number for name, number in numbers.items() if number > 8} == {}
