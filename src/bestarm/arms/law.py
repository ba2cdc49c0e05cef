"""The joint distribution of the rewards of one round, and what all kinds of arms share."""

from __future__ import annotations  # numpy.random is loaded when first used

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bestarm.shown import described


class Arms(Protocol):
    """The joint distribution of the rewards of one round."""

    @property
    def n_arms(self) -> int:
        """Number of arms, K."""
        ...

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each arm, shape (K,)."""
        ...

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The covariance of the rewards of one round, shape (K, K)."""
        ...

    @property
    def best(self) -> int:
        """The arm with the largest mean (the first of them, where several share it)."""
        ...

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        ...


def difference_variances(covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix ``V_ij = Var(X_i - X_j)`` of a covariance, never below zero."""
    variances = np.diag(covariance)
    V: NDArray[np.float64] = np.maximum(variances[:, None] + variances[None, :] - 2.0 * covariance, 0.0)
    np.fill_diagonal(V, 0.0)
    return V


def check_law(arms: Arms, *needed: str) -> None:
    """Refuse what has not all that is needed of the joint law of some arms, or is the class of one."""
    if isinstance(arms, type) or not all(hasattr(arms, name) for name in ("n_arms", "means", *needed)):
        raise TypeError(f"arms must be a law such as bestarm.arms.GaussianArms(...), got {described(arms)}")


class JointLaw:
    """Means and covariance, checked and read-only; what all arms share."""

    def __init__(self, means: NDArray[np.float64], covariance: NDArray[np.float64]) -> None:
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
