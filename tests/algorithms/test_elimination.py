"""Elimination by hand: rewards so simple that the round follows from the formula, kept arms, budgets, zones."""

from math import sqrt
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binomtest

import naive
from bestarm import simulate
from bestarm.algorithms import Algorithm, ConvexBAI, Elimination, PairwiseBAI
from bestarm.arms import TableArms
from bestarm.comparisons import (
    Betting,
    Comparison,
    ConvexBernstein,
    EmpiricalBernstein,
    GaussianBernstein,
    StudentMixture,
)
from bestarm.simulation import repetition_rng
from games import (
    assert_as_reference,
    assert_eliminated_in,
    constant,
    first_round,
    swinging,
    swinging_mean,
    swinging_variance,
    tell,
)
from naive import Matrix, Played
from subjects import SUBJECTS

# Rewards are made up here: that they do not look like what a comparison is made for is no news.
pytestmark = pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")


# --- Pairwise-BAI ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delta", "lead", "swing", "expected_round"),
    # 9 log(8 t (t + 1) / 0.1) / (t - 1) is 1.0056 at t = 127 and 0.9988 at t = 128.
    [(0.1, 1.0, 0.0, 128), (0.05, 0.6, 0.1, 269), (0.05, 0.5, 0.25, 395), (0.05, 0.5, 0.5, 521)],
)
def test_pairwise_bounded_swinging_difference(delta: float, lead: float, swing: float, expected_round: int) -> None:
    rows = np.column_stack([np.zeros(expected_round), swinging(expected_round, lead, swing)])

    def margin(t: int) -> float:
        a, V = naive.paper_alpha(t, 2, delta), swinging_variance(t, swing)
        return swinging_mean(t, lead, swing) - 3 / 2 * a * sqrt(2 * V) - 9 * a**2

    assert first_round(margin, 3) == expected_round
    algorithm = PairwiseBAI(delta, comparison=EmpiricalBernstein())
    game = assert_eliminated_in(algorithm, rows, expected_round, margin(expected_round))
    assert (game.reason, game.best, game.n_queries) == ("decided", 1, 2 * expected_round)


@pytest.mark.parametrize(
    ("f", "swing", "expected_round"),
    [
        ("published", 0.015, 3),  # alpha_3 = 1.94 > 1: the published rule is the quicker one
        ("proved", 0.015, 5),
        ("published", 0.25, 34),  # alpha_25 = 0.69 < 1: the proved one is
        ("proved", 0.25, 25),
        ("published", 2.0, 503),  # alpha_503 < 1/3: they are the same
        ("proved", 2.0, 503),
    ],
)
def test_pairwise_gaussian_swinging_difference(
    f: Literal["proved", "published"], swing: float, expected_round: int
) -> None:
    # Both arms swing, and share a wave: only the difference counts.
    wave = 5.0 * np.sin(np.arange(expected_round))
    swings = [swinging(expected_round, 0, -swing / 2), swinging(expected_round, 1, swing / 2)]

    def margin(t: int) -> float:
        a, V = naive.paper_alpha(t, 2, 0.05), swinging_variance(t, swing)
        return swinging_mean(t, 1, swing) - 3 / 2 * a * sqrt(2 * naive.f(a, f) * V)

    assert first_round(margin, 3) == expected_round
    rows = np.column_stack(swings) + wave[:, None]
    assert_eliminated_in(
        PairwiseBAI(0.05, comparison=GaussianBernstein(f=f)), rows, expected_round, margin(expected_round)
    )


def test_pairwise_looks_first_after_two_rounds_on_all_arms() -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein()).start(4)
    rows = constant(3, 0.0, 3.0, 1.0, 2.0)  # no variance: the first look beats all but the best
    for _ in range(2):
        assert game.ask().tolist() == [0, 1, 2, 3]
        tell(game, rows[:1])
        assert game.candidates == (0, 1, 2, 3)
    assert game.ask().tolist() == [0, 1, 2, 3]
    tell(game, rows[2:])
    assert game.candidates == (1,)
    assert game.eliminations == [Elimination(0, 3, 1, 3.0), Elimination(2, 3, 1, 2.0), Elimination(3, 3, 1, 1.0)]


def limited(algorithm: Any) -> bool:
    """Whether games of equal arms end, by a limit or because they are near enough to each other."""
    settings = [getattr(algorithm, name, None) for name in ("max_rounds", "max_queries", "epsilon")]
    zone = getattr(algorithm, "comparison", None) and getattr(algorithm, "indifference_zone", 0.0)
    return bool(any(settings) or zone or getattr(getattr(algorithm, "comparison", None), "pool", None))


UNLIMITED = {name: subject.algorithm for name, subject in SUBJECTS.items() if not limited(subject.algorithm)}


@pytest.mark.parametrize("name", UNLIMITED)
def test_equal_arms_never_beat_each_other(name: str) -> None:
    shared = np.random.default_rng(0).random((500, 1))
    game = UNLIMITED[name].start(3)
    game.play(np.repeat(shared, 3, axis=1))
    assert game.candidates == (0, 1, 2)
    assert game.reason is None


# --- how long a beaten arm is asked ----------------------------------------------------------------------------------


def rounds_asked(algorithm: Algorithm, rows: Matrix, arm: int) -> list[int]:
    game = algorithm.start(rows.shape[1])
    asked = []
    for row in rows:
        queried = game.ask()
        if arm in queried:
            asked.append(game.n_rounds + 1)
        game.tell(row[queried])
    assert [one.arm for one in game.eliminations] == [arm]
    return asked


@pytest.mark.parametrize(
    ("comparison", "keep", "last"),
    [
        *((GaussianBernstein(), *case) for case in [(1, 3), (1.3, 3), (1.4, 4), (2, 6), (2.5, 7), (82, 246)]),
        *((EmpiricalBernstein(), *case) for case in [(1, 137), (2, 274), (2.5, 342), (82, 11234)]),
    ],
)
def test_a_beaten_arm_is_asked_up_to_keep_times_the_round(comparison: Comparison, keep: float, last: int) -> None:
    """It is beaten in round 3 or 137: 9 log(18 t (t + 1) / 0.1) / (t - 1) is 1.0017 at t = 136, 0.9953 at t = 137."""
    assert 9 * naive.paper_alpha(137, 3, 0.1) ** 2 < 1 < 9 * naive.paper_alpha(136, 3, 0.1) ** 2
    rows = constant(last + 50, 1.0, 0.0, 1.0)  # the tied arms 0 and 2 play on
    asked = rounds_asked(PairwiseBAI(0.1, comparison=comparison, keep=keep), rows, arm=1)
    assert asked == list(range(1, last + 1))


def test_keep_times_round_is_not_lost_to_rounding() -> None:
    assert 1.15 * 100 < 115

    def slope(t: int) -> float:
        a = naive.paper_alpha(t, 3, 0.1)
        return 3 / 2 * a * sqrt(2 * naive.f(a, "proved"))

    # The lead is 1 in even rounds and smaller in odd ones; the swing makes it cross between rounds 98 and 100.
    swing = -2 / (slope(98) * sqrt(98 / 97) + slope(100) * sqrt(100 / 99))
    assert first_round(lambda t: swinging_mean(t, 1, swing) - slope(t) * sqrt(swinging_variance(t, swing)), 3) == 100
    ahead = swinging(130, 1, swing)
    rows = np.column_stack([ahead, np.zeros(130), ahead])
    assert rounds_asked(PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=1.15), rows, arm=1) == list(range(1, 116))


@pytest.mark.parametrize("keep", [1e18, 1e19, 1e300])
def test_a_keep_without_end_asks_a_beaten_arm_for_ever(keep: float) -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=keep).start(3)
    game.play(constant(20, 1.0, 0.0, 1.0))
    assert [one.arm for one in game.eliminations] == [1]
    assert game.counts.tolist() == [20, 20, 20]
    assert game.n_queries == 60


# --- budgets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_rounds", [1, 2, 3, 10, 5000])
def test_max_rounds_ends_the_game_with_all_candidates(max_rounds: int) -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), max_rounds=max_rounds).start(3)
    assert game.play(constant(max_rounds + 7, 1.0, 0.0, 1.0)) == max_rounds
    assert game.finished
    assert game.reason == "budget"
    assert game.n_rounds == max_rounds
    assert game.candidates == ((0, 1, 2) if max_rounds < 3 else (0, 2))


# All three arms are asked in rounds 1 to 6 (the beaten one is kept up to round 2 * 3), then two.
@pytest.mark.parametrize(
    ("max_queries", "n_rounds", "n_queries"),
    [(3, 1, 3), (5, 1, 3), (17, 5, 15), (18, 6, 18), (19, 6, 18), (20, 7, 20), (21, 7, 20), (22, 8, 22)],
)
def test_max_queries_is_never_exceeded(max_queries: int, n_rounds: int, n_queries: int) -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=2, max_queries=max_queries).start(3)
    rows = constant(20, 1.0, 0.0, 1.0)
    for _ in range(n_rounds):
        assert not game.finished
        tell(game, rows[:1])
        assert game.n_queries <= max_queries
    assert (game.n_rounds, game.n_queries) == (n_rounds, n_queries)
    assert game.reason == "budget"
    assert game.candidates == ((0, 1, 2) if n_rounds < 3 else (0, 2))


@pytest.mark.parametrize("limits", [{"max_rounds": 3}, {"max_queries": 6}, {"max_queries": 7}])
def test_a_game_decided_in_its_last_round_is_decided(limits: dict[str, int]) -> None:
    game = PairwiseBAI(0.1, comparison=GaussianBernstein(), **limits).start(2)
    assert game.play(constant(10, 1.0, 0.0)) == 3
    assert game.reason == "decided"


@pytest.mark.parametrize(
    "algorithm",
    [
        PairwiseBAI(0.1, comparison=GaussianBernstein(), max_queries=4),
        PairwiseBAI(0.1, max_queries=4),
        PairwiseBAI(0.1, comparison=Betting(), max_queries=4),
        ConvexBAI(0.1, comparison=ConvexBernstein(), max_queries=4),
    ],
)
def test_a_budget_too_small_for_one_round_is_refused(algorithm: Algorithm) -> None:
    assert algorithm.start(4).ask().tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match=r"^max_queries must .* 5 arms, got 4"):
        algorithm.start(5)


# --- a kept arm that beats every candidate in one round ---------------------------------------------------------------

GAUSSIAN = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=82)
BOUNDED = PairwiseBAI(0.1, comparison=EmpiricalBernstein(), keep=82)


def turning_rows(n: int, switch: int, before: list[float], after: list[float]) -> Matrix:
    return np.where(np.arange(n)[:, None] < switch, before, after)


def swinging_candidates(leader: int) -> Matrix:
    """Arm 3 turns; arms 0 to 2 swing around means so near that they cannot beat each other, one of them ahead."""
    rows = turning_rows(200, 3, [0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, 4.0])
    rows[:, 1] += np.tile([0.01, -0.01], 100)
    rows[:, 2] += np.tile([0.01, 0.01, -0.01, -0.01], 50)
    rows[:, leader] += np.tile([0.002, -0.001], 100)
    return rows


def all_but_one() -> Matrix:
    """Arm 0 turns with arm 3, which therefore beats only arms 1 and 2."""
    rows = swinging_candidates(1)
    rows[:, 0] = rows[:, 3]
    rows[:3, 0] = 0.0
    return rows


def reference(algorithm: PairwiseBAI, rows: Matrix) -> Played:
    slow = naive.pairwise_gaussian if isinstance(algorithm.comparison, GaussianBernstein) else naive.pairwise_bounded
    return slow(rows, algorithm.delta, keep=algorithm.keep)


@pytest.mark.parametrize(
    ("algorithm", "rows", "stays"),
    [
        # Arm 1 is beaten in round 3 or 137, the first in which that is possible, and then turns.
        (GAUSSIAN, turning_rows(200, 3, [0.0, -1.0, 0.0], [0.0, 4.0, 0.0]), 0),
        (BOUNDED, turning_rows(1000, 137, [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]), 0),
        *((GAUSSIAN, swinging_candidates(leader), leader) for leader in range(3)),
    ],
    ids=["gaussian", "bounded", "leader 0", "leader 1", "leader 2"],
)
def test_where_a_kept_arm_beats_every_candidate_the_one_with_the_largest_mean_stays(
    algorithm: PairwiseBAI, rows: Matrix, stays: int
) -> None:
    expected, K = reference(algorithm, rows), rows.shape[1]
    told, played = algorithm.start(K), algorithm.start(K)
    played.play(rows)
    tell(told, rows[: played.n_rounds])
    for game in (told, played):
        assert_as_reference(game, expected, rows)
        assert (game.reason, game.candidates, game.best) == ("decided", (stays,), stays)
        assert game.contradiction is not None
        assert [one.round for one in game.eliminations[1:]] == [game.n_rounds] * (K - 2)
        with pytest.raises(RuntimeError, match="decided"):
            game.ask()
    assert (told.eliminations, told.contradiction) == (played.eliminations, played.contradiction)


@pytest.mark.parametrize(
    ("keep", "rows", "candidates"),
    [
        *((keep, turning_rows(500, 3, [0.0, -1.0, 0.0], [0.0, 4.0, 0.0]), (0, 2)) for keep in (1, 2, 2.5)),
        (82, all_but_one(), (0,)),
    ],
    ids=str,
)
def test_a_kept_arm_that_is_dropped_or_beats_all_but_one_contradicts_nobody(
    keep: float, rows: Matrix, candidates: tuple[int, ...]
) -> None:
    algorithm = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=keep)
    game = algorithm.start(rows.shape[1])
    game.play(rows)
    assert_as_reference(game, reference(algorithm, rows), rows)
    assert (game.candidates, game.contradiction) == (candidates, None)


def test_simulate_reports_the_games_that_contradict_themselves() -> None:
    # The third arm is the best, but starts with three bad rounds in one game of 23, and is beaten by the first.
    arms = TableArms([[0.0, 0.0, -1.0]] * 7 + [[0.0, 0.0, 9.0]] * 13)
    algorithm = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=82, max_rounds=250)
    sim = simulate(algorithm, arms, repetitions=200, seed=3)
    games = [
        naive.pairwise_gaussian(arms.draw(250, repetition_rng(3, repetition)), 0.1, "proved", keep=82)
        for repetition in range(200)
    ]
    contradictions = [game.contradiction is not None for game in games]
    assert sim.contradictions.tolist() == contradictions
    assert 3 <= sum(contradictions) <= 20
    assert sim.rounds.tolist() == [game.n_rounds for game in games]
    assert sim.queries.tolist() == [game.n_queries for game in games]
    assert [(winner,) for winner in sim.winners] == [game.candidates for game in games]
    np.testing.assert_array_equal(sim.errors, contradictions)  # here only these games lose the best arm


# --- a zone without its promise: only arms within the zone of the best arm beat it -----------------------------------

DELTA, GAMES, ROUNDS, LEAD = 0.2, 200, 4000, 0.06
BEST, TWIN, FAR = 0, 1, range(2, 10)
BEHIND = np.array([0.0, 0.0] + [LEAD] * len(FAR))


def rows(comparison: Comparison, seed: int) -> NDArray[np.float64]:
    """The best arm and its equal, so that there is no lead, and arms that are behind by `LEAD`."""
    luck = np.random.default_rng(seed)
    if comparison.bounds is None:
        return np.asarray(luck.standard_normal((ROUNDS, BEHIND.size)) / 4 - BEHIND)
    return (luck.random((ROUNDS, BEHIND.size)) < 0.5 - BEHIND).astype(np.float64)


def beaten_by_far_arms(comparison: Comparison, zone: float) -> tuple[int, int]:
    """Games in which the best arm was out, and those of them in which its equal had no part in it.

    For a boundary: a far arm beat it. For bets, which are summed: its equal was behind it, so that it did not count.
    """
    out = without_the_twin = 0
    for seed in range(GAMES):
        played = rows(comparison, seed)
        game = PairwiseBAI(DELTA, comparison=comparison, indifference_zone=zone).start(BEHIND.size)
        game.play(played)
        for elimination in game.eliminations:
            if elimination.arm == BEST:
                out += 1
                shared = min(elimination.round, int(game.counts[TWIN]))
                twin_ahead = played[:shared, TWIN].sum() >= played[:shared, BEST].sum() - 1e-9
                by_boundary = comparison.bounds is None
                without_the_twin += elimination.by in FAR if by_boundary else not twin_ahead
    return out, without_the_twin


@pytest.mark.parametrize("comparison", [StudentMixture(min_rounds=2), Betting()], ids=["boundary", "betting"])
def test_without_its_promise_a_zone_still_keeps_far_arms_from_beating_the_best(comparison: Comparison) -> None:
    out, wrong = beaten_by_far_arms(comparison, LEAD)
    assert out > GAMES * DELTA  # the promise is broken, so the best arm does leave
    assert binomtest(wrong, GAMES, DELTA, alternative="greater").pvalue > 0.01
    out, wrong = beaten_by_far_arms(comparison, 10 * LEAD)  # now these arms are within the zone as well
    assert binomtest(wrong, GAMES, DELTA, alternative="greater").pvalue < 0.01
