"""Queries of `SymmetricBetting` over those of `StudentMixture`, on the same random numbers.

    python benchmarks/symmetric_queries.py [REPETITIONS]

Figure 1 at delta 0.05 and 0.001, where the Student parts of both look from the first round on (2) and as in races
(10); ten arms with common random numbers, with indifference zones and without, and with epsilon; and how often each
of them drops the best of equal arms where differences are skewed, which is why it is not what races use by themselves.
"""

import sys
import warnings

import numpy as np
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import Arms, GaussianArms
from bestarm.comparisons import Comparison, StudentMixture, SymmetricBetting
from bestarm.simulation import Simulation
from bestarm.studies.figure1 import scenarios

ZONES = (0.02, 0.01, 0.005, 0.0)
MEANS = [0.56, 0.54, 0.54, 0.53, 0.53, 0.52, 0.51, 0.50, 0.48, 0.45]
ITEMS = 20_000  # of a table that stands for a law
RIVALS: tuple[Comparison, ...] = (StudentMixture(), SymmetricBetting())
CROWD = GaussianArms(MEANS, 0.15**2 + 0.03**2 * np.eye(10))


def both(arms: Arms, delta: float, min_rounds: int, repetitions: int, zone: float = 0.0) -> tuple[Simulation, ...]:
    """So many games with each comparison."""
    rivals = (StudentMixture(min_rounds=min_rounds), SymmetricBetting(min_rounds=min_rounds))
    return tuple(
        bestarm.simulate(
            PairwiseBAI(delta, comparison=comparison, indifference_zone=zone),
            arms,
            repetitions=repetitions,
            seed=1,
            progress=False,
        )
        for comparison in rivals
    )


def table_of(title: str) -> Table:
    """A table with the columns that all of them have."""
    table = Table(title=title)
    for heading in ("", "StudentMixture", "SymmetricBetting", "ratio", "errors"):
        table.add_column(heading, justify="right" if heading else "left")
    return table


def add(table: Table, label: str, student: Simulation, symmetric: Simulation) -> float:
    """One row; the ratio of queries."""
    ratio = symmetric.mean_queries / student.mean_queries
    table.add_row(
        label,
        f"{student.mean_queries:,.0f} ± {student.standard_error:,.0f}",
        f"{symmetric.mean_queries:,.0f} ± {symmetric.standard_error:,.0f}",
        f"{ratio:.3f}",
        f"{student.error_rate:.2%} / {symmetric.error_rate:.2%}",
    )
    return ratio


def figure1(delta: float, min_rounds: int, repetitions: int) -> Table:
    """The eight scenarios of Figure 1."""
    table = table_of(f"Figure 1, delta {delta:g}, looking from round {min_rounds}, {repetitions} runs")
    ratios = [
        add(table, scenario.label, *both(scenario.arms, delta, min_rounds, repetitions)) for scenario in scenarios()
    ]
    asked = "asked: at most .78, .95" if delta == 0.05 else "asked: no ratio above 1"
    table.caption = f"geometric mean {np.exp(np.mean(np.log(ratios))):.3f}, worst {max(ratios):.3f} ({asked})"
    return table


def zones(min_rounds: int, repetitions: int) -> Table:
    """Ten arms with common random numbers, delta 0.05."""
    table = table_of(f"Zones, delta 0.05, looking from round {min_rounds}, {repetitions} runs")
    for zone in ZONES:
        add(table, f"{zone:g}" if zone else "none", *both(CROWD, 0.05, min_rounds, repetitions, zone))
    table.caption = "asked: no ratio above 1"
    return table


def with_epsilon(repetitions: int) -> Table:
    """The same arms, where games also end within epsilon: only a tenth of delta speaks about leads."""
    table = table_of(f"Epsilon, delta 0.05, looking from round 10, {repetitions} runs")
    for epsilon in (0.02, 0.01, 0.005):
        found = (
            bestarm.simulate(
                PairwiseBAI(0.05, comparison=comparison, epsilon=epsilon),
                CROWD,
                repetitions=repetitions,
                seed=1,
                progress=False,
            )
            for comparison in RIVALS
        )
        add(table, f"{epsilon:g}", *found)
    return table


def skewed(kind: str, K: int, rng: np.random.Generator) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Rewards of arms that are equally good and not equally variable: the first is the steadiest, or the least."""
    noise, steadier = rng.standard_normal((ITEMS, K)), np.linspace(1.0, 2.0, K)
    if kind == "Gaussian":
        rewards = noise * steadier
    elif kind == "run times, one difficulty for all":
        rewards = -np.exp(rng.standard_normal((ITEMS, 1)) + 0.3 * steadier * noise)
    elif kind == "waiting times":
        rewards = -rng.exponential(1.0, (ITEMS, K)) * steadier
    elif kind == "squared errors":
        rewards = -(((0.8 + 0.4 * (steadier - 1.0)) * noise) ** 2)
    else:  # gains, of which the first arm has the rarest and largest
        rewards = rng.exponential(1.0, (ITEMS, K)) * steadier[::-1]
    return np.asarray(rewards - rewards.mean(axis=0))


def ties(repetitions: int) -> Table:
    """How often the first of equally good arms is out in 800 rounds."""
    table = Table(title=f"The best of equal arms is out, delta 0.05, {repetitions} runs")
    for heading in ("", "StudentMixture", "SymmetricBetting"):
        table.add_column(heading, justify="right" if heading else "left")
    for K in (3, 10):
        for kind in ("Gaussian", "run times, one difficulty for all", "waiting times", "squared errors", "gains"):
            rows, out = skewed(kind, K, np.random.default_rng(0)), [0, 0]
            for number in range(repetitions):
                drawn = rows[np.random.default_rng(number).integers(ITEMS, size=800)]
                for which, comparison in enumerate(RIVALS):
                    game = PairwiseBAI(0.05, comparison=comparison).start(K)
                    game.play(drawn)
                    out[which] += 0 not in game.candidates
            table.add_row(f"{kind}, K = {K}", *(f"{number / repetitions:.3f}" for number in out))
    return table


def main() -> None:
    """Print all tables."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    console = Console(width=100)
    for min_rounds in (2, 10):
        for delta in (0.05, 0.001):
            console.print(figure1(delta, min_rounds, repetitions))
        console.print(zones(min_rounds, repetitions))
    console.print(with_epsilon(repetitions))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # that is what is looked at
        console.print(ties(repetitions))


if __name__ == "__main__":
    main()
