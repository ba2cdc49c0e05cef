"""The sharper comparison for bounded rewards: betting on the leaders so far."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bestarm.board import ENDED, QUERIED, ROUNDS, WITHIN_EPSILON
from bestarm.checks import check_bounds, check_count, check_share
from bestarm.comparisons.betting import Betting
from bestarm.comparisons.evidence import TRIED, UNIT, Evidence, Goal, Role, bounded, first_round
from bestarm.comparisons.lead_bounds import LeadBounds
from bestarm.comparisons.wealth import WealthEvidence, growth_of_bets
from bestarm.values import shortest_call
from bestarm.wagers import COLUMNS, RENEWAL, Wealth, WealthRule, new_leaders, new_purse

# Chosen with some 250 others on 32 score tables, where the optimum is flat.
BETS: NDArray[np.float64] = 0.95 * 0.5 ** np.arange(8.0)
WEIGHTS: NDArray[np.float64] = BETS**0.6 / (BETS**0.6).sum()
SIZES = np.array([1, 2, 4, 8, 16])  # of the averages of leaders
PAIRS = 1 / 20  # the share of the wealth in bets on pairs
LEADS = 1 / 50  # the share of delta for what is said about leads
FEW_ARMS = 100  # up to which bets on pairs cost little beside an evaluation


class LeaderEvidence(WealthEvidence):
    """The wealth of bets on averages of the leaders, and of bets on pairs beside it where there are any.

    Bounds for leads are statements about pairs, for which a share of delta is kept.
    """

    def __init__(self, n_arms: int, betting: Betting, goal: Goal, pairs: float) -> None:
        self._pairs = pairs
        super().__init__(n_arms, betting, goal._replace(delta=(1.0 - LEADS) * goal.delta))
        self._log_union = float(np.log(n_arms - 1) - np.log(goal.delta))
        self.leaders = new_leaders(n_arms, BETS, WEIGHTS, SIZES)
        self._bounds = LeadBounds(self.history, betting.scale, betting.pool)

    def _rule(self, goal: Goal) -> WealthRule:
        if self._pairs > 0.0:
            self.share = self._pairs
            return super()._rule(goal)
        return super()._rule(goal)._replace(threshold=1.0 / goal.delta, single=1.0, paired=False)

    def _state(self) -> Wealth:
        if self._pairs > 0.0:
            return super()._state()
        return Wealth(np.zeros((1, 1)), new_purse(1, BETS[:1], WEIGHTS[:1], 0.0), None)

    def play(self, rows: NDArray[np.float64]) -> int:
        """Play rounds from whole rows until the end; the number of rows used."""
        self._part_with_withdrawn()
        if self.rule.paired or self.rule.epsilon == 0.0:
            return super().play(rows)
        used = 0
        while used < len(rows):  # pairs are looked at when the leaders are renewed
            block = rows[used : used + max(1, int(self.leaders.counts[RENEWAL] - self.board.tally[ROUNDS] - 1))]
            played = super().play(block)
            used += played
            if played < len(block):
                break
            self._end_within_epsilon()
        return used

    def _play(self, rows: NDArray[np.float64]) -> int:
        """Play rounds in which no bet wakes."""
        from bestarm.kernels import race_leaders

        return int(race_leaders(rows, self.board, self.leaders, *self.state, self.rule))

    def _part_with_withdrawn(self) -> None:
        """Choose the leaders anew where somebody was withdrawn, which is decided before the round."""
        from bestarm.kernels import renew_leaders

        board, leaders = self.board, self.leaders
        columns, queried = leaders.arms[: leaders.counts[COLUMNS]], board.arms[: board.tally[QUERIED]]
        if board.tally[ROUNDS] > 0 and not np.isin(columns[~leaders.failing[columns]], queried).all():
            renewal = leaders.counts[RENEWAL]
            renew_leaders(board.tally[ROUNDS], board, leaders, self.rule.zone)
            leaders.counts[RENEWAL] = min(renewal, leaders.counts[RENEWAL])  # 0 where somebody fails in the next round

    def _end_within_epsilon(self) -> None:
        """End the game if the leader is shown to be within epsilon of every other candidate."""
        board = self.board
        queried = slice(board.tally[QUERIED])
        arms, means = board.arms[queried], board.means[queried]
        candidates = np.flatnonzero(board.bar[queried] == 0.0)
        if candidates.size < 2 or (board.bar == 0.0).sum() > candidates.size:  # decided, or somebody was withdrawn
            return
        leader = arms[candidates[np.argmax(means[candidates])]]
        epsilon = self.rule.epsilon / self.rule.scale
        if all(self.lead_bound(leader, arm, False) >= -epsilon for arm in arms[candidates] if arm != leader):
            board.tally[ENDED] = WITHIN_EPSILON

    def _lead_bound(self, a: int, b: int, simultaneous: bool, most: float = np.inf) -> float:
        """A lower confidence bound for the lead of arm a over arm b, from sums over the rounds that they shared.

        At level ``LEADS delta / (K - 1)``, which leaves the eliminations theirs; ``simultaneous`` as a statement of its
        own, at ``delta / (K (K - 1))``.
        """
        share = 1.0 / self.board.arms.size if simultaneous else LEADS
        return self._bounds.lower(a, b, self._log_union - float(np.log(share)))

    def rounds_apart(self, ahead: NDArray[np.float64], behind: NDArray[np.float64], shift: float) -> float:
        """In which round the expected wealth of bets on independent differences with the leader would be enough."""
        growth = growth_of_bets(ahead, behind, shift, self.rule, BETS)
        logs = np.log(WEIGHTS)[:, None] + growth[:, None] * TRIED
        needed = np.log(self.rule.threshold / self.rule.single)
        rounds = first_round(np.logaddexp.reduce(logs, axis=0) >= needed)
        return rounds if self.rule.pool == 0 else self.rule.pool / (self.rule.pool / rounds + 1.0)

    def forget(self, arm: int) -> None:
        """An arm that fails in the round now asked stays among the leaders until it is over, with the worst reward.

        Who fails may depend on the rewards of the round, so it must not change what was bet on before.
        """
        if self.rule.paired:
            super().forget(arm)
        if arm in self.leaders.arms[: self.leaders.counts[COLUMNS]]:
            self.leaders.failing[arm] = True
            self.leaders.counts[RENEWAL] = 0


@dataclass(frozen=True, repr=False)
class LeaderBetting:
    """Bets that each arm is worse than the leaders so far: one wealth against each arm, no union over opponents.

    For bounded rewards. Scaled to an interval of length one, the wealth against arm ``i`` grows in each round by
    ``1 + lambda (Y - y)``, where ``Y`` is the average reward of the ``m`` leaders, arm ``i`` left out, minus that of
    arm ``i``, and ``y`` is 0 (on a pool the largest mean that is left for ``Y``). The leaders, how many of them (1, 2,
    4, 8 or 16), and ``lambda`` are chosen before the round from earlier ones, for each arm and each of eight bets, and
    a small share of the wealth is spread over the bets again in each round. Arm ``i`` is out when the wealth against it
    reaches ``1 / (0.98 delta)``; the rest of delta is for what is said about leads (regret bounds, and epsilon without
    bets on pairs). A share of the wealth, ``pairs``, is in bets on single pairs as in `Betting`: they find the arm that
    beats another one of which it is nearly a copy. Elimination margins are logarithms of wealth over threshold; ``by``
    is the opponent with the most wealth on pairs, without these the leader.

    **Guarantee.** Rounds independent and identically distributed (or, with ``pool``, a uniformly random order of its
    items), rewards within the bounds, one best arm: with probability at least ``1 - delta`` the best arm is never out.
    (Against the best arm ``Y`` has conditional mean at most ``y`` whoever leads, so its wealth is a nonnegative
    supermartingale of the common filtration, starting at one: Ville's inequality. See ``docs/theory.md``.)

    Parameters
    ----------
    bounds : the interval that rewards lie in. In a race it comes from the race, unless it is set here to another one
    pool : the number of items of a finite pool that is drawn without replacement in random order; in a race the number
        of its items. The target is then the mean over the pool, as in `Betting`
    pairs : the share of the wealth in bets on pairs, in [0, 1). Bets on pairs take K^2 steps a round; with 0 a round
        takes K. By default a twentieth up to 100 arms, and 0 from there on

    """

    bounds: tuple[float, float] = UNIT
    _: KW_ONLY
    pool: int | None = None
    pairs: float | None = None

    role: ClassVar[Role] = "pairs"
    supports_epsilon: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "bounds", check_bounds(self.bounds))
        if self.pool is not None:
            check_count("pool", self.pool, least=2)
        if self.pairs is not None:
            check_share("pairs", self.pairs)

    __repr__ = shortest_call

    def adapted(self, bounds: tuple[float, float] | None, pool: int | None) -> Self:
        """The same bets for scores in these bounds, on a pool of this size; what was set here stays."""
        own = self.bounds if bounds is None or self.bounds != UNIT else bounds
        return replace(self, bounds=own, pool=self.pool or pool)

    @property
    def assumption(self) -> str:
        """What the guarantee rests on."""
        return bounded(self.bounds, self.pool)

    def on_pairs(self, n_arms: int) -> Betting | None:
        """The bets on pairs in a game of so many arms, None where there are none."""
        return Betting(self.bounds, pool=self.pool) if self._share(n_arms) > 0.0 else None

    def _share(self, n_arms: int) -> float:
        usual = PAIRS if n_arms <= FEW_ARMS else 0.0
        return usual if self.pairs is None else self.pairs

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The wealth of the bets in a new game."""
        return LeaderEvidence(n_arms, Betting(self.bounds, pool=self.pool), goal, self._share(n_arms))
