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


def new_board(n_arms: int, with_squares: bool = True) -> Board:
    """A board before the first round."""
    K = n_arms
    return Board(
        arms=np.arange(K),
        means=np.zeros(K),
        own=np.zeros(K),
        squares=np.zeros((K, K) if with_squares else (0, 0)),
        bar=np.zeros(K),
        deviation=np.zeros(K),
        parted=np.full((K, K), np.nan),
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


class WealthRule(NamedTuple):
    """How wealth is made and judged, in units of rewards scaled to an interval of length one."""

    keep: float
    zone: float
    epsilon: float
    scale: float  # brings rewards to length one
    pool: int  # items of a pool without replacement, 0 if rounds are independent
    cap: float  # the largest share of a purse that one round can lose
    threshold: float  # of the wealth summed over opponents
    signs: bool = False  # bet on the signs of differences: wins, and no leads in rewards


class Purse(NamedTuple):
    """The wealth of bets on every difference of K arms against one kind of null hypothesis.

    Row ``row_of[i]``, column ``j`` bets that ``j`` is better than ``i``. Nobody bets against an arm that is out, so its
    row can be given back (`with_rows`); what was bet *on* it still counts, so its column cannot. The wealth of a bet is
    ``exp(log_wealth) * growth``; every so many rounds the growth is folded into the logarithm, so that it neither over-
    nor underflows. Columns are padded to whole vector registers; what is padded has no wealth. Bets that still sleep
    are not among these bets.
    """

    bets: NDArray[np.float64]  # (G)
    weights: NDArray[np.float64]  # (G), of the bets
    row_of: NDArray[np.int64]  # (K), by arm: the row of the bets against it
    log_wealth: NDArray[np.float64]  # (rows, G, columns), without the weights
    wealth: NDArray[np.float64]  # (rows, G, columns): weight * exp(log_wealth)
    growth: NDArray[np.float64]  # (rows, G, columns)
    asleep: NDArray[np.float64]  # (rows, columns): the wealth of the pair in bets that sleep
    total: NDArray[np.float64]  # (rows, columns): weighted wealth of the pair now
    gain: NDArray[np.float64]  # (columns): scratch, the difference minus its null mean
    largest: NDArray[np.float64]  # (columns): scratch, the largest bet allowed


REGISTER = 8


def new_purse(n_arms: int, bets: NDArray[np.float64], weights: NDArray[np.float64], reserve: float) -> Purse:
    """A purse before the first bet: wealth one for every pair, a share of it asleep."""
    columns = -(-n_arms // REGISTER) * REGISTER
    shape = (n_arms, weights.size, columns)
    awake = (1.0 - reserve) * weights
    pairs = np.zeros((n_arms, columns))
    pairs[:, :n_arms] = 1.0 - np.eye(n_arms)
    return Purse(
        bets=bets,
        weights=awake,
        row_of=np.arange(n_arms),
        log_wealth=np.zeros(shape),
        wealth=awake[:, None] * pairs[:, None, :],
        growth=np.ones(shape),
        asleep=reserve * pairs,
        total=pairs,
        gain=np.zeros(columns),
        largest=np.zeros(columns),
    )


def with_bet(purse: Purse, bet: float, weight: float, asleep: float) -> Purse:
    """The purse when one more bet wakes: its weight is the wealth of every pair that had wealth asleep until now."""
    sleeping = purse.asleep > 0.0
    layer = sleeping[:, None, :]
    return purse._replace(
        bets=np.append(purse.bets, bet),
        weights=np.append(purse.weights, weight),
        log_wealth=np.concatenate([purse.log_wealth, np.where(layer, 0.0, -np.inf)], axis=1),
        wealth=np.concatenate([purse.wealth, weight * layer], axis=1),
        growth=np.concatenate([purse.growth, np.ones(layer.shape)], axis=1),
        asleep=np.where(sleeping, asleep, 0.0),
    )


def with_rows(purse: Purse, arms: NDArray[np.int64]) -> Purse:
    """The purse with the bets against these arms alone: nobody may bet against another from here on."""
    kept, row_of = purse.row_of[arms], np.full_like(purse.row_of, -1)
    row_of[arms] = np.arange(arms.size)
    return purse._replace(
        row_of=row_of,
        log_wealth=purse.log_wealth[kept],
        wealth=purse.wealth[kept],
        growth=purse.growth[kept],
        asleep=purse.asleep[kept],
        total=purse.total[kept],
    )


def without_wealth_on(purse: Purse, arm: int) -> Purse:
    """The same purse, in which all is lost that was bet on an arm."""
    purse.log_wealth[:, :, arm] = -np.inf
    purse.wealth[:, :, arm] = 0.0
    purse.asleep[:, arm] = 0.0
    purse.total[:, arm] = 0.0
    return purse


class Folio(NamedTuple):
    """The portfolio against each arm: its bets on the others, its wealth, and when its bets are renewed."""

    bets: NDArray[np.float64]  # (K, K): row i, column j: the share bet on j against i
    log_wealth: NDArray[np.float64]  # (K)
    renewal: NDArray[np.int64]  # (1): the bets are renewed after this round


def new_folio(n_arms: int) -> Folio:
    """Portfolios before the first round: nothing is bet."""
    return Folio(np.zeros((n_arms, n_arms)), np.zeros(n_arms), np.full(1, FIRST_RENEWAL))


FIRST_RENEWAL = 8


class Wealth(NamedTuple):
    """The wealth of all bets of a game."""

    sums: NDArray[np.float64]  # (K, K): sum of the scaled differences so far, by two arms
    purse: Purse  # against "not better"
    near: Purse  # against "not better by more than -epsilon"; of one arm, and not used, where there is no epsilon
    folio: Folio  # empty where there are no portfolios


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
