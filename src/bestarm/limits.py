"""What is possible: figures that the queries of rules are measured against. The proofs are in ``docs/theory.md``.

`gaussian_lower_bound` holds for every rule on Gaussian arms. `oracle_queries` is what an oracle needs that knows the
law of bounded scores and bets on differences: a yardstick, no bound for every rule.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bestarm.arms import Arms, TableArms
from bestarm.checks import check_open_unit, finite_vector, refuse_first
from bestarm.complexity import suboptimal_arms
from bestarm.errors import BestarmError
from bestarm.text import short_repr
from bestarm.values import Array, Indices

__all__ = ["gaussian_lower_bound", "growth_rates", "nested_sets", "oracle_queries"]
TOLERANCE = 1e-10
SOLVED = ("Solved", "AlmostSolved")
NOT_SOLVED = "the lower bound cannot be computed: the covariance is nearly singular, or the leads differ by too much"


def cheapest_design(informations: Array, costs: Array, contrasts: Array) -> tuple[Array, Array]:
    """The weights ``w`` of the sets, and the price of each contrast (the multiplier of its constraint).

    Parameters
    ----------
    informations : ``I_C`` of each set, shape (sets, K, K)
    costs : ``|C|`` of each set
    contrasts : one row for each

    """
    try:
        import clarabel  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError("the Gaussian lower bound needs clarabel: pip install 'bestarm[limit]'") from error
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


def _constraints(informations: Array, contrasts: Array) -> tuple[Array, Array]:
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


MOST_ARMS = 30  # of given sets: the solver's memory grows as the fifth power
MOST_ARMS_OF_ALL_SETS = 16  # 65,535 sets
GAP, LARGEST_GAP = 1e-5, 1e-3  # how far the certified value is to be, and may be, below the optimum: shares of it
ADDED = 8  # new sets of each size at a time
SINGULAR = 1e-12  # of the largest eigenvalue
Members = NDArray[np.bool_]


def gaussian_lower_bound(arms: Arms, delta: float, subsets: Iterable[Sequence[int]] | None = None) -> float:
    """Expected queries that no delta-sound rule can do without, on Gaussian arms of these means and this covariance.

    It holds for every rule that names a set of arms in each round as it likes, sees their rewards of that round, stops
    when it likes, and returns the best arm with probability at least ``1 - delta`` for all means of Gaussian arms of
    this covariance: also if it knows the covariance, so also for rules that do not. What is returned is certified by
    alternatives that a rule must exclude, and at most 0.1% below the optimum of the program, mostly 0.001% or less.
    The proof is in docs/theory.md.

    Parameters
    ----------
    arms : their means and covariance; the covariance must be regular
    delta : accepted probability of a wrong answer; from 1/2 on the bound is 0
    subsets : the sets of arms that a rule may query in one round, for at most 30 arms; by default all, for at most 16.
        With fewer sets the bound is about rules that query no others

    """
    check_open_unit("delta", delta)
    covariance, contrasts = _in_units_of_gaps(arms)
    members = _all_sets(arms.n_arms) if subsets is None else _given_sets(subsets, arms.n_arms)
    unit = float(np.max(np.diag(covariance)))
    if not np.isfinite(unit):
        raise BestarmError(NOT_SOLVED)
    start = np.arange(len(members)) if subsets is not None else _first_sets(members, nested_sets(arms.means))
    value = _certified_value(_informations(covariance / unit, members), members.sum(axis=1), contrasts, start)
    divergence = 0.0 if delta >= 0.5 else (1.0 - 2.0 * delta) * np.log((1.0 - delta) / delta)
    return float(divergence * unit * value)


def _in_units_of_gaps(arms: Arms) -> tuple[Array, Array]:
    """The covariance and the contrasts to the best arm, each arm in units of its gap: numbers of one size."""
    others = suboptimal_arms(arms)
    gaps = arms.means[arms.best] - arms.means
    gaps[arms.best] = gaps[others].min()
    contrasts = -np.eye(arms.n_arms)[others]
    contrasts[:, arms.best] = gaps[arms.best] / gaps[others]
    with np.errstate(over="ignore", divide="ignore"):  # of gaps too small to be squared
        return _regular(arms.covariance) / np.outer(gaps, gaps), contrasts


def nested_sets(means: ArrayLike) -> list[list[int]]:
    """The arms with the ``m`` largest means, for ``m = 1, ..., K``: what a rule queries that drops the worst first."""
    order = np.argsort(-finite_vector("means", means), kind="stable")
    return [sorted(order[:m].tolist()) for m in range(1, order.size + 1)]


def _all_sets(n_arms: int) -> Members:
    if n_arms > MOST_ARMS_OF_ALL_SETS:
        raise ValueError(
            f"subsets must be given for more than {MOST_ARMS_OF_ALL_SETS} arms, such as nested_sets(means), got "
            f"{n_arms} arms: there are too many sets of them"
        )
    members: Members = (np.arange(1, 2**n_arms)[:, None] >> np.arange(n_arms)) % 2 == 1
    return members


def _given_sets(subsets: Iterable[Sequence[int]], n_arms: int) -> Members:
    if n_arms > MOST_ARMS:
        raise ValueError(f"the lower bound is computed for at most {MOST_ARMS} arms, got {n_arms}")
    rows = []
    for subset in subsets:
        row = np.isin(np.arange(n_arms), subset)
        if row.sum() != len(subset) or not row.any():
            raise ValueError(f"subsets must be sets of arms from 0 to {n_arms - 1}, got {short_repr(subset)}")
        rows.append(row)
    members = np.array(rows, dtype=np.bool_).reshape(-1, n_arms)
    if not members.any(axis=0).all():
        raise ValueError(f"subsets must contain every arm, none contains arm {int(members.any(axis=0).argmin())}")
    return members


def _regular(covariance: Array) -> Array:
    eigenvalues = np.linalg.eigvalsh(covariance)
    if eigenvalues[0] <= SINGULAR * eigenvalues[-1]:
        raise ValueError(f"covariance must be regular, its smallest eigenvalue is {float(eigenvalues[0])!r}")
    return covariance


def _informations(covariance: Array, members: Members) -> Array:
    """``I_C`` of each set: the inverse of the covariance of its arms, 0 elsewhere."""
    informations = np.zeros((len(members), *covariance.shape))
    sizes = members.sum(axis=1)
    for size in np.unique(sizes):
        sets = np.flatnonzero(sizes == size)
        arms = np.nonzero(members[sets])[1].reshape(-1, size)
        pairs = arms[:, :, None], arms[:, None, :]
        informations[sets[:, None, None], *pairs] = np.linalg.inv(covariance[pairs])
    return informations


def _first_sets(members: Members, nested: list[list[int]]) -> Indices:
    """Where to begin: single arms, pairs, and the nested sets."""
    chosen = members.sum(axis=1) <= 2
    chosen[[sum(2**arm for arm in subset) - 1 for subset in nested]] = True
    return np.flatnonzero(chosen)


def _certified_value(informations: Array, sizes: Indices, contrasts: Array, sets: Indices) -> float:
    """The value of the program over all sets, from below: sets are added until none that is left out tells more."""
    while True:
        weights, prices = cheapest_design(informations[sets], sizes[sets].astype(np.float64), contrasts)
        alternatives = np.linalg.solve(np.tensordot(weights, informations[sets], axes=1), contrasts.T).T
        spreads = np.einsum("ij,ij->i", contrasts, alternatives)
        alternatives /= spreads[:, None]  # the closest ones in which the arm is as good as the best
        # Information on these alternatives, mixed by their prices, that a query of each set gives.
        mixed = np.einsum("i,ij,ik->jk", prices, alternatives, alternatives) / 2.0
        gains = np.tensordot(informations, mixed, axes=2) / sizes
        certified = float(prices.sum() / gains.max())
        reached = float(weights @ sizes[sets] * 2.0 * spreads.max())
        new = np.setdiff1d(_best_of_each_size(gains, sizes), sets)
        if certified >= (1.0 - (GAP if new.size else LARGEST_GAP)) * reached:
            return certified
        if new.size == 0:
            raise BestarmError(NOT_SOLVED)
        sets = np.append(sets, new)


def _best_of_each_size(gains: Array, sizes: Indices) -> Indices:
    """The sets of each size that tell most, of those that tell more than they cost."""
    best = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    first = np.concatenate([sets[np.argsort(-gains[sets], kind="stable")[:ADDED]] for sets in best])
    telling: Indices = first[gains[first] > 1.0]
    return telling


HALVINGS = 40  # of the interval of bets


def growth_rates(scores: ArrayLike) -> Array:
    """The largest growth rate of a bet in [0, 1] against each arm, over all opponents; 0 against the best.

    Parameters
    ----------
    scores : table in [0, 1], one row per item, one column per arm; rows are drawn with replacement

    """
    arms = TableArms(scores)
    refuse_first("scores", arms.scores, (arms.scores < 0) | (arms.scores > 1), "must lie in [0, 1]")
    rates = np.zeros(arms.n_arms)
    for arm, mean in enumerate(arms.means):
        ahead = arms.means > mean
        if ahead.any():
            rates[arm] = _largest_rate(arms.scores[:, ahead] - arms.scores[:, [arm]])
    return rates


def _largest_rate(differences: Array) -> float:
    """The largest mean of ``log(1 + lambda D)`` over bets and columns, each concave in the bet and rising at 0."""
    low, high = np.zeros(differences.shape[1]), np.ones(differences.shape[1])
    for _ in range(HALVINGS):
        bet = (low + high) / 2.0
        rising = (differences / (1.0 + bet * differences)).mean(axis=0) > 0
        low, high = np.where(rising, bet, low), np.where(rising, high, bet)
    return float(np.log1p(low * differences).mean(axis=0).max())


def oracle_queries(rates: Array, delta: float, *, union: bool) -> float:
    """Queries of the oracle: each arm until its wealth is there, the best as long as the last of the others.

    Parameters
    ----------
    rates : `growth_rates` of the arms
    delta : accepted probability of a wrong answer
    union : whether it pays for testing an arm against every other: the wealth must reach ``(K - 1) / delta`` in place
        of ``1 / delta``

    """
    check_open_unit("delta", delta)
    beaten = rates[rates > 0]
    if beaten.size != rates.size - 1:
        raise ValueError("the oracle needs one best arm, the largest mean is shared by several")
    rounds = np.log((beaten.size if union else 1) / delta) / beaten
    return float(rounds.sum() + rounds.max())
