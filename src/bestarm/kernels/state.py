"""What the compiled loops work on: the state of a game, plain arrays allocated once per game, and its rules.

An elimination game lives on a `Board`. Its arrays that are indexed by *place* hold the queried arms ``C`` at the first
places, in increasing order, and the arms that have left behind them, so that the inner loops run over contiguous
memory and the statistics of those that left stay as they were. Single numbers that change are `named_numbers`.

There are four kinds of bets: on every pair of arms (`PairWealth`), on averages of the leaders so far (`Leaders`), on
one rival of each arm (`Rivals`), and on combinations of arms that are learned (`PortfolioState`). Beside them is what
is needed to make bets on leaders again for a regret bound: their `PastLeaders`, and the wealth with shifted means
(`ShiftedWealth`).
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestarm.values import Array, Indices

FOREVER = np.iinfo(np.int64).max
# How a game has ended; one with one candidate left has ended whatever this says.
GOING_ON, WITHIN_EPSILON, POOL_EXHAUSTED = range(3)


def named_numbers(**numbers: float) -> NDArray[Any]:
    """Named numbers, each an int, a float or a flag, that compiled code changes in place: an array of one record."""
    values = tuple(numbers.values())
    return np.array([values], dtype=_type_of_numbers(tuple(numbers), tuple(map(type, values))))


@lru_cache
def _type_of_numbers(names: tuple[str, ...], kinds: tuple[type, ...]) -> np.dtype[Any]:
    as_compiled = {int: np.int64, float: np.float64, bool: np.bool_}
    return np.dtype((np.record, [(name, as_compiled[kind]) for name, kind in zip(names, kinds, strict=True)]))


# --- the board and boundaries ----------------------------------------------------------------------------------------


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
    deviation: Array  # scratch, by place: the reward minus the mean before it
    lead_at_exit: Array  # by two arms: how far the second was ahead in mean when the first left
    last_round: Indices  # by arm: queried up to and including this round
    beaten_round: Indices  # by arm: 0 if never beaten
    beaten_by: Indices  # by arm
    margin: Array  # by arm: by how much the boundary was exceeded
    progress: NDArray[Any]  # the named numbers of `Progress`

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
        progress=named_numbers(**Progress(0, 0, K, K)._asdict()),
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
    progress: NDArray[Any]  # named numbers: see `new_search`


def new_search(n_arms: int) -> ConvexSearch:
    """A search before the first look."""
    pairs = (n_arms, n_arms)
    progress = named_numbers(n_looks=0, n_solved=0, n_uncertified=0, next_look=0)
    return ConvexSearch(np.zeros(pairs), np.zeros(pairs), progress)


class Duel(NamedTuple):
    """The state of one LUCB game with K arms."""

    sums: Array
    counts: Indices
    progress: NDArray[Any]  # named numbers: see `new_duel`


def new_duel(n_arms: int) -> Duel:
    """A LUCB game before the first round."""
    progress = named_numbers(n_rounds=0, n_queries=0, leader=-1, challenger=-1)
    return Duel(np.zeros(n_arms), np.zeros(n_arms, dtype=np.int64), progress)


# --- bets ------------------------------------------------------------------------------------------------------------

FIRST_RENEWAL = 8  # the round after which the bets of portfolios are learned for the first time
FIRST = 17  # leaders that are in order: the largest average is of 16, and an arm is left out of its own
FIRST_ROUNDS = 500  # whose rewards are kept, to see how many values differences take
FEWEST_ENTRIES = 64  # of renewals of leaders that there is room for at first
REGISTER = 8  # numbers in a vector register
# Bets on leaders and on rivals alike.
SHARE = 0.2  # of the wealth, divided by the round, that is spread over the bets again: fixed share
REACH = 4.0  # bets are at most so many standard errors: they shrink, and every lead is found
GROWTH = 0.02  # leaders and rivals are renewed when the rounds have grown by this share
EXHAUSTED = 1e-280  # less wealth than this is none: it would only make the arithmetic slow


class WealthRule(NamedTuple):
    """How wealth is made and judged, in units of rewards scaled to an interval of length one."""

    keep: float
    zone: float
    epsilon: float
    scale: float  # brings rewards to length one
    pool: int  # items of a pool without replacement, 0 if rounds are independent
    cap: float  # the largest share of the wealth that one round can lose
    threshold: float  # of the wealth summed over opponents, with that on chosen ones
    low: float = 0.0  # the lower bound of rewards
    chosen: float = 0.0  # what the wealth against an arm on chosen opponents, leaders or portfolios, counts in that sum
    pause: bool = False  # whether a game stops when its leaders are renewed, for a look at what is known by then
    signs: bool = False  # bet on the signs of differences: wins, and no leads in rewards


class PairWealth(NamedTuple):
    """The wealth of bets on every difference of K arms against one kind of null hypothesis.

    Row ``row_of[i]``, column ``j`` bets that ``j`` is better than ``i``. Nobody bets against an arm that is out, so its
    row can be given back (`only_against`); what was bet *on* it still counts, so its column cannot. The wealth of a bet
    is ``exp(log_wealth) * growth``; every so many rounds the growth is folded into the logarithm, so that it neither
    over- nor underflows. Columns are padded to whole vector registers; what is padded has no wealth. Bets that still
    sleep are not among these bets.
    """

    bets: Array  # (G)
    weights: Array  # (G), of the bets
    row_of: Indices  # (K), by arm: the row of the bets against it
    log_wealth: Array  # (rows, G, columns), without the weights
    folded: Array  # (rows, G, columns): weight * exp(log_wealth), the weighted wealth when growth was folded last
    growth: Array  # (rows, G, columns)
    asleep: Array  # (rows, columns): the wealth of the pair in bets that sleep
    total: Array  # (rows, columns): weighted wealth of the pair now
    gain: Array  # (columns): scratch, the difference minus its null mean
    largest: Array  # (columns): scratch, the largest bet allowed
    differences: Array  # (K): scratch, by how much each arm is better than another one in this round


def new_pair_wealth(n_arms: int, bets: Array, weights: Array, reserve: float) -> PairWealth:
    """Before the first bet: wealth one for every pair, a share of it asleep."""
    columns = -(-n_arms // REGISTER) * REGISTER
    shape = (n_arms, weights.size, columns)
    awake = (1.0 - reserve) * weights
    pairs = np.zeros((n_arms, columns))
    pairs[:, :n_arms] = 1.0 - np.eye(n_arms)
    return PairWealth(
        bets=bets,
        weights=awake,
        row_of=np.arange(n_arms),
        log_wealth=np.zeros(shape),
        folded=awake[:, None] * pairs[:, None, :],
        growth=np.ones(shape),
        asleep=reserve * pairs,
        total=pairs,
        gain=np.zeros(columns),
        largest=np.zeros(columns),
        differences=np.zeros(n_arms),
    )


def with_bet(wealth: PairWealth, bet: float, weight: float) -> PairWealth:
    """The wealth when one more bet wakes: its weight is the wealth of every pair that had wealth asleep until now."""
    sleeping = wealth.asleep > 0.0
    layer = sleeping[:, None, :]
    return wealth._replace(
        bets=np.append(wealth.bets, bet),
        weights=np.append(wealth.weights, weight),
        log_wealth=np.concatenate([wealth.log_wealth, np.where(layer, 0.0, -np.inf)], axis=1),
        folded=np.concatenate([wealth.folded, weight * layer], axis=1),
        growth=np.concatenate([wealth.growth, np.ones(layer.shape)], axis=1),
        asleep=np.where(sleeping, wealth.asleep - weight, 0.0),
    )


def only_against(wealth: PairWealth, arms: Indices) -> PairWealth:
    """The wealth of the bets against these arms alone: nobody may bet against another from here on."""
    kept, row_of = wealth.row_of[arms], np.full_like(wealth.row_of, -1)
    row_of[arms] = np.arange(arms.size)
    return wealth._replace(
        row_of=row_of,
        log_wealth=wealth.log_wealth[kept],
        folded=wealth.folded[kept],
        growth=wealth.growth[kept],
        asleep=wealth.asleep[kept],
        total=wealth.total[kept],
    )


def lose_wealth_on(wealth: PairWealth, arm: int) -> PairWealth:
    """Lose all that was bet on an arm, in place."""
    wealth.log_wealth[:, :, arm] = -np.inf
    wealth.folded[:, :, arm] = 0.0
    wealth.asleep[:, arm] = 0.0
    wealth.total[:, arm] = 0.0
    return wealth


class PairBets(NamedTuple):
    """The bets on pairs in a game."""

    sums: Array  # (K, K): [i, j] is the sum of the rewards of j minus those of i so far, scaled; in wins of the signs
    better: PairWealth  # against "not better"


class PortfolioState(NamedTuple):
    """The portfolio against each arm: its bets on the others, its wealth, and when its bets are renewed."""

    bets: Array  # (K, K): row i, column j: the share bet on j against i
    log_wealth: Array  # (K)
    wealth: Array  # (K): exp(log_wealth)
    progress: NDArray[Any]  # named numbers: see `new_portfolio`


def new_portfolio(n_arms: int) -> PortfolioState:
    """Portfolios before the first round: nothing is bet."""
    progress = named_numbers(next_renewal=FIRST_RENEWAL)  # the bets are renewed after this round
    return PortfolioState(np.zeros((n_arms, n_arms)), np.zeros(n_arms), np.ones(n_arms), progress)


class Leaders(NamedTuple):
    """The wealth of bets on averages of the leaders so far: one against each arm, nothing kept of pairs.

    A column holds a queried candidate. The first columns are those with the largest means when the leaders were last
    renewed, in their order; which arms stand there, and whose average a bet is on, is fixed before a round begins.
    """

    bets: Array  # (G)
    weights: Array  # (G), of the bets
    sizes: Indices  # (H): of how many leaders an average is
    arms: Indices  # (K), by column
    column_of: Indices  # (K), by arm
    failing: NDArray[np.bool_]  # (K), by arm: disqualified in the next round, where its reward counts as the worst
    wealth: Array  # (G, K), by bet and column
    total: Array  # (K), by arm: summed over the bets; stays as it was when an arm is no longer queried
    choice: Indices  # (G, K): which average a bet is on; -1 is none
    sums: Array  # (K), by column: S, of the scaled rewards
    risked: Array  # (K), by column: q, the sum of squares of Y, for the average that the largest bet was on
    gained: Array  # (H, K): A1, the sum of Y, each round with the leaders of that round
    squares: Array  # (H, K): A2, the sum of Y^2
    against: Array  # (H, K): scratch, Y: the average of the leaders minus the arm, in this round
    behind: Array  # (H, K): scratch, the same difference of the sums S
    reach: Array  # (K): scratch, first the largest bet allowed, later in the round the wealth summed over the bets
    scratch: Array  # (K)
    order: Indices  # (K): scratch
    progress: NDArray[Any]  # named numbers: see `new_leaders`


def new_leaders(n_arms: int, bets: Array, weights: Array, sizes: Indices) -> Leaders:
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
        progress=named_numbers(
            n_columns=K,
            n_seen=0,  # rounds with bets on leaders
            next_renewal=0,  # the leaders are renewed before this round
            pooled_squares=0.0,  # Q, of differences, averaged over pairs
            pooled_variance=0.0,  # V
            any_failing=False,  # then the leaders are renewed after the next round
        ),
    )


class PastLeaders(NamedTuple):
    """Whom the bets on leaders were on, so that they can be made again: an entry for each time they were renewed."""

    first_rounds: Indices  # (E): the round from which on an entry holds, until the next one does
    leaders: Indices  # (E, FIRST): the arms with the largest means, in their order; -1 is nobody
    choice: NDArray[np.int8]  # (E, G, K), by bet and arm: which average it is on; -1 is none
    variances: Array  # (E): V, of differences, averaged over pairs
    n_entries: Indices  # (1)


def new_past_leaders(n_arms: int, n_bets: int) -> PastLeaders:
    """No entries before the first round, and room for some."""
    E = FEWEST_ENTRIES
    return PastLeaders(
        first_rounds=np.zeros(E, dtype=np.int64),
        leaders=np.full((E, FIRST), -1),
        choice=np.full((E, n_bets, n_arms), -1, dtype=np.int8),
        variances=np.zeros(E),
        n_entries=np.zeros(1, dtype=np.int64),
    )


def with_room(past: PastLeaders) -> PastLeaders:
    """The entries with room for at least one more."""
    if past.n_entries[0] < past.first_rounds.size:
        return past
    doubled = {name: np.concatenate([part, np.zeros_like(part)]) for name, part in past._asdict().items()}
    return PastLeaders(**doubled | {"n_entries": past.n_entries})


class LeaderBets(NamedTuple):
    """The bets on leaders of a game, and who these were so far."""

    leaders: Leaders
    past: PastLeaders


class ShiftedWealth(NamedTuple):
    """The wealth against some arms if one arm, the leader, were worse than they are by each of several shifts.

    A shift is ruled out once the wealth has reached the threshold; larger shifts have more wealth, so those that are
    left are the smallest.
    """

    leader: int
    arms: Indices  # (n)
    shifts: Array  # (R), increasing; beyond the indifference zone, where there is one
    on_leaders: Array  # (n, G, R), by bet: the wealth of the bets on averages of leaders
    on_pair: Array  # (n, B, R), by bet: that of the bets on the one arm; B is 0 without bets on pairs
    risked: Array  # (n): q, as in `Leaders`
    n_left: Indices  # (n): how many of the shifts are left
    sums: Array  # (K): of the scaled rewards, by arm
    place: Indices  # (K): scratch, the place of an arm among the leaders
    firsts: Array  # (2, FIRST + 1): scratch, rewards and sums of the first leaders, added up
    totals: Array  # (n, 2, R): the wealth on leaders summed over the bets, before a round and after it
    pair_totals: Array  # (n, 2, R): that on the pair


def new_shifted_wealth(
    n_arms: int,
    leader: int,
    arms: Indices,
    shifts: Array,
    weights: Array,
    pair_weights: Array,
) -> ShiftedWealth:
    """The wealth before the first round, with these weights of the bets."""
    n, R = arms.size, shifts.size
    return ShiftedWealth(
        leader=leader,
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


class RivalRule(NamedTuple):
    """How the wealth of bets on rivals is judged, and beside it a boundary on moments, in units of rewards."""

    keep: float
    zone: float
    epsilon: float
    threshold: float  # of the wealth against an arm
    constant_from: int  # the round from which on differences that were all the same may be judged by the boundary


class Rivals(NamedTuple):
    """The wealth against each arm of bets on its rival, the leader so far: fixed before a round begins."""

    effects: Array  # (G): bets, in standard deviations of the difference
    rival: Indices  # (K), by arm: whom it is bet on; -1 is nobody
    scale: Array  # (K), by arm: the standard deviation of the difference that is bet on
    failing: NDArray[np.bool_]  # (K), by arm: disqualified in the round that comes next, though it was bet on
    wealth: Array  # (K, G), by arm and bet
    total: Array  # (K), by arm: summed over the bets
    first: Array  # (FIRST_ROUNDS, K): the rewards of the first rounds
    progress: NDArray[Any]  # named numbers: see `new_rivals`


def new_rivals(n_arms: int, effects: Array) -> Rivals:
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
        progress=named_numbers(
            next_renewal=0,  # the rivals are renewed before this round
            any_failing=False,  # then they are renewed after the next round
        ),
    )
