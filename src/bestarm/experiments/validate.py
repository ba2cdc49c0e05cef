"""A study of the guarantee: error rates of the sharp comparisons over a grid of cells.

Each cell is a comparison on one law of the arms, with K, delta, and perhaps a pool or epsilon. An error is that the
designated best arm is eliminated (it is one of the best where the best is tied, and with `Wins` the arm that beats all
others), or, with epsilon, that the arm returned is worse than the best by more than epsilon. Games have a horizon: what
is guaranteed holds at every round.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.arms import Arms, GaussianArms, PoolArms, TableArms, difference_variances
from bestarm.comparisons import (
    Betting,
    ConvexBernstein,
    EmpiricalBernstein,
    GaussianBernstein,
    LeaderBetting,
    Portfolio,
    StudentMixture,
    SymmetricBetting,
    Wins,
)
from bestarm.complexity import lower_bound_bernoulli, lower_bound_gaussian
from bestarm.experiments.records import write_rows
from bestarm.experiments.validate_laws import (
    POOL,
    bounded_laws,
    bounded_tables,
    broken_laws,
    gaussian_laws,
    leader_laws,
    leader_tables,
    symmetric_laws,
    wins_tables,
)
from bestarm.simulation import simulate

HORIZON = {2: 400, 10: 300, 50: 120, 200: 80}
EPSILON = 0.1
TOO_BAD = 1.1 * EPSILON  # a lead of the best arm with which a stop at any other is an error, and hardly any larger
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
    best: int  # the arm that must not be eliminated


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


Comparison = StudentMixture | SymmetricBetting | Betting | LeaderBetting | Wins | Portfolio | ConvexBernstein


def _cell(comparison: Comparison, law: str, arms: Arms, delta: float, epsilon: float = 0.0, holds: bool = True) -> Cell:
    pool, student = getattr(comparison, "pool", None) is not None, getattr(comparison, "student", None)
    option = "pool" if pool else "epsilon" if epsilon else "student=0" if student == 0.0 else ""
    horizon = HORIZON[arms.n_arms]
    algorithm: PairwiseBAI | ConvexBAI
    if comparison.role == "pairs":
        algorithm = PairwiseBAI(delta, comparison=comparison, epsilon=epsilon, max_rounds=horizon)
    else:
        algorithm = ConvexBAI(delta, comparison=comparison, epsilon=epsilon, max_rounds=horizon)
    best = 0 if isinstance(comparison, Wins) else arms.best
    return Cell(type(comparison).__name__, law, arms.n_arms, delta, option, holds, algorithm, arms, best)


def cells(n_arms: Sequence[int] = (2, 10, 50, 200), deltas: Sequence[float] = (0.1, 0.01)) -> Iterator[Cell]:
    """The whole grid, or a part of it."""
    for K in n_arms:
        for delta in deltas:
            yield from _leader_cells(K, delta)
            yield from _symmetric_cells(K, delta)
            if K > MANY:
                continue
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
            for law, scores in wins_tables(K).items():
                yield _cell(Wins(), law, TableArms(scores), delta)
                yield _cell(Wins(pool=len(scores)), law, PoolArms(scores), delta)
            for law, arms in broken_laws(K).items():
                yield _cell(StudentMixture(), law, arms, delta, holds=False)


def _leader_cells(K: int, delta: float) -> Iterator[Cell]:
    """Bets on the leaders, also of many arms."""
    hard = leader_tables(K)
    for law, arms in (bounded_laws(K) | {law: TableArms(scores) for law, scores in hard.items()}).items():
        yield _cell(LeaderBetting(), law, arms, delta)
        if K <= MANY:
            yield _cell(LeaderBetting(pairs=0), law, arms, delta, epsilon=EPSILON)
    for law, scores in (bounded_tables(K) | hard).items():
        yield _cell(LeaderBetting(pool=POOL), law, PoolArms(scores), delta)


def _symmetric_cells(K: int, delta: float) -> Iterator[Cell]:
    """Bets on the leader without bounds: with a Student part, which needs Gaussian differences, and on symmetry alone.

    How much harm the Student part does where differences are only symmetric is measured as well.
    """
    leads = {0.0: 0.0, EPSILON: TOO_BAD} if K <= MANY else {0.0: 0.0}
    for epsilon, lead in leads.items():
        for law, arms in (gaussian_laws(K) | leader_laws(K, lead)).items():
            yield _cell(SymmetricBetting(), law, arms, delta, epsilon=epsilon)
        for law, arms in symmetric_laws(K, lead).items():
            yield _cell(SymmetricBetting(), law, arms, delta, epsilon=epsilon, holds=False)
    for law, arms in symmetric_laws(K, lead=0.0).items():
        yield _cell(SymmetricBetting(student=0), law, arms, delta)
    for law, arms in broken_laws(K).items():
        yield _cell(SymmetricBetting(), law, arms, delta, holds=False)
        yield _cell(SymmetricBetting(student=0), law, arms, delta, holds=False)


def errors_of(cell: Cell, games: int, seed: int) -> tuple[NDArray[np.bool_], float, float]:
    """Play a cell: which games erred, the share that ended before the horizon, and the mean queries."""
    sim = simulate(cell.algorithm, cell.arms, repetitions=games, seed=seed, progress=False)
    lost = ~sim.candidates[:, cell.best]
    too_bad = cell.arms.means[sim.winners] < cell.arms.means.max() - cell.algorithm.epsilon
    errors: NDArray[np.bool_] = np.where(sim.answered & (cell.option == "epsilon"), too_bad, lost)
    return errors, float(sim.answered.mean()), sim.mean_queries


def measure(cell: Cell, games: int, seed: int) -> CellResult:
    """Error rate of a cell with its exact interval and p-value, and its cost beside the paper's rule."""
    from scipy.special import bdtrc, betaincinv

    wrong, decided, queries = errors_of(cell, games, seed)
    errors = int(wrong.sum())
    tail = (1 - CONFIDENCE) / 2
    paper_queries, paper_decided = _paper_cost(cell, seed)
    return CellResult(
        cell=cell,
        games=games,
        errors=errors,
        low=0.0 if errors == 0 else float(betaincinv(errors, games - errors + 1, tail)),
        high=1.0 if errors == games else float(betaincinv(errors + 1, games - errors, 1 - tail)),
        p_value=1.0 if errors == 0 else float(bdtrc(errors - 1, games, cell.delta)),
        decided=decided,
        mean_queries=queries,
        paper_queries=paper_queries,
        paper_decided=paper_decided,
        lower_bound=_lower_bound(cell),
    )


def _paper_cost(cell: Cell, seed: int) -> tuple[float, float]:
    """Mean queries of the paper's rule on the same arms, and the share of games that it decides; NaN without a rule."""
    gaussian = isinstance(cell.arms, GaussianArms)
    if not _paper_has_rule(cell):
        return float("nan"), float("nan")
    paper_rule = PairwiseBAI(
        cell.delta,
        comparison=GaussianBernstein() if gaussian else EmpiricalBernstein(),
        max_rounds=PAPER_HORIZON * HORIZON[cell.n_arms],
    )
    source = TableArms(cell.arms.scores) if isinstance(cell.arms, PoolArms) else cell.arms
    paper = simulate(paper_rule, source, repetitions=PAPER_GAMES, seed=seed, progress=False)
    return paper.mean_queries, float(paper.answered.mean())


def _paper_has_rule(cell: Cell) -> bool:
    """Whether rewards are bounded or Gaussian; and the paper has none for wins."""
    return isinstance(cell.arms, GaussianArms) or cell.algorithm.comparison.bounds is not None


def _lower_bound(cell: Cell) -> float:
    """The paper's lower bound for the class of these arms; NaN where it has none (ties, means outside [1/4, 3/4])."""
    means, gaussian = cell.arms.means, isinstance(cell.arms, GaussianArms)
    if not _paper_has_rule(cell):
        return float("nan")
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
    rows = ([getattr(one.cell if hasattr(one.cell, name) else one, name) for name in HEADINGS] for one in results)
    write_rows(HEADINGS, rows, path)
