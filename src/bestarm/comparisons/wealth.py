"""The evidence of bets: the wealth that they have made on all differences."""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bestarm.comparisons.evidence import Criterion, Evidence, Goal
from bestarm.comparisons.history import History
from bestarm.kernels.state import (
    FOREVER,
    LeaderBets,
    PairBets,
    PairWealth,
    PortfolioState,
    WealthRule,
    lose_wealth_on,
    new_pair_wealth,
    only_against,
    with_bet,
)
from bestarm.values import Array, Indices

if TYPE_CHECKING:
    from bestarm.comparisons.betting import Betting


# A bet of lambda makes most where the lead is about lambda times the second moment of the difference, and loses in the
# long run where it is less than half of that: some leads are too small for the smallest bet of a comparison. So a share
# of the wealth is reserved for smaller and smaller bets, which sleep: each stays at its first weight until the round in
# which it could begin to matter, and only from then on costs time. Such a delayed bet is as valid as any other, because
# the round in which it wakes is fixed in advance. (Bets on leaders also move a little of their wealth to each other in
# every round, so that a bet that was wrong at first can recover: "fixed share". docs/theory.md has the mathematics.)
# These values were chosen by their power, `benchmarks/queries.py power`; the optimum is flat.
RESERVE = 1 / 16  # the share of the wealth that is kept for bets that sleep
HALVING = 0.5  # each bet is so much smaller than the one before it,
FADING = 0.5  # and has so much less weight
WAKING = 0.25  # a bet wakes in round WAKING / bet^2: until then the best it could do is less than a factor of two
SMALLEST_SQUARED = 1e-150  # bets are not squared below this, so that the square is not rounded to 0


class Mixture(NamedTuple):
    """Bets with their weights, which sum to one, and the rounds in which they begin to bet."""

    bets: Array
    weights: Array
    first_rounds: Indices


def mixture(bets: Array, weights: Array, reserve: float, n_rounds: int) -> Mixture:
    """The bets that are awake from the start, those that wake within so many rounds, and a bet of 0 for the others."""
    smallest, asleep = float(bets.min()), reserve
    delayed: list[tuple[float, float, int]] = []  # bets, weights and rounds
    while asleep > 0.0:
        smallest *= HALVING
        wakes = ceil(min(WAKING / max(smallest, SMALLEST_SQUARED) ** 2, FOREVER))
        if wakes > n_rounds:
            delayed.append((0.0, asleep, FOREVER))
            break
        delayed.append((smallest, (1.0 - FADING) * asleep, wakes))
        asleep *= FADING
    return Mixture(
        np.concatenate([bets, [bet for bet, _, _ in delayed]]),
        np.concatenate([(1.0 - reserve) * weights, [weight for _, weight, _ in delayed]]),
        np.array([1] * bets.size + [wakes for _, _, wakes in delayed]),
    )


MANY_ROWS = 64  # with at least so many rows of bets, it is worth giving back those against arms that are out
CAP = 0.99  # the largest share of the wealth that one round can lose


class WealthEvidence(Evidence):
    """The wealth of bets on all differences, or on their signs where the criterion is wins.

    Bounds on differences need the rewards themselves, so these are kept. ``share`` is the share of the wealth in bets
    on pairs: less than 1 where a subclass has bets of another kind beside them. A subclass may also do without bets
    ``on_pairs``, and ``pause`` when its leaders are renewed.
    """

    keeps_pairs = False

    def __init__(
        self,
        n_arms: int,
        betting: "Betting",
        goal: Goal,
        criterion: Criterion = "mean",
        *,
        share: float = 1.0,
        on_pairs: bool = True,
        pause: bool = False,
    ) -> None:
        super().__init__(n_arms)
        self.betting = betting
        self.criterion = criterion
        self.rule = self._rule(goal, share, pause)
        self.pairs = PairBets(np.zeros((n_arms, n_arms)), self._pair_wealth()) if on_pairs else None
        self.near: PairWealth | None = self._pair_wealth() if self.rule.epsilon > 0.0 else None
        self.history = History(self.board)
        self._mixture = betting.mixture(FOREVER - 1)

    def _rule(self, goal: Goal, share: float, pause: bool) -> WealthRule:
        # Arm i is out when share * mean_j(pair wealth of j against i) + (1 - share) * (wealth on chosen opponents)
        # >= 1 / delta, with the mean over the K - 1 others. Multiplied by (K - 1) / share that is
        # sum_j(pair wealth) + chosen * (wealth on chosen opponents) >= threshold.
        betting, scale, others = self.betting, self.betting.scale, self.board.arms.size - 1
        return WealthRule(
            keep=float(goal.keep),
            zone=goal.indifference_zone * scale,
            epsilon=goal.epsilon * scale,
            scale=scale,
            pool=betting.pool or 0,
            cap=CAP,
            threshold=others / (share * goal.delta),
            low=betting.bounds[0],
            chosen=others * (1.0 - share) / share,
            pause=pause,
            signs=self.criterion == "wins",
        )

    def _pair_wealth(self) -> PairWealth:
        bets, weights = np.array(self.betting.bets), np.array(self.betting.weights)
        return new_pair_wealth(self.board.arms.size, bets, weights, self.betting.reserve)

    def _play(self, rows: Array) -> int:
        """Play rounds in which no bet wakes."""
        from bestarm.kernels.wealth import race_wealth

        wins = self.pairs.sums if self.pairs is not None and self.rule.signs else None
        return int(race_wealth(rows, self.board, self.pairs, self.near, wins, *self._chosen(), self.rule))

    def _chosen(self) -> tuple[LeaderBets | None, PortfolioState | None]:
        """The bets on chosen opponents, on leaders or in portfolios, that a subclass has beside those on pairs."""
        return None, None

    def play(self, rows: Array) -> int:
        """Play rounds from whole rows, waking bets on the way, until the end or a pause; the number of rows used."""
        used = 0
        while used < len(rows):
            block = rows[used : used + self._rounds_until_waking()]
            played = self._play(block)
            used += played
            if played < len(block) or (self.rule.pause and self._paused()):
                break
        self.history.add(rows[:used])
        self._give_back()
        return used

    def _paused(self) -> bool:
        """Whether there is something to be looked at before the next round, where the rule has pauses."""
        return False

    def _give_back(self) -> None:
        """Keep the bets against the queried candidates alone, once these are a quarter of those that are kept."""
        board, n_rows = self.board, 0 if self.pairs is None else len(self.pairs.better.total)
        if n_rows >= MANY_ROWS and 4 * min(board.now.n_candidates, board.n_queried) <= n_rows:
            queried = slice(board.n_queried)
            self._change_pairs(partial(only_against, arms=board.arms[queried][~board.is_out[queried]]))

    def _change_pairs(self, change: Callable[[PairWealth], PairWealth]) -> None:
        """Change the wealth of all bets on pairs."""
        if self.pairs is not None:
            self.pairs = PairBets(self.pairs.sums, change(self.pairs.better))
        if self.near is not None:
            self.near = change(self.near)

    def rest(self) -> None:
        """Give back the bets: bounds need the rewards alone."""
        self.board.progress["max_rounds"] = self.board.n_rounds
        self._change_pairs(partial(only_against, arms=self.board.arms[:0]))

    def _rounds_until_waking(self) -> int:
        """How many rounds may be played before the next bet wakes, after waking those whose round is next."""
        next_round, (bets, weights, first_rounds) = self.board.n_rounds + 1, self._mixture
        while self.pairs is not None and (n_awake := self.pairs.better.bets.size) < bets.size:
            if first_rounds[n_awake] > next_round:
                return int(first_rounds[n_awake]) - next_round
            self._change_pairs(partial(with_bet, bet=bets[n_awake], weight=weights[n_awake]))
        return FOREVER

    def shares(self) -> Array:
        """By arm: the wealth of the bets against a queried candidate, as a share of the threshold."""
        board, wealth = self.board, self.rule.chosen * self._wealth_on_chosen()
        queried = slice(board.n_queried)
        for arm in board.arms[queried][~board.is_out[queried]].tolist():
            wealth[arm] += self._wealth_on_pairs(arm)
        return wealth / self.rule.threshold

    def _wealth_on_pairs(self, arm: int) -> float:
        """The wealth of the bets on pairs against an arm; with a zone those count that are on arms ahead of it."""
        if self.pairs is None:
            return 0.0
        wealth, ahead = self.pairs.better, self.pairs.sums[arm]
        others = np.arange(ahead.size)
        counts = (ahead > 0.0) | ((ahead == 0.0) & (others < arm)) if self.rule.zone else others != arm
        return float(wealth.total[wealth.row_of[arm], : ahead.size][counts].sum())

    def _wealth_on_chosen(self) -> Array:
        """By arm: the wealth of the bets on chosen opponents that a subclass has beside those on pairs."""
        return np.zeros(self.board.arms.size)

    def leader(self, candidates: Sequence[int]) -> int | None:
        """In wins: the candidate whose smallest lead over another one is largest, the first of them."""
        if self.criterion == "mean" or self.pairs is None:
            return None
        arms = np.array(candidates)
        last = np.minimum(self.board.last_round[arms], self.board.n_rounds)
        shared = np.maximum(np.minimum(last[:, None], last[None, :]), 1)
        leads = -self.pairs.sums[np.ix_(arms, arms)] / shared
        np.fill_diagonal(leads, np.inf)
        return int(arms[np.argmax(leads.min(axis=1))])

    def lead(self, a: int, b: int) -> float:
        """The mean of arm a minus that of arm b (or its wins) over the rounds that the two shared; NaN without any."""
        board = self.board
        if self.criterion == "mean" and min(board.last_round[a], board.last_round[b]) >= board.n_rounds > 0:
            at_a, at_b = np.flatnonzero(board.arms == a), np.flatnonzero(board.arms == b)
            return float(board.means[at_a[0]] - board.means[at_b[0]])
        differences = self._differences(a, b)
        return float(differences.mean()) if differences.size else np.nan

    def _differences(self, a: int, b: int) -> Array:
        """The rewards of arm a minus those of arm b in the rounds that the two shared, or their signs."""
        differences = self.history.differences(a, b)
        return np.sign(differences) if self.rule.signs else differences

    def lead_bound(self, a: int, b: int, simultaneous: bool) -> float:
        """A lower confidence bound for the lead of arm a over arm b: the wealth of the bets rules out smaller leads."""
        return self._lead_bound(a, b, simultaneous)

    def smallest_lead_bound(self, a: int, others: Sequence[int]) -> float:
        """The smallest of several such bounds; most are seen at one look to be above the smallest so far."""
        smallest, means = np.inf, dict(zip(self.board.arms.tolist(), self.board.means.tolist(), strict=True))
        for b in sorted(others, key=lambda arm: -means[arm]):
            smallest = min(smallest, self._lead_bound(a, b, False, smallest))
        return smallest

    def _lead_bound(self, a: int, b: int, simultaneous: bool, most: float = np.inf) -> float:
        """The lower bound for a lead; it may stop early once it exceeds ``most``."""
        differences, K = self._differences(a, b), self.board.arms.size
        if differences.size == 0:
            return -1.0 / self.betting.scale
        if differences.size == self.betting.pool:
            return float(differences.mean())
        log_threshold = self._log_threshold + (np.log(K) if simultaneous else 0.0)
        return self.betting.lower_bound(differences, float(log_threshold), most)

    @property
    def _log_threshold(self) -> float:
        """Of the wealth on a single pair."""
        return float(np.log(self.rule.threshold))

    def discard_evidence(self, arm: int) -> None:
        """Lose what was bet on an arm: averaged wealth that stops when a round is seen is no supermartingale."""
        self._change_pairs(partial(lose_wealth_on, arm=arm))
