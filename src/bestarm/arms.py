"""What rewards are drawn from.

Every kind of arms has ``n_arms``, ``means``, ``covariance``, ``best`` and ``draw(n_rounds, rng)``. Rows drawn in one
call or in several from the same generator are the same rows: the size of a block never changes a game.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from bestarm.checks import check_count, check_n_arms, finite_vector, floats, is_real, refuse_beyond, refuse_first
from bestarm.text import short_repr
from bestarm.values import Array, equal_values

__all__ = [
    "Arms",
    "BernoulliArms",
    "BernoulliVariances",
    "GaussianArms",
    "PoolArms",
    "TableArms",
    "UnpairedArms",
    "bernoulli_variances",
    "clustered_arms",
    "difference_variances",
    "equicorrelated_arms",
    "gaussian_worst_case_arms",
]


class Arms(Protocol):
    """The joint distribution of the rewards of one round."""

    @property
    def n_arms(self) -> int:
        """Number of arms, K."""

    @property
    def means(self) -> Array:
        """The mean of each arm, shape (K,)."""

    @property
    def covariance(self) -> Array:
        """The covariance of the rewards of one round, shape (K, K)."""

    @property
    def best(self) -> int:
        """The arm with the largest mean (the first of them, where several share it)."""

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Array:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""


def difference_variances(covariance: Array) -> Array:
    """The matrix ``V_ij = Var(X_i - X_j)`` of a covariance, never below zero."""
    variances = np.diag(covariance)
    V: Array = np.maximum(variances[:, None] + variances[None, :] - 2.0 * covariance, 0.0)
    np.fill_diagonal(V, 0.0)
    return V


def check_law(arms: Arms, *needed: str) -> None:
    """Refuse what has not all that is needed of the joint law of some arms, or is the class of one."""
    if isinstance(arms, type) or not all(hasattr(arms, name) for name in ("n_arms", "means", *needed)):
        raise TypeError(f"arms must be a law such as bestarm.arms.GaussianArms(...), got {short_repr(arms)}")


class JointLaw:
    """Means and covariance, checked and read-only; what all arms share."""

    def __init__(self, means: Array, covariance: Array) -> None:
        means.setflags(write=False)
        covariance.setflags(write=False)
        self.means = means
        self.covariance = covariance

    @property
    def n_arms(self) -> int:
        """Number of arms, K."""
        return self.means.size

    @property
    def best(self) -> int:
        """The arm with the largest mean (the first of them, where several share it)."""
        return int(np.argmax(self.means))


# A covariance may miss positive semi-definiteness by rounding only: this share of its largest eigenvalue.
EIGENVALUE_TOLERANCE = 1e-10


class GaussianArms(JointLaw):
    """Jointly Gaussian rewards with any positive semi-definite covariance, singular ones included.

    Arms whose difference has variance zero (perfectly correlated, equal variance) share one random column, so that
    no rounding noise of a factorisation passes for information: with equal means they are equal in every digit.

    Parameters
    ----------
    means : vector of K finite numbers
    covariance : symmetric positive semi-definite matrix, shape (K, K)

    Examples
    --------
    >>> arms = GaussianArms([0.0, 0.25], [[1.0, 1.0], [1.0, 1.0]])
    >>> rewards = arms.draw(3, np.random.default_rng(0))
    >>> rewards[:, 1] - rewards[:, 0]
    array([0.25, 0.25, 0.25])

    """

    def __init__(self, means: ArrayLike, covariance: ArrayLike) -> None:
        mu = finite_vector("means", means)
        sigma = floats("covariance", covariance)
        if sigma.shape != (mu.size, mu.size):
            raise ValueError(f"covariance must have shape ({mu.size}, {mu.size}) to match means, got {sigma.shape}")
        refuse_beyond("covariance", sigma)
        asymmetry = np.abs(sigma - sigma.T)
        if asymmetry.max() > EIGENVALUE_TOLERANCE * np.abs(sigma).max():
            i, j = (int(index) for index in np.unravel_index(asymmetry.argmax(), sigma.shape))
            raise ValueError(
                f"covariance must be symmetric, got covariance[{i}, {j}] = {float(sigma[i, j])!r} "
                f"and covariance[{j}, {i}] = {float(sigma[j, i])!r}"
            )
        sigma = (sigma + sigma.T) / 2.0
        # Equal rows of the covariance are arms with V_ij = 0: they share one column of every draw.
        _, first, column = np.unique(sigma, axis=0, return_index=True, return_inverse=True)
        self._column = column.reshape(-1) if first.size < mu.size else None
        self._root = _square_root(sigma if self._column is None else sigma[np.ix_(first, first)])
        self._widths = np.array([np.flatnonzero(row)[-1] + 1 if row.any() else 0 for row in self._root])
        super().__init__(mu, sigma)

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Array:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        from bestarm.kernels.rounds import affine

        noise = rng.standard_normal((n_rounds, self._root.shape[1]))
        means = self.means if self._column is None else np.zeros(len(self._root))
        rows: Array = affine(noise, self._root, self._widths, means)
        return rows if self._column is None else rows[:, self._column] + self.means

    def __repr__(self) -> str:
        return f"GaussianArms(means={self.means.tolist()}, covariance={self.covariance.tolist()})"


def _square_root(sigma: Array) -> Array:
    """A matrix ``A`` with ``A A' = sigma``, one column per standard normal variable needed; triangular if it can be."""
    try:
        return np.asarray(np.linalg.cholesky(sigma), dtype=np.float64)
    except np.linalg.LinAlgError:  # singular, or not a covariance: the eigenvalues tell which
        eigenvalues, vectors = np.linalg.eigh(sigma)
    tolerance = EIGENVALUE_TOLERANCE * np.abs(eigenvalues).max()
    if eigenvalues[0] < -tolerance:
        raise ValueError(
            f"covariance must be positive semi-definite, its smallest eigenvalue is {float(eigenvalues[0])!r}"
        )
    positive = eigenvalues > eigenvalues.size * np.finfo(np.float64).eps * eigenvalues[-1]  # the rest is rounding
    return np.ascontiguousarray(vectors[:, positive] * np.sqrt(eigenvalues[positive]))


def gaussian_worst_case_arms(means: ArrayLike, difference_variances: ArrayLike) -> GaussianArms:
    """The worst case of the paper's Gaussian lower bound (proof of Theorem 6.2): ``X_best = Z``, ``X_i = Z + Y_i``.

    ``Z`` has variance 1 and the independent ``Y_i`` have the variances given, 0 for the best arm itself.
    """
    mu = finite_vector("means", means)
    V = finite_vector("difference_variances", difference_variances)
    if V.shape != mu.shape:
        raise ValueError(f"difference_variances must have {mu.size} entries as means has, got {V.size}")
    refuse_first("difference_variances", V, V < 0, "must be at least 0")
    best = int(mu.argmax())
    if V[best] != 0:
        raise ValueError(
            f"difference_variances[{best}] must be 0, arm {best} is the best arm itself, got {float(V[best])!r}"
        )
    return GaussianArms(mu, 1.0 + np.diag(V))


def equicorrelated_arms(n_arms: int = 10, correlation: float = 0.0) -> GaussianArms:
    """Figure 1, left: means ``i / 10``, unit variances, the same correlation between all arms."""
    check_n_arms(n_arms)
    covariance = np.full((n_arms, n_arms), _correlation(correlation))
    np.fill_diagonal(covariance, 1.0)
    return GaussianArms(_means_in_tenths(n_arms), covariance)


def clustered_arms(n_arms: int = 16, n_clusters: int = 4, correlation: float = 0.99) -> GaussianArms:
    """Figure 1, right: means ``i / 10``, unit variances, correlation within clusters of consecutive arms only.

    The paper does not say which arms share a cluster; consecutive ones do here, and clusters are of equal size.
    """
    check_n_arms(n_arms)
    n_clusters = check_count("n_clusters", n_clusters)
    if n_arms % n_clusters:
        raise ValueError(f"n_clusters must divide n_arms, got {n_clusters} clusters for {n_arms} arms")
    cluster = np.arange(n_arms) // (n_arms // n_clusters)
    covariance = np.where(cluster[:, None] == cluster[None, :], _correlation(correlation), 0.0)
    np.fill_diagonal(covariance, 1.0)
    return GaussianArms(_means_in_tenths(n_arms), covariance)


def _correlation(value: float) -> float:
    if not (is_real(value) and -1.0 <= value <= 1.0):
        raise ValueError(f"correlation must be a number from -1 to 1, got {short_repr(value)}")
    return float(value)


def _means_in_tenths(n_arms: int) -> Array:
    return np.arange(1, n_arms + 1) / 10.0


@dataclass(frozen=True, eq=False)
class BernoulliVariances:
    """What ``Var(X_i - X_best)`` can be for Bernoulli arms of given means (Lemma K.8 of the paper)."""

    smallest: Array
    independent: Array
    largest: Array

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

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Array:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        uniform = rng.random((n_rounds, self.n_arms + 1))
        U, W = uniform[:, :1], uniform[:, 1:]
        rows: Array = ((self._a > U) | (self._b > W)).astype(np.float64)
        return rows

    def __repr__(self) -> str:
        return f"BernoulliArms({self.means.tolist()}, {self.difference_variances.tolist()})"


def _bernoulli_covariance(mu: Array, a: Array, b: Array) -> Array:
    """Covariance of ``X_i = 1(U <= a_i or W_i <= b_i)``, by the value of ``U`` against the smaller and larger ``a``."""
    i_first = a[:, None] <= a[None, :]
    low, high = np.minimum.outer(a, a), np.maximum.outer(a, a)
    b_of_low = np.where(i_first, b[:, None], b[None, :])
    both: Array = low + (high - low) * b_of_low + (1.0 - high) * np.outer(b, b)
    np.fill_diagonal(both, mu)
    return both - np.outer(mu, mu)


class TableArms(JointLaw):
    """Rows of a score table, drawn with replacement; columns are arms.

    Parameters
    ----------
    scores : matrix of finite numbers, one row per item, one column per arm

    Examples
    --------
    >>> arms = TableArms([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    >>> arms.best, arms.means.round(3)
    (0, array([0.667, 0.333]))

    """

    def __init__(self, scores: ArrayLike) -> None:
        table = floats("scores", scores)
        if table.ndim != 2 or table.shape[0] < 1:
            raise ValueError(f"scores must be a table with at least one row, got shape {table.shape}")
        check_n_arms(table.shape[1])
        refuse_beyond("scores", table)
        table.setflags(write=False)
        self.scores = table
        super().__init__(table.mean(axis=0), np.atleast_2d(np.cov(table, rowvar=False, bias=True)))

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Array:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        return self.scores[rng.integers(len(self.scores), size=n_rounds)]

    def __repr__(self) -> str:
        return f"<TableArms: {self.scores.shape[0]} items x {self.n_arms} arms>"


class PoolArms(TableArms):
    """The rows of a score table as a finite pool: each at most once, in random order; columns are arms.

    The means are those of the pool. One draw holds at most the whole pool, and two draws are two fresh orders: a game
    takes its rows from one.
    """

    @property
    def pool(self) -> int:
        """The number of items."""
        return len(self.scores)

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Array:
        """The rewards of ``n_rounds`` different items, shape (n_rounds, K)."""
        if n_rounds > len(self.scores):
            raise ValueError(f"the pool has {len(self.scores)} items, {n_rounds} cannot be drawn without replacement")
        return self.scores[rng.permutation(len(self.scores))[:n_rounds]]

    def __repr__(self) -> str:
        return f"<PoolArms: {self.scores.shape[0]} items x {self.n_arms} arms>"


class UnpairedArms(TableArms):
    """The columns of a table, each drawn with replacement by itself: what a race on different items sees."""

    def __init__(self, scores: ArrayLike) -> None:
        super().__init__(scores)
        self.covariance = np.diag(np.diag(self.covariance))

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Array:
        """The rewards of ``n_rounds`` rounds, shape (n_rounds, K)."""
        rows = rng.integers(len(self.scores), size=(n_rounds, self.n_arms))
        return np.take_along_axis(self.scores, rows, axis=0)
