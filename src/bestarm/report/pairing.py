"""How the scores of the arms move together, and what that was worth."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bestarm.racing.result import RaceResult

FEWEST = 3  # shared items that a correlation needs
NEVER = 1e-14  # variance, of scores up to 1, that is only rounding


@dataclass(frozen=True)
class Pairing:
    """Correlations over the items that two arms share, and evaluations with and without comparing on the same items.

    ``without`` is an estimate. A test needs rounds in inverse proportion to the growth of its evidence, which depends
    on the lead and on the variance of the difference: ``V_ij`` for scores on the same item, ``V_i + V_j`` for scores on
    different ones. It takes each arm's rounds times the ratio of the two growths, with the arm that beat it, or with
    the best if it is still in (then with epsilon added to the lead). NaN where an arm has no such ratio.
    """

    correlation: NDArray[np.float64]
    with_pairing: int
    without: float

    @property
    def median_correlation(self) -> float:
        """The median over all pairs that have one."""
        pairs = self.correlation[np.triu_indices(len(self.correlation), 1)]
        known = pairs[np.isfinite(pairs)]
        return float(np.median(known)) if known.size else np.nan


def pairing(result: "RaceResult[Any]") -> Pairing:
    """What the scores of a race say about pairing."""
    K, best, growth = len(result.arms), result.order[0], result.new_game().growth
    rivals = {out.arm: out.by for out in result.outcome.eliminations}
    rounds = np.zeros(K)
    for arm in range(K):
        if arm != best:
            shared = _shared(result.scores, arm, rivals.get(arm, best))
            shift = 0.0 if arm in rivals else result.guarantee.epsilon
            rounds[arm] = result.counts[arm] * _ratio(shared, shift, growth)
    rounds[best] = np.max(rounds)  # NaN if one of them is
    return Pairing(_correlation(result.scores), int(result.counts.sum()), float(rounds.sum()))


def _shared(scores: NDArray[np.float64], i: int, j: int) -> NDArray[np.float64]:
    """The scores of two arms on the items that both were evaluated on."""
    both = scores[:, [i, j]]
    return both[~np.isnan(both).any(axis=1)]


def _ratio(shared: NDArray[np.float64], shift: float, growth: Callable[[float, float], float]) -> float:
    """How many times the rounds two arms would need on different items."""
    if len(shared) < FEWEST:
        return np.nan
    differences = shared[:, 0] - shared[:, 1]
    lead = abs(float(differences.mean())) + shift
    together, apart = float(np.var(differences)), float(np.var(shared, axis=0).sum())
    if lead == 0.0 or apart == 0.0:
        return np.nan
    faster = growth(lead, together) / growth(lead, apart)
    return faster if math.isfinite(faster) else np.nan


def _correlation(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Correlations over shared items; NaN where there are too few, or an arm never varies on them.

    All pairs at once, by products of matrices: columns are standardised first, so that little is lost in the sums.
    """
    there = ~np.isnan(scores)
    M = there.astype(np.float64)
    n = M.T @ M
    Z = np.where(there, scores, 0.0)
    Z = np.where(there, Z - Z.sum(axis=0) / np.maximum(M.sum(axis=0), 1.0), 0.0)
    largest = np.abs(Z).max(axis=0, initial=0.0)
    Z /= np.where(largest > 0, largest, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = Z.T @ M  # [i, j]: of arm i over the items that it shares with j
        squares = (Z**2).T @ M - sums**2 / n
        products = Z.T @ Z - sums * sums.T / n
        varies = squares > NEVER * n
        known = (n >= FEWEST) & varies & varies.T
        correlation = np.where(known, products / np.sqrt(squares * squares.T), np.nan)
    np.fill_diagonal(correlation, 1.0)
    return np.clip(correlation, -1.0, 1.0)
