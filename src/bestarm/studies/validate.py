"""A study of the guarantee: error rates of the sharp comparisons over a grid of cells.

Each cell is a comparison on one law of the arms, with K, delta, and perhaps a pool or epsilon. An error is that the
designated best arm is eliminated (it is one of the best where the best is tied, and with `Wins` the arm that beats all
others), or, with epsilon, that the arm returned is worse than the best by more than epsilon. Games have a horizon: what
is guaranteed holds at every round.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.arms import (
    Arms,
    BernoulliArms,
    GaussianArms,
    JointLaw,
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
    LeaderBetting,
    Portfolio,
    StudentMixture,
    SymmetricBetting,
    Wins,
)
from bestarm.complexity import lower_bound_bernoulli, lower_bound_gaussian
from bestarm.simulation import clopper_pearson, simulate
from bestarm.studies.output import empty_table, headings_of, say_written, write_csv
from bestarm.values import Array

POOL = 300  # items of a pool
NOISE = 0.3  # the scale of rewards that have no bounds: games with epsilon come near their end


def _means(n_arms: int, lead: float) -> Array:
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


def _beta_table(means: Array, size: float, correlation: float) -> Array:
    """A table of Beta scores with these means and this size (alpha + beta), as many rows as a pool; Gaussian copula."""
    from scipy.special import betaincinv, ndtr

    rng = np.random.default_rng(20230602 + means.size)
    noise = np.sqrt(correlation) * rng.standard_normal((POOL, 1))
    uniform = ndtr(noise + np.sqrt(1 - correlation) * rng.standard_normal((POOL, means.size)))
    return np.asarray(betaincinv(size * means, size * (1 - means), uniform), dtype=np.float64)


@lru_cache(maxsize=8)
def bounded_tables(n_arms: int) -> dict[str, Array]:
    """Score tables in [0, 1], one column per arm."""
    spread, close = _means(n_arms, 0.2), _means(n_arms, 0.01)
    base = _beta_table(spread[:2], 0.3, correlation=0.0)[:, 0]
    halves = np.arange(n_arms) < (n_arms + 1) // 2
    similar = _beta_table(spread, 2.0, correlation=0.9)
    return {
        "Beta, mass at both ends": _beta_table(spread, 0.3, correlation=0.5),
        "Beta, skewed": _beta_table(0.2 * spread, 2.0, correlation=0.5),
        "near ties": _beta_table(close, 1.0, correlation=0.8),
        "equal means": np.column_stack([np.roll(base, 7 * i) for i in range(n_arms)]),
        "two clusters": np.where(halves, similar, np.roll(similar, 11, axis=0)),
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
def leader_tables(n_arms: int) -> dict[str, Array]:
    """Score tables in [0, 1] that are hard for bets on the leaders: who leads does so by chance, or for long."""
    rng = np.random.default_rng(20230604 + n_arms)
    heads = rng.permutation(POOL) < 0.5 * POOL
    opposed = np.where(np.arange(n_arms) % 2 == 0, heads[:, None], ~heads[:, None]).astype(np.float64)
    half = np.full((POOL, n_arms), 0.5)
    rare, spread = half.copy(), half.copy()
    rare[:, 0] = np.where(rng.permutation(POOL) < 0.15 * POOL, 1.0, 0.42)
    for arm in range(n_arms):  # from no spread at all to that of a coin
        signs = np.where(rng.permutation(POOL) < 0.5 * POOL, 1.0, -1.0)
        spread[:, arm] += 0.5 * arm / max(n_arms - 1, 1) * signs
    clones = np.repeat(rng.random((POOL, 1)), n_arms, axis=1)
    clones[:, 0] = rng.permutation(clones[:, 0])
    return {"clones": clones, "antithetic": opposed, "rare wins": rare, "heteroscedastic": spread}


Noise = Callable[[np.random.Generator, tuple[int, int]], Array]


class NoisyArms(JointLaw):
    """Centres plus noise, each round drawn anew; means are up to a constant, and where there are none, medians.

    Nothing is computed from the covariance: it is not a number.
    """

    def __init__(self, centres: Array, noise: Noise) -> None:
        super().__init__(centres, np.full((centres.size, centres.size), np.nan))
        self._noise = noise

    def draw(self, n_rounds: int, rng: np.random.Generator) -> Array:
        """The rewards of ``n_rounds`` independent rounds, shape (n_rounds, K)."""
        rows: Array = self.means + NOISE * self._noise(rng, (n_rounds, self.n_arms))
        return rows


def _signs_but_of_the_first(rng: np.random.Generator, shape: tuple[int, int]) -> Array:
    signs = np.where(rng.random(shape) < 0.5, 1.0, -1.0)
    signs[:, 0] = 0.0
    return signs


def _first_ahead(n_arms: int, lead: float) -> Array:
    return np.where(np.arange(n_arms) == 0, lead, 0.0)


def leader_laws(n_arms: int, lead: float) -> dict[str, Arms]:
    """Gaussian arms that are hard for bets on the leader, the first ahead of the others, which are equally good."""
    centres, number = _first_ahead(n_arms, lead), np.arange(n_arms)
    cloned = np.minimum(number, 1)
    signs = np.where(number % 2 == 0, 1.0, -1.0)
    spread = number / (n_arms - 1)  # from no spread at all
    shapes = {
        "clones": (cloned[:, None] == cloned).astype(np.float64),
        "antithetic": np.outer(signs, signs),
        "heteroscedastic": np.diag(spread**2),
    }
    return {law: GaussianArms(centres, NOISE**2 * shape) for law, shape in shapes.items()}


def symmetric_laws(n_arms: int, lead: float) -> dict[str, Arms]:
    """Arms whose differences are symmetric and not Gaussian, the first ahead of the others, which are equally good."""
    noises: dict[str, Noise] = {
        "Student t, 3 degrees": lambda rng, shape: rng.standard_t(3, shape),
        "Cauchy": lambda rng, shape: rng.standard_cauchy(shape),
        "lognormal, the same for all": lambda rng, shape: rng.lognormal(size=shape),
        "exponential, the same for all": lambda rng, shape: rng.exponential(size=shape),
        "a constant against signs": _signs_but_of_the_first,
    }
    return {law: NoisyArms(_first_ahead(n_arms, lead), noise) for law, noise in noises.items()}


@lru_cache(maxsize=8)
def broken_laws(n_arms: int) -> dict[str, Arms]:
    """Laws that no comparison without bounds is made for: the best arm wins by rare large scores, others are steady."""
    rng = np.random.default_rng(5)
    steady = 0.8 + 0.1 * rng.random((4000, n_arms))
    rare, skewed = steady.copy(), steady.copy()
    rare[:, 0] = 10.0 * (rng.random(4000) < 0.1)
    skewed[:, 0] = rng.exponential(size=4000)
    return {"discrete: rare large wins": TableArms(rare), "skewed: exponential best arm": TableArms(skewed)}


@lru_cache(maxsize=8)
def wins_tables(n_arms: int) -> dict[str, Array]:
    """Score tables in which arm 0 beats every other on at least as many items as it loses, whatever its mean."""
    rng = np.random.default_rng(20230603 + n_arms)
    leads = np.concatenate([[0.2], np.zeros(n_arms - 1)])
    noise = rng.standard_normal((POOL, n_arms))
    outliers = 0.5 * noise + leads
    outliers[: POOL // 20, 0] -= 1000.0
    half = noise[: POOL // 2]
    tables = {
        "heavy tails": rng.standard_cauchy((POOL, n_arms)) + leads,
        "outliers against the best arm": outliers,
        "ties": np.round(noise + leads),
        "no arm beats another": np.concatenate([half, -half]),
    }
    return {law: _with_winner(scores) for law, scores in tables.items()}


def _with_winner(scores: Array) -> Array:
    """Lift as few scores of arm 0 in a table as it takes for it to lose to no other arm on balance."""
    scores = scores.copy()
    for item in range(len(scores) - 1, -1, -1):
        if np.sign(scores[:, :1] - scores).sum(axis=0).min() >= 0:
            return scores
        scores[item, 0] = scores[item].max() + 1.0
    return scores


HORIZON = {2: 400, 10: 300, 50: 120, 200: 80}
EPSILON = 0.1
TOO_BAD = 1.1 * EPSILON  # a lead of the best arm with which a stop at any other is an error, and hardly any larger
PAPER_GAMES = 20  # the paper's rule is there for its cost only
PAPER_HORIZON = 20  # times the horizon of the sharp rule
MANY = 50
HARD = ("near ties", "equal means")
CONFIDENCE = 0.95  # of the verdict over all cells together


@dataclass(frozen=True)
class CellName:
    """Which case of the study a cell is."""

    comparison: str
    law: str
    n_arms: int
    delta: float
    option: str
    assumption_holds: bool


@dataclass(frozen=True)
class Cell(CellName):
    """One case of the study: what is played."""

    algorithm: PairwiseBAI | ConvexBAI
    arms: Arms
    best: int  # the arm that must not be eliminated


@dataclass(frozen=True)
class CellResult(CellName):
    """What was measured in a cell: a row of validate.csv."""

    games: int
    errors: int
    error_rate: float
    low: float
    high: float
    p_value: float
    decided: float
    mean_queries: float
    paper_queries: float
    paper_decided: float
    lower_bound: float


Comparison = StudentMixture | SymmetricBetting | Betting | LeaderBetting | Wins | Portfolio | ConvexBernstein


def _cell(comparison: Comparison, law: str, arms: Arms, delta: float, epsilon: float = 0.0, holds: bool = True) -> Cell:
    pool, student = getattr(comparison, "pool", None) is not None, getattr(comparison, "student", None)
    option = "pool" if pool else "epsilon" if epsilon else "student=0" if student == 0.0 else ""
    kind = PairwiseBAI if comparison.role == "pairs" else ConvexBAI
    algorithm = kind(delta, comparison=comparison, epsilon=epsilon, max_rounds=HORIZON[arms.n_arms])
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
    from scipy.special import bdtrc

    wrong, decided, queries = errors_of(cell, games, seed)
    errors = int(wrong.sum())
    low, high = clopper_pearson(errors, games, CONFIDENCE)
    paper_queries, paper_decided = _paper_cost(cell, seed)
    return CellResult(
        **{name: getattr(cell, name) for name in headings_of(CellName)},
        games=games,
        errors=errors,
        error_rate=errors / games,
        low=low,
        high=high,
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
    tested = [result.p_value for result in results if result.assumption_holds]
    return Verdict(len(tested), min(tested), 1.0 - CONFIDENCE ** (1.0 / len(tested)))


def _number(value: float, enough: bool = True) -> str:
    if math.isnan(value):
        return "–"
    return f"{'' if enough else '≥ '}{value:,.0f}"


def validate_table(results: Sequence[CellResult], title: str) -> Table:
    """One row per cell."""
    table = empty_table(title)
    for heading in ("comparison", "arms", "with"):
        table.add_column(heading, no_wrap=True)
    for heading in ("K", "delta", "error rate", "95% interval", "p", "ended", "queries", "paper's rule", "lower bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        table.add_row(
            result.comparison,
            result.law,
            result.option,
            str(result.n_arms),
            f"{result.delta:g}",
            f"{result.error_rate:.4f}",
            f"{result.low:.4f}–{result.high:.4f}",
            f"{result.p_value:.2g}",
            f"{result.decided:.0%}",
            _number(result.mean_queries, result.decided == 1),
            _number(result.paper_queries, result.paper_decided == 1),
            _number(result.lower_bound),
        )
    return table


def present(results: Sequence[CellResult], folder: Path, console: Console) -> bool:
    """Write and print the cells, those with broken assumptions in a table of their own; does the guarantee stand?"""
    write_csv(results, folder / "validate.csv")
    kept = [result for result in results if result.assumption_holds]
    broken = [result for result in results if not result.assumption_holds]
    wide = Console(file=console.file, width=max(console.width, 170))
    wide.print(validate_table(kept, "Cells that meet the assumptions"))
    wide.print(validate_table(broken, "Assumption deliberately broken, or met in part: delta is not guaranteed here"))
    outcome = verdict(results)
    console.print(f"[bold]{outcome}[/bold]", highlight=False)
    say_written(console, folder / "validate.csv")
    return outcome.passed
