"""The sharp comparison for Gaussian rewards: a mixture of one-sided t-tests, valid at every time at once."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.checks import check_count, finite_tuple, normalised_weights, refuse_first
from bestarm.comparisons.boundary import PairBoundary
from bestarm.comparisons.evidence import GAUSSIAN
from bestarm.values import shortest_call

Array = NDArray[np.float64]

# Chosen by benchmarks/student_grid.py: see there for the table behind it.
PRECISIONS = (0.25, 10.0, 400.0, 16000.0)
MIN_ROUNDS = 10  # real scores are only nearly Gaussian

NEWTON_STEPS = 100  # Newton's method on a convex function from its right: a handful of steps is the rule
TOLERANCE = 1e-8  # of Newton's method before it is polished; it converges quadratically
CERTAINLY_BELOW = 1.0 - 1e-6  # the floor, times this: nothing that rounding could make larger than a slope


@dataclass(frozen=True, repr=False, kw_only=True)
class StudentMixture(PairBoundary):
    """Sequential t-tests of every difference, mixed over the effect size: for Gaussian rewards of unknown covariance.

    For the differences ``D_s = X_j,s - X_i,s`` of ``n`` rounds, with ``S`` their sum and ``Q`` their sum of squares,

        ``E_n = sum_c w_c sqrt(c / (n + c)) (1 - S^2 / ((n + c) Q))^(-n/2) 2 F_n(S sqrt(n) / sqrt((n + c) Q - S^2))``

    where ``F_n`` is the distribution function of Student's t with ``n`` degrees of freedom: the likelihood ratio of
    effect sizes ``mu / sigma`` with a half-normal prior of precision ``c`` against ``mu = 0``, with the right Haar
    prior on ``sigma``. Arm ``j`` beats arm ``i`` when ``E_n > (K - 1) / delta``. ``E_n`` increases in the mean over the
    standard deviation of the differences, so this is a boundary: one slope per round, for all pairs.

    **Guarantee.** Rounds independent and identically distributed, rewards jointly Gaussian, one best arm: with
    probability at least ``1 - delta`` the best arm is never beaten. (For each other arm ``E_n`` is dominated by a test
    martingale under "``mu_j <= mu_i*``", in the filtration of the scale-free differences; Ville's inequality at level
    ``delta / (K - 1)`` and a union over the ``K - 1`` arms. See ``docs/theory.md``.) Real scores are only nearly
    Gaussian: skewed or discrete ones void the guarantee, most of all in the first rounds; `Betting` needs only bounds.

    Parameters
    ----------
    precisions : prior precisions ``c`` of the effect size; one is sharpest for effects around ``1 / sqrt(c)``
    weights : their weights, above 0, scaled to sum to one; equal by default
    min_rounds : nobody is beaten before this round. Looking later is always sound, and averages of some rounds are
        closer to Gaussian than single ones. For rewards that are exactly Gaussian, 2 is sharpest

    References
    ----------
    Lai (1976), On confidence sequences; Wang, Ramdas (2023), Anytime-valid t-tests and confidence sequences for
    Gaussian means with unknown variance, arXiv 2310.03722 (the two-sided version).

    Examples
    --------
    >>> comparison = StudentMixture(min_rounds=2)
    >>> slopes, _ = comparison.boundary(np.array([5.0, 50.0, 500.0]), n_arms=2, delta=0.05)
    >>> slopes.round(3)
    array([2.942, 0.471, 0.145])

    """

    precisions: Sequence[float] = PRECISIONS
    weights: Sequence[float] | None = None
    min_rounds: int = MIN_ROUNDS

    assumption: ClassVar[str] = GAUSSIAN

    def __post_init__(self) -> None:
        object.__setattr__(self, "precisions", finite_tuple("precisions", self.precisions))
        c = np.array(self.precisions)
        refuse_first("precisions", c, c <= 0, "must be above 0")
        weights = np.ones_like(c) if self.weights is None else self.weights
        object.__setattr__(self, "weights", normalised_weights(weights, c.size))
        check_count("min_rounds", self.min_rounds, least=2)

    __repr__ = shortest_call

    def boundary(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """The slope at which ``E_n`` reaches ``(K - 1) / delta``, infinite where it cannot; offset 0."""
        slope = self.slopes(rounds, float(np.log(n_arms - 1) - np.log(delta)))
        return slope, np.zeros_like(slope)

    def floor(self, rounds: Array, n_arms: int, delta: float) -> tuple[Array, Array]:
        """Where one precision alone, with ``F_n`` set to one, reaches the threshold: a mixture is no more than that.

        ``E_n`` is an average over the precisions, so at the threshold one of them is at least there.
        """
        n = np.maximum(rounds, 2.0)
        u_squared = self._smallest_root(n, float(np.log(n_arms - 1) - np.log(delta)), math.log(2.0))
        slope = _slope(n, np.sqrt(np.clip(u_squared, 0.0, (1.0 - 1e-6) * n)))
        return CERTAINLY_BELOW * slope, np.zeros_like(slope)

    def log_evalue(self, rounds: ArrayLike, effect: ArrayLike) -> Array:
        """``log E_n`` when the differences of ``n >= 2`` rounds have this mean over (unbiased) standard deviation."""
        n, s = np.broadcast_arrays(np.asarray(rounds, dtype=np.float64), np.asarray(effect, dtype=np.float64))
        return self._log_evalue(n, s)[0]

    def slopes(self, rounds: Array, log_threshold: float) -> Array:
        """For each number of rounds the mean over standard deviation at which ``log E_n`` reaches the threshold."""
        n = np.maximum(rounds, 2.0)
        supremum, _ = self._log_evalue(n, np.full_like(n, np.inf))  # of constant positive differences
        reachable = (rounds >= self.min_rounds) & (supremum > log_threshold)
        slope = np.full(rounds.shape, np.inf)
        slope[reachable] = self._solve(n[reachable], log_threshold)
        return slope

    def _solve(self, n: Array, log_threshold: float) -> Array:
        """Newton's method in ``u = S / sqrt(Q)``, of which ``log E_n`` is a convex increasing function.

        ``E_n`` is a mixture of ``exp(u v)`` over ``v >= 0``, hence the convexity: from the right of the root Newton's
        steps descend to it, and a step from its left leads to its right (or beyond the domain, where it is cut).
        """
        s = self._start(n, log_threshold)
        for _ in range(NEWTON_STEPS):
            value, derivative = self._log_evalue(n, s)
            u = _u(n, s)
            step = (value - log_threshold) / derivative
            nearer = _slope(n, np.clip(u - step, 0.5 * u, u + 0.5 * (np.sqrt(n) - u)))
            done = np.abs(nearer - s) <= TOLERANCE * s
            s = nearer
            if done.all():
                break
        return self._polish(n, s, log_threshold)

    def _polish(self, n: Array, s: Array, log_threshold: float) -> Array:
        """Two steps in the slope itself: ``u`` has few digits left where the slope is large."""
        for _ in range(2):
            value, derivative = self._log_evalue(n, s)
            du_ds = n * (n - 1.0) / (n - 1.0 + n * s**2) ** 1.5
            s = s - np.clip((value - log_threshold) / (derivative * du_ds), -0.1 * s, 0.1 * s)
        return s

    def _start(self, n: Array, log_threshold: float) -> Array:
        """The smallest root over the single precisions with ``F_n`` set to one: close to the root of the mixture."""
        u_squared = self._smallest_root(n, log_threshold, np.log(2.0 * np.array(self.weights)))
        return _slope(n, np.sqrt(np.clip(u_squared, 1e-12 * n, (1.0 - 1e-6) * n)))

    def _smallest_root(self, n: Array, log_threshold: float, log_factors: Array | float) -> Array:
        """The smallest ``u^2`` at which a single precision, with ``F_n`` set to its factor, reaches the threshold."""
        c = np.array(self.precisions)
        needed = log_threshold - log_factors + 0.5 * np.log((n[:, None] + c) / c)
        return np.asarray(np.min(-(n[:, None] + c) * np.expm1(-2.0 * needed / n[:, None]), axis=1))

    def _log_evalue(self, n: Array, s: Array) -> tuple[Array, Array]:
        """``log E_n`` and its derivative in ``u``, from the slope: ``n - u^2`` without cancellation."""
        from scipy.special import gammaln, stdtr

        c, w = np.array(self.precisions), np.array(self.weights)
        n, s = n[..., None], s[..., None]
        rest = n * (n - 1.0) / (n - 1.0 + n * s**2)  # n - u^2; 0 where the differences are constant
        u = _u(n, s)
        u_squared = u**2
        z = u * np.sqrt(n) / np.sqrt(c + rest)
        F = stdtr(n, z)
        share = u_squared / (n + c)
        log_ratio = np.where(share < 0.5, np.log1p(-np.minimum(share, 0.5)), np.log((c + rest) / (n + c)))
        with np.errstate(divide="ignore"):  # F may vanish far on the wrong side: no evidence there
            terms = np.log(w) + 0.5 * np.log(c / (n + c)) - 0.5 * n * log_ratio + np.log(2.0 * F)
        largest = terms.max(axis=-1, keepdims=True)
        parts = np.exp(terms - np.where(np.isfinite(largest), largest, 0.0))
        total = parts.sum(axis=-1, keepdims=True)
        log_density = (
            gammaln((n + 1) / 2) - gammaln(n / 2) - 0.5 * np.log(n * np.pi) - 0.5 * (n + 1) * np.log1p(z**2 / n)
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            slope_of_F = np.exp(log_density) / F * np.sqrt(n) * (n + c) / (c + rest) ** 1.5
            derivative = (parts * (n * u / (c + rest) + slope_of_F)).sum(axis=-1) / total[..., 0]
            value = largest[..., 0] + np.log(total[..., 0])
        return value, derivative


def _u(n: Array, s: Array) -> Array:
    """``u = S / sqrt(Q)`` of differences whose mean over standard deviation is ``s``, infinite included."""
    finite = np.isfinite(s)
    s = np.where(finite, s, np.copysign(1.0, s))
    return np.where(finite, n * s / np.sqrt(n - 1.0 + n * s**2), s * np.sqrt(n))


def _slope(n: Array, u: Array) -> Array:
    """The inverse of `_u`."""
    return u * np.sqrt((n - 1.0) / (n * (n - u**2)))
