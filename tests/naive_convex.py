"""Slow, obvious versions of the comparison with convex combinations.

Weights are those of the *other* queried arms. A supremum is bracketed by the primal and the dual solution of an
interior-point solver: its own tolerances prove nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, comb, inf, log, sqrt
from typing import Any

import clarabel  # type: ignore[import-untyped]
import numpy as np
import scipy.sparse
from numpy.typing import NDArray

import naive
from naive import Matrix, Played

Vector = NDArray[np.float64]


# --- the supremum over convex weights --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bracket:
    """``low <= sup <w, m> - |F w| <= high`` over the simplex; the weights attain ``low``."""

    low: float
    high: float
    weights: Vector
    spread: float  # |F w| at these weights


def _settings(tolerance: float) -> Any:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    return settings


SETTINGS = _settings(1e-12)


def supremum(m: Vector, F: Matrix) -> Bracket:
    """Maximise ``<w, m> - s`` subject to ``|F w| <= s``, ``sum w = 1``, ``w >= 0``, scaled to numbers of size one."""
    scale = max(np.abs(m).max(), np.linalg.norm(F, axis=0).max(initial=0.0)) or 1.0
    unit = _supremum(m / scale, F / scale)
    return Bracket(scale * unit.low, scale * unit.high, unit.weights, scale * unit.spread)


def _supremum(m: Vector, F: Matrix) -> Bracket:
    rank, p = F.shape
    zero = np.zeros
    constraints = np.block(
        [
            [np.ones((1, p)), zero((1, 1))],
            [-np.eye(p), zero((p, 1))],
            [zero((1, p)), -np.ones((1, 1))],
            [-F, zero((rank, 1))],
        ]
    )
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(p), clarabel.SecondOrderConeT(rank + 1)]
    bound = np.concatenate([[1.0], zero(p + 1 + rank)])
    no_square = scipy.sparse.csc_matrix((p + 1, p + 1))
    objective = np.concatenate([-m, [1.0]])
    problem = clarabel.DefaultSolver(
        no_square, objective, scipy.sparse.csc_matrix(constraints), bound, cones, SETTINGS
    ).solve()
    w: Vector = np.maximum(np.array(problem.x)[:p], 0.0)
    w /= w.sum()
    spread = float(np.linalg.norm(F @ w))
    return Bracket(float(m @ w) - spread, _dual_value(m, F, -np.array(problem.z)[p + 2 :]), w, spread)


def _dual_value(m: Vector, F: Matrix, y: Vector) -> float:
    """For every ``|y| <= 1`` the supremum is at most ``max_j (m - F' y)_j``."""
    y = y / max(1.0, float(np.linalg.norm(y)))
    return float((m - F.T @ y).max())


def pair_supremum(m: Vector, A: Matrix, j: int, k: int) -> float:
    """The same over weights on two arms: a concave function of one number, by ternary search."""

    def value(share: float) -> float:
        square = share**2 * A[j, j] + 2 * share * (1 - share) * A[j, k] + (1 - share) ** 2 * A[k, k]
        return float(share * m[j] + (1 - share) * m[k] - sqrt(max(square, 0.0)))

    low, high = 0.0, 1.0
    for _ in range(100):
        first, second = (2 * low + high) / 3, (low + 2 * high) / 3
        if value(first) < value(second):
            low = first
        else:
            high = second
    return max(value(0.0), value(1.0), value((low + high) / 2))


# --- games of Convex-BAI ---------------------------------------------------------------------------------------------

Boundary = Callable[[int], tuple[float, float]]  # round -> slope and offset


def convex_boundary(n_arms: int, delta: float, sparsity: int | None = None) -> Boundary:
    """``Gamma_i`` of appendix B with ``|w - e_i|_1 = 2``; for sparse weights with the cover of their supports."""

    def at(t: int) -> tuple[float, float]:
        delta_t = delta / (2 * n_arms**2 * t * (t + 1))
        if sparsity is None or sparsity >= n_arms - 1:
            L = n_arms * log(1 / delta_t)
        else:
            L = sparsity * log(1 / delta_t) + log(comb(n_arms - 1, sparsity))
        return 2 * sqrt(2 * L / (t - 1)), 28 * L / (t - 1)

    return at


def differences(X: Matrix, i: int) -> Matrix:
    """Rewards of the other columns minus those of column ``i``."""
    return np.delete(X, i, axis=1) - X[:, [i]]


def lead_of(D: Matrix, w: Vector, slope: float, offset: float) -> float:
    """By how much these weights beat the arm that is subtracted."""
    variance = float(w @ np.atleast_2d(np.cov(D, rowvar=False)) @ w)
    return float(w @ D.mean(axis=0)) - slope * sqrt(max(variance, 0.0)) - offset


def largest_lead(D: Matrix, slope: float, offset: float) -> float:
    """Its supremum over convex weights; where it is not positive, an upper bound will do."""
    m = D.mean(axis=0) - offset
    alone = m - slope * D.std(axis=0, ddof=1)
    if m.max() <= 0 or m.size == 1 or alone.max() > 0:
        return float(alone.max())
    if m.size == 2:
        return pair_supremum(m, slope**2 * np.cov(D, rowvar=False), 0, 1)
    _, R = np.linalg.qr((D - D.mean(axis=0)) / sqrt(len(D) - 1))  # R' R is the covariance
    return supremum(m, slope * R).low


def looks(growth: float, n_rounds: int) -> set[int]:
    """From round 3 on, the next look is when the rounds have grown by the factor."""
    t, out = 3, set[int]()
    while t <= n_rounds:
        out.add(t)
        t = max(t + 1, ceil(growth * t))
    return out


@dataclass
class Closest:
    """The value nearest to 0 that decided anything."""

    value: float = inf


def convex_race(
    rows: Matrix, boundary: Boundary, keep: float = 1.0, growth: float = 1.0, max_rounds: int | None = None
) -> tuple[Played, float]:
    """The game, and how close the closest of its decisions was."""
    rounds, closest = looks(growth, len(rows)), Closest()

    def judge(arms: list[int], X: Matrix) -> Matrix | None:
        if len(X) not in rounds:
            return None
        slope, offset = boundary(len(X))
        if offset >= 1:  # no lead in [0, 1] is larger
            return None
        leads = [largest_lead(differences(X, i), slope, offset) for i in range(len(arms))]
        closest.value = min(closest.value, *map(abs, leads))
        return np.tile(np.array(leads)[:, None], len(arms))

    return naive.race(rows, judge, keep, max_rounds), closest.value
