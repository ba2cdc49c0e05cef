"""Jointly Gaussian arms, those of Figure 1 and the worst case of the Gaussian lower bound among them."""

from __future__ import annotations  # numpy.random is loaded when first used

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.arms.law import JointLaw
from bestarm.checks import check_count, check_n_arms, finite_vector, floats, is_real, refuse_beyond, refuse_first
from bestarm.shown import described

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

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        from bestarm.kernels import affine

        noise = rng.standard_normal((n_rounds, self._root.shape[1]))
        means = self.means if self._column is None else np.zeros(len(self._root))
        rows: NDArray[np.float64] = affine(noise, self._root, self._widths, means)
        return rows if self._column is None else rows[:, self._column] + self.means

    def __repr__(self) -> str:
        return f"GaussianArms(means={self.means.tolist()}, covariance={self.covariance.tolist()})"


def _square_root(sigma: NDArray[np.float64]) -> NDArray[np.float64]:
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
    return GaussianArms(_figure1_means(n_arms), covariance)


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
    return GaussianArms(_figure1_means(n_arms), covariance)


def _correlation(value: float) -> float:
    if not (is_real(value) and -1.0 <= value <= 1.0):
        raise ValueError(f"correlation must be a number from -1 to 1, got {described(value)}")
    return float(value)


def _figure1_means(n_arms: int) -> NDArray[np.float64]:
    return np.arange(1, n_arms + 1) / 10.0
