"""The worst case of the Bernoulli lower bound."""

from __future__ import annotations  # numpy.random is loaded when first used

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.arms.law import JointLaw
from bestarm.checks import finite_vector, refuse_first
from bestarm.values import equal_values


@dataclass(frozen=True, eq=False)
class BernoulliVariances:
    """What ``Var(X_i - X_best)`` can be for Bernoulli arms of given means (Lemma K.8 of the paper)."""

    smallest: NDArray[np.float64]
    independent: NDArray[np.float64]
    largest: NDArray[np.float64]

    __eq__ = equal_values
    __hash__ = None  # type: ignore[assignment]


def bernoulli_variances(means: ArrayLike) -> BernoulliVariances:
    """The range of ``Var(X_i - X_best)`` over all joint laws of Bernoulli arms with these means.

    With ``D = |mu_i - mu_best|`` and ``s = mu_i + mu_best`` it is ``D - D^2 <= V <= min(2 - s, s) - D^2`` (Lemma K.8,
    there with the signed difference); ``independent`` is ``mu_i (1 - mu_i) + mu_best (1 - mu_best)``. The entry of
    the best arm itself is 0 in all three.
    """
    mu = finite_vector("means", means)
    best = mu.max()
    D, s = best - mu, best + mu
    ranges = [D - D**2, mu * (1 - mu) + best * (1 - best), np.minimum(2 - s, s) - D**2]
    for variances in ranges:
        variances[mu.argmax()] = 0.0
    return BernoulliVariances(*ranges)


class BernoulliArms(JointLaw):
    """The worst case of the paper's Bernoulli lower bound (proof of Theorem 6.1, appendix I).

    ``X_best = 1(U <= mu_best)`` and ``X_i = 1(U <= a_i or W_i <= b_i)`` with independent uniform ``U, W_i``, where
    ``a_i, b_i`` give ``X_i`` its mean and ``X_i - X_best`` its variance. A variance above that of independent arms
    cannot be built this way; the paper then takes the arm independent, and so do we: the variances that came out are
    in ``difference_variances``.

    Parameters
    ----------
    means : vector of K numbers strictly between 0 and 1, the largest of them unique
    difference_variances : the wanted ``Var(X_i - X_best)``, one per arm and 0 for the best arm itself; each must be
        possible for Bernoulli variables of these means (see `bernoulli_variances`)

    Examples
    --------
    >>> means = [0.7, 0.6, 0.5]
    >>> arms = BernoulliArms(means, 1.2 * bernoulli_variances(means).smallest)
    >>> arms.difference_variances.round(3)
    array([0.   , 0.108, 0.192])

    """

    def __init__(self, means: ArrayLike, difference_variances: ArrayLike) -> None:
        mu = finite_vector("means", means)
        refuse_first("means", mu, (mu <= 0) | (mu >= 1), "must lie strictly between 0 and 1")
        best = int(mu.argmax())
        if np.count_nonzero(mu == mu[best]) > 1:
            raise ValueError(f"means must have one largest entry, {float(mu[best])!r} appears more than once")
        V = finite_vector("difference_variances", difference_variances)
        if V.shape != mu.shape:
            raise ValueError(f"difference_variances must have {mu.size} entries as means has, got {V.size}")
        possible = bernoulli_variances(mu)
        slack = 8 * np.finfo(np.float64).eps
        for i in np.flatnonzero((possible.smallest - slack > V) | (possible.largest + slack < V)):
            raise ValueError(
                f"difference_variances[{i}] = {float(V[i])!r} is impossible for Bernoulli arms with means "
                f"{float(mu[i])!r} and {float(mu[best])!r}: it must lie in "
                f"[{float(possible.smallest[i])!r}, {float(possible.largest[i])!r}]"
            )
        V = np.clip(V, possible.smallest, possible.independent)
        b = (V - possible.smallest) / (2.0 * (1.0 - mu[best]))
        b[possible.independent <= V] = mu[possible.independent <= V]  # exactly independent, a_i = 0
        b[best] = 0.0
        self._a = (mu - b) / (1.0 - b)
        self._b = b
        V.setflags(write=False)
        self.difference_variances = V
        super().__init__(mu, _bernoulli_covariance(mu, self._a, b))

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        uniform = rng.random((n_rounds, self.n_arms + 1))
        U, W = uniform[:, :1], uniform[:, 1:]
        rows: NDArray[np.float64] = ((self._a > U) | (self._b > W)).astype(np.float64)
        return rows

    def __repr__(self) -> str:
        return f"BernoulliArms({self.means.tolist()}, {self.difference_variances.tolist()})"


def _bernoulli_covariance(
    mu: NDArray[np.float64], a: NDArray[np.float64], b: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Covariance of ``X_i = 1(U <= a_i or W_i <= b_i)``, by the value of ``U`` against the smaller and larger ``a``."""
    i_first = a[:, None] <= a[None, :]
    low, high = np.minimum.outer(a, a), np.maximum.outer(a, a)
    b_of_low = np.where(i_first, b[:, None], b[None, :])
    both: NDArray[np.float64] = low + (high - low) * b_of_low + (1.0 - high) * np.outer(b, b)
    np.fill_diagonal(both, mu)
    return both - np.outer(mu, mu)
