"""How far are the rules from what is possible? Their mean queries beside limits that are computed from the law.

On a score table the limits are an oracle that knows the law and bets on differences, with and without paying for the
union over opponents: yardsticks, not bounds for every rule. On the arms of the paper's Figure 1 the limit is a lower
bound for every rule (docs/theory.md, "What is possible").
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, ConvexBAI, PairwiseBAI
from bestarm.arms import Arms, TableArms
from bestarm.comparisons import (
    Betting,
    EmpiricalBernstein,
    GaussianBernstein,
    LeaderBetting,
    Portfolio,
    StudentMixture,
    SymmetricBetting,
)
from bestarm.experiments.figure1 import Scenario
from bestarm.limits import gaussian_lower_bound, growth_rates, oracle_queries
from bestarm.simulation import simulate

PAPER_RULES = ("EmpiricalBernstein", "GaussianBernstein")
PAPER_SHARE = 10  # the paper's rules take long games that differ little: one of so many repetitions
LONGEST = 1e6  # queries of the oracle in one game: rules need more, some of them a hundred times as many


@dataclass(frozen=True)
class Measured:
    """One rule on one case."""

    rule: str
    mean_queries: float
    standard_error: float
    error_rate: float
    repetitions: int


@dataclass(frozen=True)
class Case:
    """One law, the limits for it by name, and the rules."""

    label: str
    n_arms: int
    limits: Mapping[str, float]
    rules: Sequence[Measured]

    def ratios(self, measured: Measured) -> dict[str, float]:
        """How many times each limit a rule needs."""
        return {name: measured.mean_queries / limit for name, limit in self.limits.items()}


@dataclass(frozen=True)
class Games:
    """How many games every rule plays, and from which seed; ``on_step`` is told of each rule and limit that is done."""

    repetitions: int
    seed: int
    on_step: Callable[[], None] = lambda: None


def bounded_rules(delta: float) -> dict[str, Algorithm]:
    """The rules for scores in [0, 1] that are measured; another one is one more entry."""
    return {
        "LeaderBetting": PairwiseBAI(delta, comparison=LeaderBetting()),
        "Betting": PairwiseBAI(delta, comparison=Betting()),
        "Portfolio": ConvexBAI(delta, comparison=Portfolio()),
        "EmpiricalBernstein": PairwiseBAI(delta, comparison=EmpiricalBernstein()),
    }


def gaussian_rules(delta: float) -> dict[str, Algorithm]:
    """The rules for Gaussian scores that are measured; another one is one more entry."""
    return {
        "SymmetricBetting": PairwiseBAI(delta, comparison=SymmetricBetting()),
        "StudentMixture": PairwiseBAI(delta, comparison=StudentMixture()),
        "GaussianBernstein": PairwiseBAI(delta, comparison=GaussianBernstein()),
    }


def oracles(scores: NDArray[np.float64], delta: float) -> dict[str, float]:
    """The queries of both oracles on a table in [0, 1]; refused where games would not end in a reasonable time."""
    rates = growth_rates(scores)
    limits = {
        "oracle with union": oracle_queries(rates, delta, union=True),
        "oracle without union": oracle_queries(rates, delta, union=False),
    }
    if (queries := max(limits.values())) > LONGEST:
        second, first = np.sort(scores.mean(axis=0))[-2:]
        raise ValueError(
            f"the best arm leads by {first - second:.2g} of the range of the scores only: an oracle needs "
            f"{queries:,.0f} queries a game, and more than {LONGEST:,.0f} would take too long"
        )
    return limits


def table_case(scores: NDArray[np.float64], delta: float, games: Games) -> Case:
    """The rules on a table in [0, 1], its rows drawn with replacement, beside the oracles."""
    limits = oracles(scores, delta)
    games.on_step()
    measured = _measure(bounded_rules(delta), TableArms(scores), games)
    return Case(f"{len(scores):,} rows", scores.shape[1], limits, measured)


def figure1_cases(where: Sequence[Scenario], delta: float, games: Games) -> list[Case]:
    """The rules on settings of Figure 1, beside the lower bound for every rule that queries whichever sets it likes."""
    cases = []
    for scenario in where:
        limits = {"lower bound": gaussian_lower_bound(scenario.arms, delta)}
        games.on_step()
        measured = _measure(gaussian_rules(delta), scenario.arms, games)
        cases.append(Case(scenario.label, scenario.arms.n_arms, limits, measured))
    return cases


def _measure(rules: Mapping[str, Algorithm], arms: Arms, games: Games) -> list[Measured]:
    measured = []
    for name, algorithm in rules.items():
        repetitions = max(2, games.repetitions // PAPER_SHARE) if name in PAPER_RULES else games.repetitions
        sim = simulate(algorithm, arms, repetitions=repetitions, seed=games.seed, progress=False)
        measured.append(Measured(name, sim.mean_queries, sim.standard_error, sim.error_rate, repetitions))
        games.on_step()
    return measured
