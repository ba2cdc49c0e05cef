"""Figure 1 of the paper: mean number of queries against correlation (left) and against clusters (right).

The paper gives neither delta nor the number of repetitions nor the layout of the clusters nor the constants of the
baselines; all of them are parameters here or stated in the docstrings of the algorithms.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from bestarm.algorithms import LUCB, Algorithm, HoeffdingRace, PairwiseBAI, VarianceRace
from bestarm.arms import GaussianArms, clustered_arms, difference_variances, equicorrelated_arms
from bestarm.comparisons import GaussianBernstein, StudentMixture, SymmetricBetting
from bestarm.complexity import lower_bound_gaussian
from bestarm.simulation import simulate

Side = Literal["left", "right"]
PAIRWISE, PAIRWISE_PLUS = "Pairwise-BAI", "Pairwise-BAI+"
BASELINES = ("Hoeffding race", "LUCB", "Variance race")
UNCHANGED = 1.1  # a baseline "does not change" if its largest mean is within this factor of its smallest, up to noise


@dataclass(frozen=True)
class Scenario:
    """One group of bars: a side of the figure, what is varied there, and the arms."""

    side: Side
    parameter: str
    value: float
    arms: GaussianArms

    @property
    def label(self) -> str:
        """What is varied, with its value."""
        return f"{self.parameter} {self.value:g}"


@dataclass(frozen=True)
class Bar:
    """One algorithm in one scenario."""

    side: Side
    parameter: str
    value: float
    algorithm: str
    mean_queries: float
    standard_error: float
    error_rate: float
    repetitions: int
    lower_bound: float


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether it held, and the figures behind the verdict."""

    text: str
    held: bool
    detail: str


def scenarios(sides: Iterable[str] = ("left", "right")) -> list[Scenario]:
    """The eight scenarios of the paper, or the four of one side."""
    left = [Scenario("left", "correlation", rho, equicorrelated_arms(10, rho)) for rho in (0.0, 0.5, 0.7, 0.9)]
    right = [Scenario("right", "clusters", n, clustered_arms(16, n)) for n in (8, 4, 2, 1)]
    chosen = set(sides)
    return [scenario for scenario in left + right if scenario.side in chosen]


def algorithms(delta: float, keep: float = 2.0, sharp: bool = False) -> dict[str, Algorithm]:
    """The algorithms of the paper's figure; ``keep`` is that of Pairwise-BAI+; ``sharp`` adds our rules."""
    paper: dict[str, Algorithm] = {
        "Hoeffding race": HoeffdingRace(delta, variances=1.0),
        "LUCB": LUCB(delta, variances=1.0),
        "Variance race": VarianceRace(delta),
        PAIRWISE_PLUS: PairwiseBAI(delta, comparison=GaussianBernstein(), keep=keep),
        PAIRWISE: PairwiseBAI(delta, comparison=GaussianBernstein()),
    }
    ours: dict[str, Algorithm] = {
        "Student mixture+": PairwiseBAI(delta, comparison=StudentMixture(), keep=keep),
        "Student mixture": PairwiseBAI(delta, comparison=StudentMixture()),
        "Symmetric bets": PairwiseBAI(delta, comparison=SymmetricBetting()),
    }
    return paper | ours if sharp else paper


def run(
    players: dict[str, Algorithm],
    where: Sequence[Scenario],
    delta: float,
    repetitions: int,
    seed: int,
    on_bar: Callable[[Bar], None] = lambda bar: None,
) -> list[Bar]:
    """Simulate every algorithm in every scenario, all on the same random numbers."""
    bars = []
    for scenario in where:
        arms = scenario.arms
        bound = lower_bound_gaussian(arms.means, difference_variances(arms.covariance)[arms.best], delta)
        for name, algorithm in players.items():
            sim = simulate(algorithm, arms, repetitions=repetitions, seed=seed, progress=False)
            bars.append(
                Bar(
                    scenario.side,
                    scenario.parameter,
                    scenario.value,
                    name,
                    sim.mean_queries,
                    sim.standard_error,
                    sim.error_rate,
                    repetitions,
                    bound,
                )
            )
            on_bar(bars[-1])
    return bars


def _of(bars: Sequence[Bar], side: Side, algorithm: str) -> list[Bar]:
    return [bar for bar in bars if bar.side == side and bar.algorithm == algorithm]


def _falls(bars: Sequence[Bar]) -> bool:
    """Whether each mean is below the one before by more than two standard errors of their difference."""
    return all(
        before.mean_queries - after.mean_queries > 2 * np.hypot(before.standard_error, after.standard_error)
        for before, after in pairwise(bars)
    )


def _series(bars: Sequence[Bar]) -> str:
    return " > ".join(f"{bar.mean_queries:,.0f}" for bar in bars)


def claims(bars: Sequence[Bar]) -> list[Claim]:
    """The paper's four qualitative claims, judged on the scenarios that were run."""
    verdicts = []
    sides: dict[Side, str] = {
        "left": "Pairwise-BAI needs fewer queries as the correlation rises",
        "right": "Pairwise-BAI needs fewer queries as the number of clusters falls",
    }
    for side, text in sides.items():
        if ours := _of(bars, side, PAIRWISE):
            verdicts.append(Claim(text, _falls(ours), _series(ours)))
    pairs = [
        (bar, plus)
        for bar in bars
        for plus in bars
        if bar.algorithm == PAIRWISE
        and plus.algorithm == PAIRWISE_PLUS
        and (bar.side, bar.value) == (plus.side, plus.value)
    ]
    worse = [plus.mean_queries / bar.mean_queries for bar, plus in pairs]
    verdicts.append(
        Claim(
            "Pairwise-BAI+ is worse than Pairwise-BAI",
            min(worse) > 1,
            f"{min(worse):.2f} to {max(worse):.2f} times the queries",
        )
    )
    if any(bar.side == "left" for bar in bars):
        spread, unchanged = {}, True
        for name in BASELINES:
            mine = sorted(_of(bars, "left", name), key=lambda bar: bar.mean_queries)
            noise = 2 * np.hypot(mine[0].standard_error, mine[-1].standard_error)
            spread[name] = mine[-1].mean_queries / mine[0].mean_queries
            unchanged &= mine[-1].mean_queries <= UNCHANGED * mine[0].mean_queries + noise
        verdicts.append(
            Claim(
                "the three baselines do not change with correlation",
                bool(unchanged),
                "largest over smallest mean: " + ", ".join(f"{name} {ratio:.2f}" for name, ratio in spread.items()),
            )
        )
    return verdicts


def verdict(judged: Sequence[Claim]) -> str:
    """One sentence: which of the claims held."""
    failed = [claim.text for claim in judged if not claim.held]
    if not failed:
        return f"All {len(judged)} qualitative claims of the paper that these scenarios test held."
    return f"{len(judged) - len(failed)} of {len(judged)} qualitative claims held; not held: {'; '.join(failed)}."
