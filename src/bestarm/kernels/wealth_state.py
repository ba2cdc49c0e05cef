"""What compiled bets work on: wealth and what it is bet on, plain arrays allocated once per game, and the rules.

Four kinds of bets: on every pair of arms (`Purse`), on averages of the leaders so far (`Leaders`), on one rival of each
arm (`Rivals`), and on combinations of arms that are learned (`Folio`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class WealthRule(NamedTuple):
    """How wealth is made and judged, in units of rewards scaled to an interval of length one."""

    keep: float
    zone: float
    epsilon: float
    scale: float  # brings rewards to length one
    pool: int  # items of a pool without replacement, 0 if rounds are independent
    cap: float  # the largest share of a purse that one round can lose
    threshold: float  # of the wealth summed over opponents, with that of the arm itself
    low: float = 0.0  # the lower bound of rewards
    single: float = 0.0  # what the one wealth against an arm, in portfolios or on the leaders, counts in that sum
    paired: bool = True  # whether there are bets on pairs
    pause: bool = False  # whether a game stops when its leaders are renewed, for a look at what is known by then
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
    wealth: NDArray[np.float64]  # (K): the same, not as logarithms
    renewal: NDArray[np.int64]  # (1): the bets are renewed after this round


def new_folio(n_arms: int) -> Folio:
    """Portfolios before the first round: nothing is bet."""
    return Folio(np.zeros((n_arms, n_arms)), np.zeros(n_arms), np.ones(n_arms), np.full(1, FIRST_RENEWAL))


FIRST_RENEWAL = 8
# Places in `Leaders.counts` and `Leaders.pooled`.
COLUMNS, SEEN, RENEWAL = range(3)
SQUARES, VARIANCE = range(2)


class Leaders(NamedTuple):
    """The wealth of bets on averages of the leaders so far: one against each arm, nothing kept of pairs.

    A column holds a queried candidate. The first columns are those with the largest means when the leaders were last
    renewed, in their order; which arms stand there, and whose average a bet is on, is fixed before a round begins.
    """

    bets: NDArray[np.float64]  # (G)
    weights: NDArray[np.float64]  # (G), of the bets
    sizes: NDArray[np.int64]  # (H): of how many leaders an average is
    arms: NDArray[np.int64]  # (K), by column
    column_of: NDArray[np.int64]  # (K), by arm
    failing: NDArray[np.bool_]  # (K), by arm: disqualified in the round that comes next, which it ends with the worst
    wealth: NDArray[np.float64]  # (G, K), by bet and column
    total: NDArray[np.float64]  # (K), by arm: summed over the bets; stays as it was when an arm is no longer queried
    choice: NDArray[np.int64]  # (G, K): which average a bet is on; -1 is none
    sums: NDArray[np.float64]  # (K), by column: S, of the scaled rewards
    risked: NDArray[np.float64]  # (K), by column: q, the sum of squares of what the largest bet was on
    gained: NDArray[np.float64]  # (H, K): A1, the sum of Y with the leaders of each round as they were
    squares: NDArray[np.float64]  # (H, K): A2, the same of Y^2
    against: NDArray[np.float64]  # (H, K): scratch, Y
    behind: NDArray[np.float64]  # (H, K): scratch, the same difference of the sums
    reach: NDArray[np.float64]  # (K): scratch, the largest bet, and then the wealth of all bets
    scratch: NDArray[np.float64]  # (K)
    order: NDArray[np.int64]  # (K): scratch
    pooled: NDArray[np.float64]  # SQUARES, VARIANCE: Q and V, of differences, averaged over pairs
    counts: NDArray[np.int64]  # COLUMNS, SEEN, RENEWAL: the leaders are renewed before this round


def new_leaders(
    n_arms: int, bets: NDArray[np.float64], weights: NDArray[np.float64], sizes: NDArray[np.int64]
) -> Leaders:
    """The bets on leaders before the first round, in which there are none yet."""
    K, G, H = n_arms, bets.size, sizes.size
    return Leaders(
        bets=bets,
        weights=weights,
        sizes=sizes,
        arms=np.arange(K),
        column_of=np.arange(K),
        failing=np.zeros(K, dtype=np.bool_),
        wealth=np.repeat(weights[:, None], K, axis=1),
        total=np.ones(K),
        choice=np.full((G, K), -1),
        sums=np.zeros(K),
        risked=np.zeros(K),
        gained=np.zeros((H, K)),
        squares=np.zeros((H, K)),
        against=np.zeros((H, K)),
        behind=np.zeros((H, K)),
        reach=np.zeros(K),
        scratch=np.zeros(K),
        order=np.zeros(K, dtype=np.int64),
        pooled=np.zeros(2),
        counts=np.array([K, 0, 0]),
    )


class Course(NamedTuple):
    """Whom the bets on leaders were on, so that they can be made again: an entry for each time they were renewed."""

    first_rounds: NDArray[np.int64]  # (E): the round from which on an entry holds, until the next one does
    leaders: NDArray[np.int64]  # (E, FIRST): the arms with the largest means, in their order; -1 is nobody
    choice: NDArray[np.int8]  # (E, G, K), by bet and arm: which average it is on; -1 is none
    variances: NDArray[np.float64]  # (E): V, of differences, averaged over pairs
    n_entries: NDArray[np.int64]  # (1)


FIRST = 17  # leaders that are in order: the largest average is of 16, and an arm is left out of its own
FEWEST_ENTRIES = 64


def new_course(n_arms: int, n_bets: int) -> Course:
    """A course before the first round, with room for some entries."""
    E = FEWEST_ENTRIES
    return Course(
        first_rounds=np.zeros(E, dtype=np.int64),
        leaders=np.full((E, FIRST), -1),
        choice=np.full((E, n_bets, n_arms), -1, dtype=np.int8),
        variances=np.zeros(E),
        n_entries=np.zeros(1, dtype=np.int64),
    )


def with_room(course: Course) -> Course:
    """The same course with room for at least one more entry."""
    if course.n_entries[0] < course.first_rounds.size:
        return course
    return Course(
        first_rounds=_twice(course.first_rounds),
        leaders=_twice(course.leaders),
        choice=_twice(course.choice),
        variances=_twice(course.variances),
        n_entries=course.n_entries,
    )


def _twice(part: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([part, np.zeros_like(part)])


class Inquiry(NamedTuple):
    """The wealth against some arms if one arm, the leader, were worse than they are by each of several shifts.

    A shift is ruled out once the wealth has reached the threshold; larger shifts have more wealth, so those that are
    left are the smallest.
    """

    arms: NDArray[np.int64]  # (n)
    shifts: NDArray[np.float64]  # (R), increasing; beyond the indifference zone, where there is one
    on_leaders: NDArray[np.float64]  # (n, G, R), by bet: the wealth of the bets on averages of leaders
    on_pair: NDArray[np.float64]  # (n, B, R), by bet: that of the bets on the one arm; B is 0 without bets on pairs
    risked: NDArray[np.float64]  # (n): q, as in `Leaders`
    n_left: NDArray[np.int64]  # (n): how many of the shifts are left
    sums: NDArray[np.float64]  # (K): of the scaled rewards, by arm
    place: NDArray[np.int64]  # (K): scratch, the place of an arm among the leaders
    firsts: NDArray[np.float64]  # (2, FIRST + 1): scratch, rewards and sums of the first leaders, added up
    totals: NDArray[np.float64]  # (n, 2, R): the wealth on leaders summed over the bets, before a round and after it
    pair_totals: NDArray[np.float64]  # (n, 2, R): the same on the pair


def new_inquiry(
    n_arms: int,
    arms: NDArray[np.int64],
    shifts: NDArray[np.float64],
    weights: NDArray[np.float64],
    pair_weights: NDArray[np.float64],
) -> Inquiry:
    """The wealth before the first round, with these weights of the bets."""
    n, R = arms.size, shifts.size
    return Inquiry(
        arms=arms,
        shifts=shifts,
        on_leaders=np.tile(weights[:, None], (n, 1, R)),
        on_pair=np.tile(pair_weights[:, None], (n, 1, R)),
        risked=np.zeros(n),
        n_left=np.full(n, R),
        sums=np.zeros(n_arms),
        place=np.zeros(n_arms, dtype=np.int64),
        firsts=np.zeros((2, FIRST + 1)),
        totals=np.ones((n, 2, R)),
        pair_totals=np.full((n, 2, R), min(1.0, pair_weights.sum())),
    )


class Wealth(NamedTuple):
    """The wealth of the bets on pairs in a game."""

    sums: NDArray[np.float64]  # (K, K): sum of the scaled differences so far, by two arms
    purse: Purse  # against "not better"
    near: Purse | None  # against "not better by more than -epsilon"; None without epsilon


class Led(NamedTuple):
    """The bets on leaders of a game, and who they were so far."""

    leaders: Leaders
    course: Course


class RivalRule(NamedTuple):
    """How the wealth of bets on rivals is judged, and beside it a boundary on moments, in units of rewards."""

    keep: float
    zone: float
    epsilon: float
    threshold: float  # of the wealth against an arm
    constant_from: int  # the round from which on differences that were all the same may be judged by the boundary


class Rivals(NamedTuple):
    """The wealth against each arm of bets on its rival, the leader so far: fixed before a round begins."""

    effects: NDArray[np.float64]  # (G): bets, in standard deviations of the difference
    rival: NDArray[np.int64]  # (K), by arm: whom it is bet on; -1 is nobody
    scale: NDArray[np.float64]  # (K), by arm: the standard deviation of the difference that is bet on
    failing: NDArray[np.bool_]  # (K), by arm: disqualified in the round that comes next, though it was bet on
    wealth: NDArray[np.float64]  # (K, G), by arm and bet
    total: NDArray[np.float64]  # (K), by arm: summed over the bets
    first: NDArray[np.float64]  # (FIRST_ROUNDS, K): the rewards of the first rounds
    renewal: NDArray[np.int64]  # (1): the rivals are renewed before this round


FIRST_ROUNDS = 500


def new_rivals(n_arms: int, effects: NDArray[np.float64]) -> Rivals:
    """The bets on rivals before the first round, in which there are none yet."""
    K, G = n_arms, effects.size
    return Rivals(
        effects=effects,
        rival=np.full(K, -1),
        scale=np.ones(K),
        failing=np.zeros(K, dtype=np.bool_),
        wealth=np.full((K, G), 1.0 / G),
        total=np.ones(K),
        first=np.zeros((FIRST_ROUNDS, K)),
        renewal=np.zeros(1, dtype=np.int64),
    )
