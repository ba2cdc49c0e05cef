"""A study of the guarantee: error rates of the sharp comparisons over a grid of cells.

Each cell is a comparison on one law of the arms, with K, delta, and perhaps a pool or epsilon. An error is that the
designated best arm is eliminated (it is one of the best where the best is tied), or, with epsilon, that the arm
returned is worse than the best by more than epsilon. Games have a horizon: what is guaranteed holds at every round.
"""

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.arms import (
    Arms,
    BernoulliArms,
    GaussianArms,
    PoolArms,
    TableArms,
    bernoulli_variances,
    difference_variances,
)
from bestarm.comparisons import (
    Betting,
    ConvexBernstein,
    EmpiricalBernstein,
    GaussianBernstein,
    Portfolio,
    StudentMixture,
)
from bestarm.complexity import lower_bound_bernoulli, lower_bound_gaussian
from bestarm.simulation import simulate

HORIZON = {2: 400, 10: 300, 50: 120}
POOL = 300  # items of a pool
EPSILON = 0.1
PAPER_GAMES = 20  # the paper's rule is there for its cost only
PAPER_HORIZON = 20  # times the horizon of the sharp rule
MANY = 50
HARD = ("near ties", "equal means")
CONFIDENCE = 0.95  # of the verdict over all cells together


@dataclass(frozen=True)
class Cell:
    """One case of the study."""

    comparison: str
    law: str
    n_arms: int
    delta: float
    option: str
    assumption_holds: bool
    algorithm: PairwiseBAI | ConvexBAI
    arms: Arms


@dataclass(frozen=True)
class CellResult:
    """What was measured in a cell."""

    cell: Cell
    games: int
    errors: int
    low: float
    high: float
    p_value: float
    decided: float
    mean_queries: float
    paper_queries: float
    paper_decided: float
    lower_bound: float

    @property
    def error_rate(self) -> float:
        """Share of games with an error."""
        return self.errors / self.games


def _means(n_arms: int, lead: float) -> NDArray[np.float64]:
    """The best arm ahead by a lead, the others spread over as much again."""
    return np.concatenate([[0.5 + lead], np.linspace(0.5, 0.5 - lead, n_arms - 1)])


def gaussian_laws(n_arms: int) -> dict[str, Arms]:
    """Gaussian arms of many correlations and leads."""
    eye = np.eye(n_arms)
    halves = np.arange(n_arms) < (n_arms + 1) // 2
    same_half = halves[:, None] == halves[None, :]
    negative = -0.9 / (n_arms - 1)
    spread = _means(n_arms, 0.5)
    return {
        "independent": GaussianArms(spread, eye),
        "strongly correlated": GaussianArms(_means(n_arms, 0.1), 0.95 + 0.05 * eye),
        "negatively correlated": GaussianArms(spread, negative + (1 - negative) * eye),
        "near ties": GaussianArms(_means(n_arms, 0.01), 0.5 + 0.5 * eye),
        "equal means": GaussianArms(np.full(n_arms, 0.5), 0.5 + 0.5 * eye),
        "two clusters": GaussianArms(_means(n_arms, 0.2), 0.99 * same_half + 0.01 * eye),
    }


def _copula_table(
    n_arms: int, correlation: float, quantile: Callable[[NDArray[np.float64], int], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """A table of scores with a Gaussian copula and given marginals, as many rows as a pool has."""
    from scipy.special import ndtr

    rng = np.random.default_rng(20230602 + n_arms)
    noise = np.sqrt(correlation) * rng.standard_normal((POOL, 1))
    uniform = ndtr(noise + np.sqrt(1 - correlation) * rng.standard_normal((POOL, n_arms)))
    return np.column_stack([quantile(uniform[:, i], i) for i in range(n_arms)])


@lru_cache(maxsize=8)
def bounded_tables(n_arms: int) -> dict[str, NDArray[np.float64]]:
    """Score tables in [0, 1], one column per arm."""
    from scipy.special import betaincinv

    spread, close = _means(n_arms, 0.2), _means(n_arms, 0.01)

    def beta(means: NDArray[np.float64], size: float) -> Callable[[NDArray[np.float64], int], NDArray[np.float64]]:
        def quantile(u: NDArray[np.float64], i: int) -> NDArray[np.float64]:
            scores: NDArray[np.float64] = betaincinv(size * means[i], size * (1 - means[i]), u)
            return scores

        return quantile

    base = _copula_table(2, 0.0, beta(spread[:2], 0.3))[:, 0]
    halves = np.arange(n_arms) < (n_arms + 1) // 2
    first, second = (_copula_table(n_arms, 0.9, beta(spread, 2.0)) for _ in range(2))
    return {
        "Beta, mass at both ends": _copula_table(n_arms, 0.5, beta(spread, 0.3)),
        "Beta, skewed": _copula_table(n_arms, 0.5, beta(0.2 * spread, 2.0)),
        "near ties": _copula_table(n_arms, 0.8, beta(close, 1.0)),
        "equal means": np.column_stack([np.roll(base, 7 * i) for i in range(n_arms)]),
        "two clusters": np.where(halves, first, np.roll(second, 11, axis=0)),
    }


def bounded_laws(n_arms: int) -> dict[str, Arms]:
    """Bounded arms: Bernoulli as in the lower bound, and score tables drawn with replacement."""
    means = _means(n_arms, 0.1)
    possible = bernoulli_variances(means)
    bernoulli: dict[str, Arms] = {
        "Bernoulli, independent": BernoulliArms(means, possible.independent),
        "Bernoulli, correlated": BernoulliArms(means, 1.2 * possible.smallest),
    }
    return bernoulli | {law: TableArms(scores) for law, scores in bounded_tables(n_arms).items()}


@lru_cache(maxsize=8)
def broken_laws(n_arms: int) -> dict[str, Arms]:
    """Laws that a Gaussian comparison is not made for: the best arm wins by rare large scores, others are steady."""
    rng = np.random.default_rng(5)
    steady = 0.8 + 0.1 * rng.random((4000, n_arms))
    rare, skewed = steady.copy(), steady.copy()
    rare[:, 0] = 10.0 * (rng.random(4000) < 0.1)
    skewed[:, 0] = rng.exponential(size=4000)
    return {"discrete: rare large wins": TableArms(rare), "skewed: exponential best arm": TableArms(skewed)}


Comparison = StudentMixture | Betting | Portfolio | ConvexBernstein


def _cell(comparison: Comparison, law: str, arms: Arms, delta: float, epsilon: float = 0.0, holds: bool = True) -> Cell:
    pool = getattr(comparison, "pool", None) is not None
    option = "pool" if pool else "epsilon" if epsilon else ""
    horizon = HORIZON[arms.n_arms]
    algorithm: PairwiseBAI | ConvexBAI
    if comparison.role == "pairs":
        algorithm = PairwiseBAI(delta, comparison=comparison, epsilon=epsilon, max_rounds=horizon)
    else:
        algorithm = ConvexBAI(delta, comparison=comparison, epsilon=epsilon, max_rounds=horizon)
    return Cell(type(comparison).__name__, law, arms.n_arms, delta, option, holds, algorithm, arms)


def cells(n_arms: Sequence[int] = (2, 10, 50), deltas: Sequence[float] = (0.1, 0.01)) -> Iterator[Cell]:
    """The whole grid, or a part of it."""
    for K in n_arms:
        for delta in deltas:
            for law, arms in gaussian_laws(K).items():
                yield _cell(StudentMixture(), law, arms, delta)
                yield _cell(StudentMixture(), law, arms, delta, epsilon=EPSILON)
            for law, arms in bounded_laws(K).items():
                yield _cell(Betting(), law, arms, delta)
                yield _cell(Betting(), law, arms, delta, epsilon=EPSILON)
                if K < MANY or law in HARD:  # portfolios of many arms take long
                    yield _cell(Portfolio(), law, arms, delta)
                    yield _cell(Portfolio(), law, arms, delta, epsilon=EPSILON)
                if K < MANY:
                    yield _cell(ConvexBernstein(), law, arms, delta)
            for law, scores in bounded_tables(K).items():
                yield _cell(Betting(pool=POOL), law, PoolArms(scores), delta)
                if K < MANY:
                    yield _cell(Portfolio(pool=POOL), law, PoolArms(scores), delta)
            for law, arms in broken_laws(K).items():
                yield _cell(StudentMixture(), law, arms, delta, holds=False)


def errors_of(cell: Cell, games: int, seed: int) -> tuple[NDArray[np.bool_], float, float]:
    """Play a cell: which games erred, the share that ended before the horizon, and the mean queries."""
    sim = simulate(cell.algorithm, cell.arms, repetitions=games, seed=seed, progress=False)
    lost = ~sim.candidates[:, cell.arms.best]
    too_bad = cell.arms.means[sim.winners] < cell.arms.means.max() - cell.algorithm.epsilon
    errors: NDArray[np.bool_] = np.where(sim.answered & (cell.option == "epsilon"), too_bad, lost)
    return errors, float(sim.answered.mean()), sim.mean_queries


def measure(cell: Cell, games: int, seed: int) -> CellResult:
    """Error rate of a cell with its exact interval and p-value, and its cost beside the paper's rule."""
    from scipy.special import bdtrc, betaincinv

    wrong, decided, queries = errors_of(cell, games, seed)
    errors = int(wrong.sum())
    tail = (1 - CONFIDENCE) / 2
    gaussian = cell.comparison == "StudentMixture"
    paper_rule = PairwiseBAI(
        cell.delta,
        comparison=GaussianBernstein() if gaussian else EmpiricalBernstein(),
        max_rounds=PAPER_HORIZON * HORIZON[cell.n_arms],
    )
    source = TableArms(cell.arms.scores) if isinstance(cell.arms, PoolArms) else cell.arms
    paper = simulate(paper_rule, source, repetitions=PAPER_GAMES, seed=seed, progress=False)
    return CellResult(
        cell=cell,
        games=games,
        errors=errors,
        low=0.0 if errors == 0 else float(betaincinv(errors, games - errors + 1, tail)),
        high=1.0 if errors == games else float(betaincinv(errors + 1, games - errors, 1 - tail)),
        p_value=1.0 if errors == 0 else float(bdtrc(errors - 1, games, cell.delta)),
        decided=decided,
        mean_queries=queries,
        paper_queries=paper.mean_queries,
        paper_decided=float(paper.answered.mean()),
        lower_bound=_lower_bound(cell, gaussian),
    )


def _lower_bound(cell: Cell, gaussian: bool) -> float:
    """The paper's lower bound for the class of these arms; NaN where it has none (ties, means outside [1/4, 3/4])."""
    means = cell.arms.means
    variances = difference_variances(cell.arms.covariance)[cell.arms.best]
    if np.sum(means > means.max() - 1e-12) > 1 or not cell.assumption_holds:
        return float("nan")
    if gaussian:
        return lower_bound_gaussian(means, variances, cell.delta)
    if means.min() < 0.25 or means.max() > 0.75:
        return float("nan")
    return lower_bound_bernoulli(means, variances, cell.delta)


@dataclass(frozen=True)
class Verdict:
    """Whether the guarantee is consistent with all cells that meet its assumptions, together."""

    n_cells: int
    smallest_p: float
    threshold: float

    @property
    def passed(self) -> bool:
        """Whether no cell's p-value is below Šidák's threshold."""
        return self.smallest_p >= self.threshold

    def __str__(self) -> str:
        outcome = "no cell speaks against the guarantee" if self.passed else "the guarantee is REJECTED"
        return (
            f"{self.n_cells} cells meet the assumptions: {outcome} (smallest p-value {self.smallest_p:.3g}, "
            f"Šidák threshold {self.threshold:.3g} for {1 - CONFIDENCE:.0%} over all cells)."
        )


def verdict(results: Sequence[CellResult]) -> Verdict:
    """Šidák's correction over the cells that meet the assumptions."""
    tested = [result.p_value for result in results if result.cell.assumption_holds]
    return Verdict(len(tested), min(tested), 1.0 - CONFIDENCE ** (1.0 / len(tested)))


HEADINGS = (
    *("comparison", "law", "n_arms", "delta", "option", "assumption_holds", "games", "errors", "error_rate", "low"),
    *("high", "p_value", "decided", "mean_queries", "paper_queries", "paper_decided", "lower_bound"),
)


def write_csv(results: Sequence[CellResult], path: Path) -> None:
    """One row per cell."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADINGS)
        for result in results:
            writer.writerow(getattr(result.cell if hasattr(result.cell, name) else result, name) for name in HEADINGS)
