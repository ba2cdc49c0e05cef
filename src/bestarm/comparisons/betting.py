"""Bets on the differences of pairs, on portfolios of them, and on their signs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Self

import numpy as np

from bestarm.checks import check_bounds, check_share, finite_tuple, normalised_weights, refuse_first
from bestarm.comparisons.evidence import BoundedComparison, Evidence, Goal, Role, items_assumption
from bestarm.comparisons.wealth import CAP, RESERVE, Mixture, WealthEvidence, mixture
from bestarm.kernels.state import PortfolioState, new_portfolio
from bestarm.values import Array, shortest_call

# Geometric, from nearly the whole wealth down to a bet that still wins where the lead is 0.004 of the variance: chosen
# by the queries of ten grids on coins and score tables. Smaller bets sleep until they can matter.
BETS = tuple(0.95 * 0.5**k for k in range(8))
HUGE = 1e9  # a logarithm of wealth that a root finder can work with, in place of infinity
ROOT_WIDTH = 1e-12  # of the range of rewards: how precisely bounds are known


@dataclass(frozen=True, repr=False)
class _PairBetSettings(BoundedComparison):
    """Bets on single differences, their weights, and the share that is kept for smaller ones."""

    _: KW_ONLY
    bets: Sequence[float] = BETS
    weights: Sequence[float] | None = None
    reserve: float = RESERVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "bets", finite_tuple("bets", self.bets))
        bets = np.array(self.bets)
        refuse_first("bets", bets, (bets <= 0) | (bets >= 1), "must lie strictly between 0 and 1")
        weights = np.sqrt(bets) if self.weights is None else self.weights
        object.__setattr__(self, "weights", normalised_weights(weights, bets.size))
        check_share("reserve", self.reserve)
        super().__post_init__()


@dataclass(frozen=True, repr=False)
class Betting(_PairBetSettings):
    """Bets on every difference, averaged over the opponents: for bounded rewards, whatever their distribution.

    With rewards scaled to an interval of length one and ``D_s = X_j,s - X_i,s``, the wealth of the bet that ``j`` is
    better than ``i`` is ``W_ij = sum_g w_g prod_s (1 + lambda_g D_s)``. Arm ``i`` is out when the average of ``W_ij``
    over the ``K - 1`` others reaches ``1 / delta``; the wealth against an arm that is no longer queried stays as it
    was. Elimination margins are logarithms of wealth over threshold, and ``by`` is the opponent with the most wealth.

    **Guarantee.** Rounds independent and identically distributed (or, with ``pool``, a uniformly random order of its
    items), rewards within the bounds, one best arm: with probability at least ``1 - delta`` the best arm is never out.
    (Against the best arm every ``W_ij`` is a nonnegative supermartingale of the common filtration, starting at one, and
    so is their average: Ville's inequality. See ``docs/theory.md``.)

    Parameters
    ----------
    bounds : the interval that rewards lie in. In a race it comes from the race, unless it is set here to another one
    pool : the number of items of a finite pool that is drawn without replacement in random order; in a race the number
        of its items. The target is then the mean over the pool (of the realised scores, where evaluations are noisy):
        the bets use what the rounds so far say about those that are left, and at exhaustion the means are known exactly
    bets : the ``lambda_g``, each strictly between 0 and 1, that are made from the first round on
    weights : their weights, above 0, scaled to sum to one; by default proportional to the square root of the bet,
        because large bets decide short races, where a small share of the wealth costs most
    reserve : the share of the wealth, in [0, 1), that is kept for smaller bets: each half of the one before it, with
        half of its weight, and asleep (it bets nothing) until round ``1 / (4 lambda^2)``. A bet above twice the lead
        over the variance loses in the long run, so without a reserve a race whose smallest bet is too large may never
        end; with one every lead is found

    References
    ----------
    Waudby-Smith, Ramdas (2024), Estimating means of bounded random variables by betting, arXiv 2010.09686; Orabona, Jun
    (2024), Tight concentrations and confidence sequences from the regret of universal portfolio.

    """

    role: ClassVar[Role] = "pairs"

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The wealth of the bets in a new game."""
        return WealthEvidence(n_arms, self, goal)

    @property
    def scale(self) -> float:
        """What brings rewards to an interval of length one."""
        return 1.0 / (self.bounds[1] - self.bounds[0])

    def mixture(self, n_rounds: int) -> Mixture:
        """All bets that are made within so many rounds."""
        return mixture(np.array(self.bets), np.array(self.weights), self.reserve, n_rounds)

    def log_wealth(self, differences: Array, nu: float = 0.0) -> float:
        """The logarithm of the wealth against "the mean of these differences is at most ``nu``" (units of rewards)."""
        return self._log_wealth_of(differences)(nu)

    def _log_wealth_of(self, differences: Array) -> Callable[[float], float]:
        from bestarm.kernels.wealth import log_wealth

        scaled = np.asarray(differences, dtype=np.float64) * self.scale
        bets = self.mixture(scaled.size)
        return lambda nu: float(log_wealth(scaled, nu * self.scale, self.pool or 0, bets, CAP))

    def lower_bound(self, differences: Array, log_threshold: float, most: float = math.inf) -> float:
        """The largest mean that the wealth rules out: ``inf { nu : log_wealth(D, nu) < threshold }``.

        The wealth decreases in ``nu``; the bounds of the rewards limit the answer, and so does ``most``.
        """
        from scipy.optimize import brentq

        log_wealth = self._log_wealth_of(differences)

        def beyond(nu: float) -> float:
            return min(max(log_wealth(nu) - log_threshold, -HUGE), HUGE)

        end = 1.0 / self.scale
        if beyond(-end) <= 0.0:
            return -end
        high = min(most, end)
        if beyond(high) >= 0.0:
            return high
        return float(brentq(beyond, -end, high, xtol=ROOT_WIDTH / self.scale))


@dataclass(frozen=True, repr=False)
class Portfolio(_PairBetSettings):
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

    role: ClassVar[Role] = "combinations"

    @property
    def pairs(self) -> Betting:
        """The bets on single differences."""
        return Betting(self.bounds, pool=self.pool, bets=self.bets, weights=self.weights, reserve=self.reserve)

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The wealth of the portfolios and of the bets on single differences in a new game."""
        return PortfolioEvidence(n_arms, self.pairs, goal)


class PortfolioEvidence(WealthEvidence):
    """Half of the wealth in portfolios, half in the bets on single differences."""

    no_disqualification = "arms that a portfolio has bet on cannot be disqualified: use PairwiseBAI with Betting"
    keeps_pairs = True

    def __init__(self, n_arms: int, betting: Betting, goal: Goal) -> None:
        super().__init__(n_arms, betting, goal, share=0.5)
        self.portfolio = new_portfolio(n_arms)

    def _chosen(self) -> tuple[None, PortfolioState]:
        return None, self.portfolio

    def _wealth_on_chosen(self) -> Array:
        return self.portfolio.wealth


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
        """The comparison with the bounds and the pool of a race; what was set here stays."""
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
