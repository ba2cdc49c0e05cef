"""Joint running moments of arms that were queried in the same rounds."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Moments:
    """Means and centred sums of squares of K arms over the same rounds; mergeable.

    Not the cross products themselves but the centred sums of squares of every *difference* are kept, with those of
    the arms on the diagonal: the same information (``C_ij = (Q_ii + Q_jj - Q_ij) / 2``) without the cancellation that
    eats the variance of a difference when arms are almost perfectly correlated.

    Parameters
    ----------
    count : number of rounds
    means : mean of each arm, shape (K,)
    squares : ``Q_ij``, centred sum of squares of ``X_i - X_j``, and of ``X_i`` on the diagonal, shape (K, K)

    Examples
    --------
    >>> first, second = Moments.of([[1.0, 2.0], [3.0, 5.0]]), Moments.of([[2.0, 2.0]])
    >>> both = first.merge(second)
    >>> both.count, both.means, both.difference_variances[0, 1]
    (3, array([2., 3.]), np.float64(1.0))

    """

    count: int
    means: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def of(cls, rows: ArrayLike) -> Self:
        """The moments of a block of rounds, one column an arm."""
        block = np.asarray(rows, dtype=np.float64)
        if block.ndim != 2 or block.shape[0] == 0:
            raise ValueError(f"rows must be a table with at least one row, got shape {block.shape}")
        shifted = block - block[0]  # large means cost no digits
        centred = shifted - shifted.mean(axis=0)
        squares = np.empty((block.shape[1],) * 2)
        for i, column in enumerate(centred.T):
            squares[i] = np.square(centred - column[:, None]).sum(axis=0)
            squares[i, i] = np.square(column).sum()
        return cls(len(block), block[0] + shifted.mean(axis=0), squares)

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both sets of rounds together (Chan, Golub, LeVeque 1983)."""
        if other.means.shape != self.means.shape:
            raise ValueError(f"moments of {self.means.size} and of {other.means.size} arms cannot be merged")
        count = self.count + other.count
        step = other.means - self.means
        between = np.square(step - step[:, None])
        np.fill_diagonal(between, np.square(step))
        return Moments(
            count,
            self.means + step * (other.count / count),
            self.squares + other.squares + between * (self.count * other.count / count),
        )

    def update(self, rows: ArrayLike) -> "Moments":
        """The moments with a block of further rounds."""
        return self.merge(Moments.of(rows))

    @property
    def cross_products(self) -> NDArray[np.float64]:
        """Centred cross products of the arms, ``C_ij = sum_s (X_i,s - mean_i)(X_j,s - mean_j)``."""
        own = np.diag(self.squares)
        products: NDArray[np.float64] = (own[:, None] + own[None, :] - self.squares) / 2.0
        np.fill_diagonal(products, own)
        return products

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The unbiased sample covariance; NaN after one round."""
        return self._per_degree_of_freedom(self.cross_products)

    @property
    def difference_variances(self) -> NDArray[np.float64]:
        """``Vhat_ij``, the unbiased sample variance of each difference (eq. 10 of the paper); NaN after one round."""
        squares = self.squares.copy()
        np.fill_diagonal(squares, 0.0)
        return self._per_degree_of_freedom(squares)

    def _per_degree_of_freedom(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        return sums / (self.count - 1) if self.count > 1 else np.full_like(sums, np.nan)
