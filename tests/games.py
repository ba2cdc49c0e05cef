"""How random games are fed and compared in several files."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Game, Intervals


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
