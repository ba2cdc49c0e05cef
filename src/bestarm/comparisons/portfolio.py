"""The sharp comparison with convex combinations, for bounded rewards."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Self

from bestarm.comparisons.betting import BETS, Betting
from bestarm.comparisons.evidence import UNIT, Evidence, Goal, Role, bounded
from bestarm.comparisons.sleeping import RESERVE
from bestarm.comparisons.wealth import WealthEvidence
from bestarm.values import shortest_call
from bestarm.wagers import Folio, new_folio


class PortfolioEvidence(WealthEvidence):
    """Half of the wealth in portfolios, half in the bets on single differences."""

    no_disqualification = "arms that a portfolio has bet on cannot be disqualified: use PairwiseBAI with Betting"
    share = 0.5
    keeps_pairs = True

    def __init__(self, n_arms: int, betting: Betting, goal: Goal) -> None:
        super().__init__(n_arms, betting, goal)
        self.folio = new_folio(n_arms)

    def _on_chosen(self) -> tuple[None, Folio]:
        return None, self.folio


@dataclass(frozen=True, repr=False)
class Portfolio:
    """One bet on all differences of an arm at once, learned from the past, beside the bets on each of them.

    For bounded rewards. Scaled to an interval of length one, with ``D_j,s = X_j,s - X_i,s``, the portfolio against arm
    ``i`` grows by ``1 + sum_j b_j D_j,s`` with ``b_j >= 0`` and ``sum_j b_j < 1``. The bets are chosen before the
    round: the growth-optimal ones for the means and covariances so far (to second order), renewed on a geometric
    schedule. Where an average of other arms follows arm ``i`` closely and is better, the portfolio finds it. Half of
    the wealth is in the portfolio, half in the averaged bets on single differences as in `Betting`, so that at most
    ``log 2`` of the evidence of these is lost. Arm ``i`` is out when the wealth against it reaches ``1 / delta``. There
    is no cover of the simplex and no factor ``K``. Elimination margins are logarithms of wealth over threshold.

    **Guarantee.** As for `Betting`: rounds independent and identically distributed (or, with ``pool``, in uniformly
    random order), rewards within the bounds, one best arm: with probability at least ``1 - delta`` the best arm is
    never out. (Against the best arm ``sum_j b_j D_j`` has conditional mean at most zero whatever the predictable ``b``,
    so the wealth is a nonnegative supermartingale. See ``docs/theory.md``.)

    Parameters
    ----------
    bounds, pool, bets, weights, reserve : of the bets on single differences, as in `Betting`

    References
    ----------
    Waudby-Smith, Ramdas (2024), Estimating means of bounded random variables by betting, arXiv 2010.09686; Cover
    (1991), Universal portfolios.

    """

    bounds: tuple[float, float] = UNIT
    _: KW_ONLY
    pool: int | None = None
    bets: Sequence[float] = BETS
    weights: Sequence[float] | None = None
    reserve: float = RESERVE

    role: ClassVar[Role] = "combinations"
    supports_epsilon: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, value in vars(self.pairs).items():  # checked and brought into shape by Betting
            object.__setattr__(self, name, value)

    __repr__ = shortest_call

    def adapted(self, bounds: tuple[float, float] | None, pool: int | None) -> Self:
        """The same bets for scores in these bounds, on a pool of this size; what was set here stays."""
        pairs = self.pairs.adapted(bounds, pool)
        return replace(self, bounds=pairs.bounds, pool=pairs.pool)

    @property
    def pairs(self) -> Betting:
        """The bets on single differences."""
        return Betting(self.bounds, pool=self.pool, bets=self.bets, weights=self.weights, reserve=self.reserve)

    @property
    def assumption(self) -> str:
        """What the guarantee rests on."""
        return bounded(self.bounds, self.pool)

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The wealth of the portfolios and of the bets on single differences in a new game."""
        return PortfolioEvidence(n_arms, self.pairs, goal)
