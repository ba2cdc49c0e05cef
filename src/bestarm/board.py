"""The state that the compiled loops work on: plain arrays, allocated once a game.

An elimination game lives on a `Board`. Its arrays that are indexed by *place* hold the queried arms ``C`` at the first
places, in increasing order, and the arms that have left behind them, so that the inner loops run over contiguous
memory and the statistics of those that left stay as they were.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FOREVER = np.iinfo(np.int64).max

# Places in `Board.tally`.
ROUNDS, QUERIES, QUERIED, CANDIDATES, NEXT_LEAVE = range(5)


class Board(NamedTuple):
    """The state of one elimination game with K arms."""

    arms: NDArray[np.int64]  # by place: which arm stands there
    means: NDArray[np.float64]  # by place: mean over the rounds of that arm
    own: NDArray[np.float64]  # by place: centred sum of squares of the arm
    squares: NDArray[np.float64]  # by two places, row > column: centred sum of squares of the difference
    bar: NDArray[np.float64]  # by place: 0 for a candidate, infinite for others: nobody is beaten twice
    deviation: NDArray[np.float64]  # by place: scratch, the reward minus the mean before it
    last_round: NDArray[np.int64]  # by arm: queried up to and including this round
    beaten_round: NDArray[np.int64]  # by arm: 0 if never beaten
    beaten_by: NDArray[np.int64]  # by arm
    margin: NDArray[np.float64]  # by arm: by how much the boundary was exceeded
    tally: NDArray[np.int64]  # ROUNDS, QUERIES, QUERIED, CANDIDATES, NEXT_LEAVE


def new_board(n_arms: int) -> Board:
    """A board before the first round."""
    K = n_arms
    return Board(
        arms=np.arange(K),
        means=np.zeros(K),
        own=np.zeros(K),
        squares=np.zeros((K, K)),
        bar=np.zeros(K),
        deviation=np.zeros(K),
        last_round=np.full(K, FOREVER),
        beaten_round=np.zeros(K, dtype=np.int64),
        beaten_by=np.full(K, -1, dtype=np.int64),
        margin=np.full(K, np.nan),
        tally=np.array([0, 0, K, K, FOREVER]),
    )


class Duel(NamedTuple):
    """The state of one LUCB game with K arms."""

    sums: NDArray[np.float64]
    counts: NDArray[np.int64]
    pair: NDArray[np.int64]  # the leader and its challenger
    tally: NDArray[np.int64]  # ROUNDS, QUERIES


def new_duel(n_arms: int) -> Duel:
    """A LUCB game before the first round."""
    return Duel(
        sums=np.zeros(n_arms),
        counts=np.zeros(n_arms, dtype=np.int64),
        pair=np.full(2, -1, dtype=np.int64),
        tally=np.zeros(2, dtype=np.int64),
    )
