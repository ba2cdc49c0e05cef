"""How random games are fed and compared in several files."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, EliminationGame, Game, Intervals
from naive import Matrix
from slow_games import SlowGame


def feed(rng: np.random.Generator, game: Game, rows: NDArray[np.float64]) -> None:
    """Row by row, all at once, or in blocks."""
    size = int(rng.choice([1, 7, 10_000]))
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
