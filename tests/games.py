"""How random games are fed and compared in several files."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, EliminationGame, Game, Intervals
from naive import Matrix, Played
from slow_games import SlowGame


def feed(rng: np.random.Generator, game: Game, rows: NDArray[np.float64]) -> None:
    """Row by row, all at once, or in blocks."""
    play_in_blocks(game, rows, int(rng.choice([1, 7, 10_000])))


def play_in_blocks(game: Game, rows: NDArray[np.float64], size: int) -> None:
    """In blocks of so many rows, until the game ends; single rows are told."""
    for start in range(0, len(rows), size):
        if game.finished:
            return
        if size == 1:
            game.tell(rows[start, game.ask()])
        else:
            game.play(rows[start : start + size])


def tell_both(rng: np.random.Generator, game: EliminationGame, slow: SlowGame, fails: bool = True) -> tuple[int, int]:
    """Play a game and its slow version round by round, with arms that fail and arms that are withdrawn: how many.

    Now and then both happen in one round.
    """
    order, first = rng.permutation(slow.K).tolist(), int(rng.integers(1, 30))
    failing = {first: order[0], first + 7: order[1]} if fails and rng.random() < 0.7 else {}
    withdrawn = {first: order[2]} if rng.random() < 0.5 else {}
    n_failed = n_withdrawn = 0
    while slow.goes_on():
        r, row = slow.t + 1, slow.rows[slow.t]
        queried = slow.queried(r)
        assert game.ask().tolist() == queried
        if withdrawn.get(r) in slow.playing(r):
            game.withdraw(withdrawn[r])
            slow.withdraw(withdrawn[r])
            n_withdrawn += 1
        if failing.get(r) in queried:
            game.disqualify(failing[r])
            slow.disqualify(failing[r])
            n_failed += 1
        if slow.goes_on():
            slow.next_round()
            game.tell(row[game.ask()])
    return n_failed, n_withdrawn


# --- random rewards --------------------------------------------------------------------------------------------------


def gaussian(rng: np.random.Generator, n: int, K: int, spread: float = 1.0) -> Matrix:
    """Correlated arms, in clusters, with leads from far below to far above the noise."""
    own = 10 ** rng.uniform(-2, -0.3, K)
    cluster_noise = rng.uniform(0, 1) * rng.standard_normal((n, 3))[:, rng.integers(3, size=K)]
    return spread * rng.uniform(-1, 1, K) + cluster_noise + own * rng.standard_normal((n, K))


def with_equal_arms(rng: np.random.Generator, rows: Matrix) -> Matrix:
    return rows[:, rng.integers(rows.shape[1], size=rows.shape[1])]


def with_levels(rng: np.random.Generator, rows: Matrix, levels: Sequence[float] = (0.0, 0.25, 0.5, 1.0)) -> Matrix:
    """Some arms always have the same reward; by default a sum of powers of two."""
    out = rows.copy()
    for arm in np.flatnonzero(rng.random(rows.shape[1]) < 0.6):
        out[:, arm] = rng.choice(levels)
    return out


def with_constant_leads(rng: np.random.Generator, rows: Matrix) -> Matrix:
    """Some arms are another one plus a constant; all numbers on a grid, so that the difference is constant exactly."""
    out = np.round(rows * 2**20) / 2**20
    K = rows.shape[1]
    for arm in rng.permutation(K)[1 : 2 + K // 2]:
        out[:, arm] = out[:, rng.integers(K)] + rng.integers(-3, 4) / 4.0
    return out


# --- what two games have in common -----------------------------------------------------------------------------------


def assert_as_reference(game: Game, expected: Played, rows: Matrix) -> None:
    """Eliminations with their margins, candidates, counts and means are those of the reference."""
    found = [*game.eliminations, *filter(None, [game.contradiction])]
    beaten = [*expected.eliminations, *filter(None, [expected.contradiction])]
    assert [(one.arm, one.round) for one in found] == [(one.arm, one.round) for one in beaten]
    for one, other in zip(found, beaten, strict=True):
        assert other.margins[one.by] >= other.largest - 1e-9
        assert one.margin == pytest.approx(other.largest, rel=1e-10, abs=1e-10)
    assert (game.contradiction is None) == (expected.contradiction is None)
    assert game.candidates == expected.candidates
    assert (game.reason == "decided") == (len(expected.candidates) == 1)
    assert game.finished or expected.n_rounds == len(rows)
    assert (game.n_rounds, game.n_queries) == (expected.n_rounds, expected.n_queries)
    rounds_of = [[arm in asked for asked in expected.queried] for arm in range(game.n_arms)]
    assert game.counts.tolist() == [sum(rounds) for rounds in rounds_of]
    means = [np.mean(rows[: expected.n_rounds, arm][rounds]) for arm, rounds in enumerate(rounds_of)]
    np.testing.assert_allclose(game.means, means, rtol=1e-10, atol=1e-10)


def outcome(game: Game) -> dict[str, Any]:
    """What two games must have in common to be the same."""
    against = game.contradiction
    return {
        "eliminations": [(one.arm, one.round) for one in game.eliminations],
        "candidates": game.candidates,
        "reason": game.reason,
        "rounds": game.n_rounds,
        "queries": game.n_queries,
        "contradiction": None if against is None else (against.arm, against.round),
    }


def regret_of(game: Game) -> float:
    """The regret bound of a game that has one."""
    assert game.regret_bound is not None
    return game.regret_bound


def intervals_of(game: Game) -> Intervals:
    """The intervals of a game that has them."""
    intervals = game.intervals()
    assert intervals is not None
    return intervals


# --- rewards so simple that the round of a decision follows by hand --------------------------------------------------


def constant(n: int, *rewards: float) -> Matrix:
    return np.tile(rewards, (n, 1))


def swinging(n: int, mean: float, swing: float) -> Matrix:
    """``mean + swing, mean - swing, mean + swing, ...``"""
    rewards: Matrix = mean + swing * np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rewards


def swinging_mean(t: int, mean: float, swing: float) -> float:
    return mean + swing / t if t % 2 else mean


def swinging_variance(t: int, swing: float) -> float:
    """Sum of squares ``t s^2``, less ``t (s/t)^2`` for the mean when ``t`` is odd; divided by ``t - 1``."""
    return swing**2 * ((t + 1) / t if t % 2 else t / (t - 1))


def first_round(margin: Callable[[int], float], start: int) -> int:
    return next(t for t in range(start, 100_000) if margin(t) > 0)


def tell(game: Game, rows: Matrix) -> None:
    for row in rows:
        game.tell(row[game.ask()])


def assert_eliminated_in(algorithm: Algorithm, rows: Matrix, expected_round: int, margin: float, arm: int = 0) -> Game:
    """The arm is a candidate after the round before, and gone after the round."""
    game = algorithm.start(rows.shape[1])
    tell(game, rows[: expected_round - 1])
    assert arm in game.candidates
    assert game.eliminations == []
    tell(game, rows[expected_round - 1 : expected_round])
    assert arm not in game.candidates
    (elimination,) = (one for one in game.eliminations if one.arm == arm)
    assert elimination.round == expected_round
    assert elimination.margin == pytest.approx(margin, rel=1e-10, abs=1e-10)
    return game
