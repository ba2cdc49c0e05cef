"""How the scores of the arms move together, and what that was worth."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from bestarm.racing.result import RaceResult

FEWEST = 3  # shared items that a correlation needs, or a variance
NEVER = 1e-14  # variance, of scores up to 1, that is only rounding
LONGEST = 10**7  # rounds that an arm is imagined to need, at most


@dataclass(frozen=True)
class Pairing:
    """Correlations over the items that two arms share, and evaluations with and without comparing on the same items.

    ``without`` is an estimate: for each arm that left, the round in which the test would have crossed with the lead
    seen and the variance of scores on different items, ``V_i + V_j`` in place of ``V_ij``; against the arm for which
    this is soonest. The rounds that the race took do not enter, so it does not matter if the arm left late because the
    test had not looked before. Arms that the leader was shown to be near to are counted in the same way, with epsilon
    added to the lead; no arm needs more than all items of a pool, and the leader stays as long as any other.

    It is a lower bound, ``at_least``, where the race has no answer (candidates then count with the rounds they had, or
    those of the last to leave), an arm has too few scores, or the test would take longer than any race. It is NaN where
    nothing can be said: nobody has left, or the rule of the race does not gain from scores on the same items.
    """

    correlation: NDArray[np.float64]
    with_pairing: int
    without: float
    at_least: bool

    @property
    def median_correlation(self) -> float:
        """The median over all pairs that have one."""
        pairs = self.correlation[np.triu_indices(len(self.correlation), 1)]
        known = pairs[np.isfinite(pairs)]
        return float(np.median(known)) if known.size else np.nan


def pairing(result: "RaceResult[Any]") -> Pairing:
    """What the scores of a race say about pairing."""
    rounds, at_least = _capped(result, _rounds_apart(result))
    return Pairing(_correlation(result), int(result.counts.sum()), float(rounds.sum()), at_least)


def _rounds_apart(result: "RaceResult[Any]") -> NDArray[np.float64]:
    """The rounds that each arm would have needed on items of its own; NaN where they are not known."""
    game, leader, promise = result.new_game(), result.order[0], result.guarantee
    sign = -1.0 if result.settings.lower_is_better else 1.0
    rivals, rounds = _rivals(result, sign), np.full(len(result.arms), np.nan)
    for arm in range(len(result.arms)):
        status = result.outcome.status(arm, result.reason, result.answered)
        ahead, shift = (rivals[arm], promise.indifference_zone) if status == "out" else (leader, promise.epsilon)
        _, better, worse = result.by_arm.shared(ahead, arm)
        if status == "disqualified":
            rounds[arm] = result.counts[arm]
        elif arm != leader and (status == "out" or result.answered) and len(better) >= FEWEST:
            found = game.rounds_apart(sign * better, sign * worse, shift)
            rounds[arm] = np.nan if found is None else found
    return rounds


def _capped(result: "RaceResult[Any]", rounds: NDArray[np.float64]) -> tuple[NDArray[np.float64], bool]:
    """Rounds that are possible, for all arms, and whether they are a lower bound; all NaN if no arm's are known."""
    settings, leader = result.settings, result.order[0]
    pool = settings.n_items if settings.items == "pool" else None
    others = np.delete(rounds, leader)
    if np.isnan(others).all():
        return np.full_like(rounds, np.nan), False
    at_least = not result.answered or bool(np.isnan(others).any() or (pool is None and np.isinf(others).any()))
    rounds = np.minimum(rounds, pool or LONGEST)
    left = [arm for arm in range(len(rounds)) if arm not in result.outcome.candidates]
    rounds[left] = np.where(np.isnan(rounds[left]), result.counts[left], rounds[left])
    longest = np.nanmax(rounds)
    stay = np.maximum(longest, result.counts if not result.answered else 0.0)
    return np.where(np.isnan(rounds), stay, rounds), at_least


def _rivals(result: "RaceResult[Any]", sign: float) -> NDArray[np.intp]:
    """For each arm the one on all of its items that is ahead by most in units of ``sqrt(V_i + V_j)``.

    The rewards are scores times the sign.
    """
    K = len(result.arms)
    n, totals, squares = (np.zeros((K, K)) for _ in range(3))
    centre = sign * _mean_of_all(result)
    for arms, scores in result.record.blocks(result.n_rounds):
        there, pairs = ~np.isnan(scores), np.ix_(arms, arms)
        M = there.astype(np.float64)
        Z = np.where(there, sign * scores - centre, 0.0)
        n[pairs] += M.T @ M
        totals[pairs] += Z.T @ M
        squares[pairs] += (Z**2).T @ M
    n = np.maximum(n, 1.0)
    means = totals / n  # [i, j]: of arm i over the items that it shares with j
    variances = np.maximum(squares / n - means**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead = (means.T - means) / np.sqrt(variances + variances.T)
    ahead = np.where(np.isnan(ahead) | (n < np.diag(n)[:, None]), -np.inf, ahead)
    np.fill_diagonal(ahead, -np.inf)
    best: NDArray[np.intp] = np.argmax(ahead, axis=1)
    return best


def _mean_of_all(result: "RaceResult[Any]") -> float:
    """The mean of all scores."""
    total, count = 0.0, 0
    for _, scores in result.record.blocks(result.n_rounds):
        known = scores[~np.isnan(scores)]
        total, count = total + float(known.sum()), count + known.size
    return total / count


def _correlation(result: "RaceResult[Any]") -> NDArray[np.float64]:
    """Correlations over shared items; NaN where there are too few, or an arm never varies on them.

    All pairs at once, by products of matrices: columns are standardised first, so that little is lost in the sums.
    """
    K = len(result.arms)
    count, total, largest = np.zeros(K), np.zeros(K), np.zeros(K)
    for arms, scores in result.record.blocks(result.n_rounds):
        there = ~np.isnan(scores)
        count[arms] += there.astype(np.float64).sum(axis=0)
        total[arms] += np.where(there, scores, 0.0).sum(axis=0)
    means = total / np.maximum(count, 1.0)
    for arms, scores in result.record.blocks(result.n_rounds):
        centred = np.where(np.isnan(scores), 0.0, scores - means[arms])
        largest[arms] = np.maximum(largest[arms], np.abs(centred).max(axis=0, initial=0.0))
    scale = np.where(largest > 0, largest, 1.0)
    n, sums, squares, products = (np.zeros((K, K)) for _ in range(4))
    for arms, scores in result.record.blocks(result.n_rounds):
        there, pairs = ~np.isnan(scores), np.ix_(arms, arms)
        M = there.astype(np.float64)
        Z = np.where(there, scores - means[arms], 0.0) / scale[arms]
        n[pairs] += M.T @ M
        sums[pairs] += Z.T @ M  # [i, j]: of arm i over the items that it shares with j
        squares[pairs] += (Z**2).T @ M
        products[pairs] += Z.T @ Z
    with np.errstate(divide="ignore", invalid="ignore"):
        squares -= sums**2 / n
        products -= sums * sums.T / n
        varies = squares > NEVER * n
        known = (n >= FEWEST) & varies & varies.T
        correlation = np.where(known, products / np.sqrt(squares * squares.T), np.nan)
    np.fill_diagonal(correlation, 1.0)
    return np.clip(correlation, -1.0, 1.0)
