"""Wins: whatever the scores, the arm that beats every other more often than it loses to it stays."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.comparisons import Betting, StudentMixture, Wins
from bestarm.racing import RaceSettings
from one_wealth import Array
from statistics_helpers import binomial_p_value

RNG = np.random.Generator
CYCLE = np.array([[3.0, 2.0, 1.0], [1.0, 3.0, 2.0], [2.0, 1.0, 3.0]])  # 0 beats 1, 1 beats 2, 2 beats 0, two to one


def played(rows: Array, wins: Wins | None = None, delta: float = 0.05, **given: Any) -> Any:
    game = PairwiseBAI(delta, comparison=wins or Wins(), **given).start(rows.shape[1])
    game.play(rows)
    return game


# --- decisions -------------------------------------------------------------------------------------------------------


def test_wins_are_betting_on_signs() -> None:
    """With two arms the scores 1 and 0 for the better and the worse one have the sign as their difference."""
    X = np.random.default_rng(1).normal(size=(300, 2)) + np.array([0.0, 0.3])
    shown = (X[:, ::-1] < X).astype(np.float64)
    betting = PairwiseBAI(0.05, comparison=Betting()).start(2)
    betting.play(shown)
    game = played(X)
    assert [(one.arm, one.round, one.margin) for one in game.eliminations] == [
        (one.arm, one.round, one.margin) for one in betting.eliminations
    ]
    assert game.lead(1, 0) == pytest.approx(betting.lead(1, 0), rel=1e-14)
    assert game.regret_bound == betting.regret_bound


def test_outliers_decide_the_mean_and_not_the_wins() -> None:
    rng = np.random.default_rng(2)
    rows = np.column_stack([rng.random(300), rng.random(300) + 0.3])
    rows[::50, 0] = 1e6
    game = played(rows[:, ::1])
    assert game.means[0] > game.means[1]
    assert (game.reason, game.best, game.contradiction) == ("decided", 1, None)


def test_the_leader_is_the_candidate_with_the_largest_smallest_lead() -> None:
    rows = np.array([[9.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 1.0, 2.0]])  # arm 0 has the largest mean
    game = played(rows)
    assert game.candidates == (0, 1, 2)
    assert np.argmax(game.means) == 0
    assert game.best == 1
    assert game.lead(1, 0).estimate == pytest.approx(1 / 3)
    assert game.lead(1, 2).estimate == pytest.approx(1 / 3)


def test_ties_say_nothing() -> None:
    game = played(np.tile([[0.5, 0.5]], (500, 1)))
    assert (game.reason, game.best, game.lead(0, 1).estimate) == (None, 0, 0.0)


EXHAUSTED = {
    "wins": (np.array([[1.0, 2.0, 0.0], [90.0, 1.0, 0.0]] * 4 + [[1.0, 2.0, 0.0]]), (1,), [2, 0], 0.0),
    "a cycle": (np.append(CYCLE, [[1.0, 1.0, 1.0]], axis=0), (0, 1, 2), [], 1 / 4),
    "equal wins": (np.array([[1.0, 0.0], [0.0, 1.0]] * 3), (0, 1), [], 0.0),
}


@pytest.mark.parametrize("case", EXHAUSTED)
def test_a_pool_that_is_exhausted_is_settled_by_wins(case: str) -> None:
    rows, candidates, beaten, regret = EXHAUSTED[case]
    game = played(rows, Wins(pool=len(rows)), delta=1e-9)
    assert (game.reason, game.candidates, game.best) == ("all items used", candidates, candidates[0])
    assert [one.arm for one in game.eliminations] == beaten
    assert game.contradiction is None
    assert all(one.by == 1 for one in game.eliminations if one.arm == 0)
    assert game.regret_bound == pytest.approx(regret)


def test_epsilon_is_a_share_of_items() -> None:
    rng = np.random.default_rng(4)
    rows = 1e9 * rng.standard_normal((3000, 2))
    assert played(rows).reason is None
    game = played(rows, epsilon=0.2)
    assert game.reason == "within epsilon"
    assert 0 < game.regret_bound <= 0.2


def test_a_zone_ends_ties() -> None:
    rows = np.random.default_rng(5).standard_cauchy((3000, 3))
    assert played(rows, indifference_zone=0.2).reason == "decided"


# --- the guarantee ---------------------------------------------------------------------------------------------------


def cauchy(rng: RNG, n: int) -> Array:
    rows: Array = rng.standard_cauchy((n, 4)) + np.array([0.15, 0.0, 0.0, -0.5])
    return rows


def lognormal_times(rng: RNG, n: int) -> Array:
    """Arm 0 is faster on most items, and its mean is the worst: a few of its runs take very long."""
    log_time = rng.normal(size=(n, 1)) + 0.2 * rng.normal(size=(n, 4)) + [-0.03, 0.0, 0.0, 0.1]
    log_time[:, 0] += 6.0 * (rng.random(n) < 0.02)
    return -np.exp(log_time)


def clones(rng: RNG, n: int) -> Array:
    return np.repeat(rng.standard_cauchy((n, 1)), 4, axis=1)


def equal_but_skewed(rng: RNG, n: int) -> Array:
    """No arm is better more often than another, but arms 1 to 3 win by far when they are the best."""
    X = rng.standard_normal((n, 4))
    X[:, 1:] += 1000.0 * (X[:, 1:] == X.max(axis=1, keepdims=True))
    return X


def often_a_little_better(rng: RNG, n: int) -> Array:
    """Arm 0 is better by 1 on 60% of the items, and worse by 3 on the others."""
    X = 0.1 * rng.standard_normal((n, 4))
    X[:, 0] += np.where(rng.random(n) < 0.6, 1.0, -3.0)
    return X


def ties(rng: RNG, n: int) -> Array:
    return np.round(rng.normal(size=(n, 4)) * [1.0, 1.0, 3.0, 0.3])


LAWS: dict[str, Callable[[RNG, int], Array]] = {
    "Cauchy": cauchy,
    "lognormal times": lognormal_times,
    "clones": clones,
    "equal but skewed": equal_but_skewed,
    "often a little better": often_a_little_better,
    "ties": ties,
}
GAMES, DELTA = 400, 0.1


def errors(comparison: Any, law: str, n_rounds: int = 150) -> int:
    rng, count = np.random.default_rng(list(LAWS).index(law)), 0
    for _ in range(GAMES):
        game = PairwiseBAI(DELTA, comparison=comparison).start(4)
        game.play(LAWS[law](rng, n_rounds))
        count += 0 not in game.candidates
    return count


@pytest.mark.parametrize("law", LAWS)
def test_the_arm_that_beats_all_others_is_rarely_out(law: str) -> None:
    assert binomial_p_value(errors(Wins(), law), GAMES, DELTA) >= 1e-3


@pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")
def test_means_of_the_same_scores_are_misled() -> None:
    """Teeth: who compares means drops the arm that is better on most items."""
    assert errors(StudentMixture(), "often a little better") > 5 * DELTA * GAMES


def test_an_arm_that_loses_more_often_is_out() -> None:
    """Teeth: the same laws with the arms turned round, so that the first one is not the best."""
    rng, out = np.random.default_rng(7), 0
    for _ in range(100):
        game = PairwiseBAI(DELTA, comparison=Wins()).start(4)
        game.play(cauchy(rng, 1500)[:, ::-1])
        out += 0 not in game.candidates
    assert out > 95


@pytest.mark.parametrize("lead", [0, 2])
def test_the_winner_on_a_pool_is_rarely_out(lead: int) -> None:
    rng = np.random.default_rng(11)
    order = np.array([rng.permutation(4) for _ in range(100)], dtype=np.float64)
    lifted = 0
    while np.sign(order[:, :1] - order[:, 1:]).sum(axis=0).min() < lead:
        order[lifted, 0] = 4.0
        lifted += 1
    count = 0
    for _ in range(GAMES):
        count += 0 not in played(np.exp(9 * order)[rng.permutation(100)], Wins(pool=100), delta=DELTA).candidates
    assert binomial_p_value(count, GAMES, DELTA) >= 1e-3


# --- settings --------------------------------------------------------------------------------------------------------


def test_what_a_game_says_of_itself() -> None:
    game = PairwiseBAI(0.05, comparison=Wins(pool=9), epsilon=0.1).start(3)
    assert game.guarantee.criterion == "wins"
    assert game.guarantee.assumption == "the items come in random order"
    assert Wins().assumption == "the items are independent of each other"
    assert PairwiseBAI(0.05, comparison=Betting()).start(3).guarantee.criterion == "mean"
    assert ConvexBAI(0.05).start(3).guarantee.criterion == "mean"


def test_a_race_tells_it_bounds_and_pool() -> None:
    assert Wins().adapted((0, 5), 90) == Wins((0, 5), pool=90)
    assert Wins((0, 2), pool=9).adapted((0, 5), 90) == Wins((0, 2), pool=9)
    assert Wins().adapted(None, None) == Wins()


def test_settings_are_values() -> None:
    wins = Wins((0, 2), pool=9, bets=[0.5, 0.25], weights=[3, 1], reserve=0.25)
    assert repr(wins) == "Wins((0.0, 2.0), pool=9, bets=(0.5, 0.25), weights=(0.75, 0.25), reserve=0.25)"
    for one in (wins, Wins()):
        rule = PairwiseBAI(0.05, comparison=one)
        settings = RaceSettings(algorithm=rule, items="seeds", n_items=None, items_digest=None, arms_digest="")
        assert RaceSettings.from_plain(settings.to_plain()) == settings
    assert len({wins, Wins((0, 2), pool=9, bets=(0.5, 0.25), weights=(0.75, 0.25), reserve=0.25)}) == 1


def test_bounds_are_only_checked() -> None:
    rows = np.random.default_rng(6).random((200, 3)) * [1.0, 0.9, 0.5]
    assert played(rows, Wins((0, 1))).eliminations == played(rows).eliminations
    with pytest.raises(ValueError, match=r"lie in \[0, 1\], got 1.5 for arm 1"):
        played(np.array([[0.5, 1.5]]), Wins((0, 1)))


def test_no_kind_of_scores_looks_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        played(np.random.default_rng(8).integers(0, 2, (200, 3)).astype(np.float64))
        played(0.5 + 1e-4 * np.random.default_rng(8).random((200, 3)), Wins((0, 1)))
