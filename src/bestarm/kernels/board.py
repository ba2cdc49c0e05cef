"""What the compiled loops work on: the state of a game, plain arrays allocated once per game, and its rules.

An elimination game lives on a `Board`. Its arrays that are indexed by *place* hold the queried arms ``C`` at the first
places, in increasing order, and the arms that have left behind them, so that the inner loops run over contiguous
memory and the statistics of those that left stay as they were. Single numbers that change are fields of a `record`.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestarm.values import Array, Indices

FOREVER = np.iinfo(np.int64).max
# How a game has ended; one with one candidate left has ended whatever this says.
GOING_ON, WITHIN_EPSILON, POOL_EXHAUSTED = range(3)


def record(**numbers: float) -> NDArray[Any]:
    """Named numbers, each an int, a float or a flag, that compiled code changes in place: an array of one record."""
    values = tuple(numbers.values())
    return np.array([values], dtype=_record_type(tuple(numbers), tuple(map(type, values))))


@lru_cache
def _record_type(names: tuple[str, ...], kinds: tuple[type, ...]) -> np.dtype[Any]:
    as_compiled = {int: np.int64, float: np.float64, bool: np.bool_}
    return np.dtype((np.record, [(name, as_compiled[kind]) for name, kind in zip(names, kinds, strict=True)]))


class Thresholds(NamedTuple):
    """Slope and offset of consecutive rounds; an infinite slope beats nobody."""

    slopes: Array
    offsets: Array


class Progress(NamedTuple):
    """How far a game has come, and where it must end."""

    n_rounds: int
    n_queries: int
    n_queried: int  # arms that are still queried
    n_candidates: int  # arms that may still be the best
    next_exit: int = FOREVER  # the next round after which an arm is no longer queried
    ended: int = GOING_ON
    max_rounds: int = FOREVER  # the game ends before it would exceed these
    max_queries: int = FOREVER


class Board(NamedTuple):
    """The state of one elimination game with K arms."""

    arms: Indices  # by place: which arm stands there
    means: Array  # by place: mean over the rounds of that arm
    sum_squares: Array  # by place: centred sum of squares of the arm
    squares: Array  # by two places, row > column: centred sum of squares of the difference; may be empty
    is_out: NDArray[np.bool_]  # by place: whether the arm is no candidate any more
    deviation: Array  # scratch. By place: the reward minus the mean before it. Bets on pairs then reuse it, by arm,
    # for the differences of a round (`bet_on_all`): whoever needs deviations must read them before that
    lead_at_exit: Array  # by two arms: how far the second was ahead in mean when the first left
    last_round: Indices  # by arm: queried up to and including this round
    beaten_round: Indices  # by arm: 0 if never beaten
    beaten_by: Indices  # by arm
    margin: Array  # by arm: by how much the boundary was exceeded
    progress: NDArray[Any]  # a record of `Progress`

    @property
    def now(self) -> Progress:
        """How far the game has come."""
        return Progress(*self.progress.item())

    @property
    def n_rounds(self) -> int:
        """Rounds that were played."""
        return int(self.progress["n_rounds"].item())

    @property
    def n_queried(self) -> int:
        """Arms that are still queried."""
        return int(self.progress["n_queried"].item())


def new_board(n_arms: int, of_pairs: bool = True) -> Board:
    """A board before the first round; unless ``of_pairs``, its arrays of pairs are empty."""
    K = n_arms
    pairs = (K, K) if of_pairs else (0, 0)
    return Board(
        arms=np.arange(K),
        means=np.zeros(K),
        sum_squares=np.zeros(K),
        squares=np.zeros(pairs),
        is_out=np.zeros(K, dtype=np.bool_),
        deviation=np.zeros(K),
        lead_at_exit=np.full(pairs, np.nan),
        last_round=np.full(K, FOREVER),
        beaten_round=np.zeros(K, dtype=np.int64),
        beaten_by=np.full(K, -1, dtype=np.int64),
        margin=np.full(K, np.nan),
        progress=record(**Progress(0, 0, K, K)._asdict()),
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

    weights: Array  # (K, K): where the solver starts for each arm
    proofs: Array  # (K, K): the weights that beat an arm
    progress: NDArray[Any]  # a record: see `new_search`


def new_search(n_arms: int) -> ConvexSearch:
    """A search before the first look."""
    pairs = (n_arms, n_arms)
    progress = record(n_looks=0, n_solved=0, n_uncertified=0, next_look=0)
    return ConvexSearch(np.zeros(pairs), np.zeros(pairs), progress)


class Duel(NamedTuple):
    """The state of one LUCB game with K arms."""

    sums: Array
    counts: Indices
    progress: NDArray[Any]  # a record: see `new_duel`


def new_duel(n_arms: int) -> Duel:
    """A LUCB game before the first round."""
    progress = record(n_rounds=0, n_queries=0, leader=-1, challenger=-1)
    return Duel(np.zeros(n_arms), np.zeros(n_arms, dtype=np.int64), progress)
