"""The cheapest design: how often to query which sets of arms, so that all contrasts are known well enough.

Minimise ``sum_C w_C |C|`` over ``w >= 0`` with ``c' A(w)^-1 c <= 1/2`` for all contrasts ``c``, where
``A(w) = sum_C w_C I_C`` and ``I_C`` is the inverse of the covariance of the arms in ``C``, 0 elsewhere. By Schur's
complement each constraint is that ``[[A(w), c], [c', 1/2]]`` is positive semi-definite.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.errors import BestarmError

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

TOLERANCE = 1e-10
SOLVED = ("Solved", "AlmostSolved")
NOT_SOLVED = "the lower bound cannot be computed: the covariance is nearly singular, or the leads differ by too much"


def cheapest_design(informations: NDArray[np.float64], costs: Vector, contrasts: Matrix) -> tuple[Vector, Vector]:
    """The weights ``w`` of the sets, and the price of each contrast (the multiplier of its constraint).

    Parameters
    ----------
    informations : ``I_C`` of each set, shape (sets, K, K)
    costs : ``|C|`` of each set
    contrasts : one row for each

    """
    clarabel = _clarabel()
    from scipy.sparse import csc_matrix

    n_sets, n_arms = informations.shape[:2]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    whole, bound = _constraints(informations, contrasts)
    cones = [clarabel.NonnegativeConeT(n_sets)] + len(contrasts) * [clarabel.PSDTriangleConeT(n_arms + 1)]
    solver = clarabel.DefaultSolver(csc_matrix((n_sets, n_sets)), costs, csc_matrix(whole), bound, cones, settings)
    solution = solver.solve()
    if str(solution.status) not in SOLVED:
        raise BestarmError(f"{NOT_SOLVED} (clarabel ends with {solution.status})")
    prices = np.array(solution.z)[n_sets:].reshape(len(contrasts), -1)[:, -1]
    return np.maximum(solution.x, 0.0), np.maximum(prices, 0.0)


def _constraints(informations: NDArray[np.float64], contrasts: Matrix) -> tuple[Matrix, Vector]:
    """Rows and right sides for ``w >= 0`` and one matrix for each contrast: its upper triangle, column by column."""
    n_sets, n_arms = informations.shape[:2]
    column, row = np.tril_indices(n_arms + 1)
    scale = np.where(row == column, 1.0, np.sqrt(2.0))  # so that inner products of triangles are those of matrices
    padded = np.pad(informations, ((0, 0), (0, 1), (0, 1)))
    triangle = -(padded[:, row, column] * scale).T
    borders = np.zeros((len(contrasts), n_arms + 1, n_arms + 1))
    borders[:, :n_arms, n_arms] = contrasts
    borders[:, n_arms, n_arms] = 0.5
    sides = borders[:, row, column] * scale
    return np.vstack([-np.eye(n_sets), *len(contrasts) * [triangle]]), np.append(np.zeros(n_sets), sides)


def _clarabel() -> Any:
    try:
        import clarabel  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError("the Gaussian lower bound needs clarabel: pip install 'bestarm[limit]'") from error
    return clarabel
