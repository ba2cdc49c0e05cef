"""What the compiled loops work on: the state of a game, plain arrays allocated once per game, and its rules.

An elimination game lives on a `Board`. Its arrays that are indexed by *place* hold the queried arms ``C`` at the first
places, in increasing order, and the arms that have left behind them, so that the inner loops run over contiguous
memory and the statistics of those that left stay as they were.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FOREVER = np.iinfo(np.int64).max
# Places in `Board.tally`.
ROUNDS, QUERIES, QUERIED, CANDIDATES, NEXT_LEAVE, ENDED = range(6)
# Places in `Board.limits`.
MAX_ROUNDS, MAX_QUERIES = range(2)
# Values of `Board.tally[ENDED]`; a game with one candidate left has ended whatever it says.
GOING_ON, WITHIN_EPSILON, POOL_EXHAUSTED = range(3)


class Thresholds(NamedTuple):
    """Slope and offset of consecutive rounds; an infinite slope beats nobody."""

    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64]


class Board(NamedTuple):
    """The state of one elimination game with K arms."""

    arms: NDArray[np.int64]  # by place: which arm stands there
    means: NDArray[np.float64]  # by place: mean over the rounds of that arm
    own: NDArray[np.float64]  # by place: centred sum of squares of the arm
    squares: NDArray[np.float64]  # by two places, row > column: centred sum of squares of the difference; may be empty
    bar: NDArray[np.float64]  # by place: 0 for a candidate, infinite for others: nobody is beaten twice
    deviation: NDArray[np.float64]  # by place: scratch, the reward minus the mean before it
    parted: NDArray[np.float64]  # by two arms: how far the second was ahead in mean when the first left
    last_round: NDArray[np.int64]  # by arm: queried up to and including this round
    beaten_round: NDArray[np.int64]  # by arm: 0 if never beaten
    beaten_by: NDArray[np.int64]  # by arm
    margin: NDArray[np.float64]  # by arm: by how much the boundary was exceeded
    tally: NDArray[np.int64]  # ROUNDS, QUERIES, QUERIED, CANDIDATES, NEXT_LEAVE, ENDED
    limits: NDArray[np.int64]  # MAX_ROUNDS, MAX_QUERIES: the game ends before it would exceed these


def new_board(n_arms: int, of_pairs: bool = True) -> Board:
    """A board before the first round; without what it keeps of pairs, where nobody asks for that."""
    K = n_arms
    pairs = (K, K) if of_pairs else (0, 0)
    return Board(
        arms=np.arange(K),
        means=np.zeros(K),
        own=np.zeros(K),
        squares=np.zeros(pairs),
        bar=np.zeros(K),
        deviation=np.zeros(K),
        parted=np.full(pairs, np.nan),
        last_round=np.full(K, FOREVER),
        beaten_round=np.zeros(K, dtype=np.int64),
        beaten_by=np.full(K, -1, dtype=np.int64),
        margin=np.full(K, np.nan),
        tally=np.array([0, 0, K, K, FOREVER, GOING_ON]),
        limits=np.full(2, FOREVER),
    )


class PairRule(NamedTuple):
    """How a boundary on moments is used: ``j`` beats ``i`` if ``mean_j - mean_i + zone > slope * spread + offset``.

    The spread is the standard deviation of the difference, or with ``linear`` its centred sum of squares as it was
    after round ``learn_until``. With a positive ``epsilon`` the game also ends when the leader is within it.
    """

    keep: float
    zone: float
    epsilon: float
    linear: bool = False
    learn_until: int = FOREVER


class ConvexRule(NamedTuple):
    """How combinations are looked for: how often, of how many arms, with how many steps of the solver."""

    keep: float
    growth: float  # after a look at round t the next one is at growth * t, rounded up
    sparsity: int
    steps: int


class ConvexSearch(NamedTuple):
    """What the search for combinations remembers."""

    weights: NDArray[np.float64]  # (K, K): where the solver starts for each arm
    proofs: NDArray[np.float64]  # (K, K): the weights that beat an arm
    counts: NDArray[np.int64]  # rounds looked at, arms solved, signs not certified
    next_check: NDArray[np.int64]  # (1)


def new_search(n_arms: int) -> ConvexSearch:
    """A search before the first look."""
    pairs = (n_arms, n_arms)
    return ConvexSearch(np.zeros(pairs), np.zeros(pairs), np.zeros(3, dtype=np.int64), np.zeros(1, dtype=np.int64))


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
