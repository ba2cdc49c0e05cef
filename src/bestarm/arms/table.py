"""Arms that are the columns of a table of scores."""

from __future__ import annotations  # numpy.random is loaded when first used

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.arms.law import JointLaw
from bestarm.checks import check_n_arms, floats, refuse_beyond


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

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        return self.scores[rng.integers(len(self.scores), size=n_rounds)]

    def __repr__(self) -> str:
        return f"<TableArms: {self.scores.shape[0]} items x {self.n_arms} arms>"


class PoolArms(TableArms):
    """The rows of a score table as a finite pool: each at most once, in random order; columns are arms.

    The means are those of the pool. One draw holds at most the whole pool, and two draws are two fresh orders: a game
    takes its rows from one.
    """

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
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

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """The rewards of ``n_rounds`` rounds, shape (n_rounds, K)."""
        rows = rng.integers(len(self.scores), size=(n_rounds, self.n_arms))
        return np.take_along_axis(self.scores, rows, axis=0)
