"""The comparison that assumes nothing about the scores: betting on who is better, not by how much."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Self

from bestarm.checks import check_bounds
from bestarm.comparisons.betting import BETS, Betting
from bestarm.comparisons.evidence import Evidence, Goal, Role, items_assumption
from bestarm.comparisons.sleeping import RESERVE
from bestarm.comparisons.wealth import WealthEvidence
from bestarm.values import shortest_call


@dataclass(frozen=True, repr=False)
class Wins:
    """Bets on who is better on an item, whatever the scores are: outliers and heavy tails do not matter.

    The bets are those of `Betting`, on ``sign(X_j - X_i)`` in place of the difference: 1 where ``j`` is better than
    ``i``, -1 where it is worse, 0 where both are equal. The lead of one arm over another is in units of wins: the share
    of items on which it is better minus the share on which it is worse. So are ``epsilon``, ``indifference_zone``, lead
    bounds and regret bounds. The arm sought is the one that beats every other more often than it loses to it, which
    need not be the one with the largest mean. The leader is the candidate whose smallest lead over another candidate
    is largest.

    **Guarantee.** Rounds independent and identically distributed, and an arm ``i*`` with ``P(X_i* > X_j) >=
    P(X_i* < X_j)`` for all ``j`` (or, with ``pool``, a uniformly random order of its items, and an arm that beats every
    other on at least as many of them as it loses): with probability at least ``1 - delta`` that arm is never out.
    (Signs are in [-1, 1], and against ``i*`` their means are at most 0: the proof for `Betting`. See
    ``docs/theory.md``.) If there is no such arm, because each is beaten by some other in a cycle, nothing is promised.
    The regret bound speaks of ``i*`` alone: it does not beat the leader by more than this.

    Parameters
    ----------
    bounds : scores outside of these are refused; the bets do not use them. In a race they come from the race
    pool : the number of items of a finite pool that is drawn without replacement in random order; in a race the number
        of its items. At exhaustion all wins are counted, and a candidate that another one beats is out, unless that
        would be all of them
    bets, weights, reserve : as in `Betting`

    """

    bounds: tuple[float, float] | None = None
    _: KW_ONLY
    pool: int | None = None
    bets: Sequence[float] = BETS
    weights: Sequence[float] | None = None
    reserve: float = RESERVE

    role: ClassVar[Role] = "pairs"
    supports_epsilon: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.bounds is not None:
            object.__setattr__(self, "bounds", check_bounds(self.bounds))
        signs = self.on_signs  # checked and brought into shape by Betting
        object.__setattr__(self, "bets", signs.bets)
        object.__setattr__(self, "weights", signs.weights)

    __repr__ = shortest_call

    def adapted(self, bounds: tuple[float, float] | None, pool: int | None) -> Self:
        """The same bets for scores in these bounds, on a pool of this size; what was set here stays."""
        return replace(self, bounds=bounds if self.bounds is None else self.bounds, pool=self.pool or pool)

    @property
    def assumption(self) -> str:
        """What the guarantee rests on."""
        return items_assumption(self.pool)

    @property
    def on_signs(self) -> Betting:
        """The bets: signs are differences of scores in an interval of length one."""
        return Betting(pool=self.pool, bets=self.bets, weights=self.weights, reserve=self.reserve)

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The wealth of the bets in a new game."""
        return WealthEvidence(n_arms, self.on_signs, goal, criterion="wins")
