"""Queries of `SymmetricBetting` over those of `StudentMixture`, on the same random numbers.

    python benchmarks/symmetric_queries.py [REPETITIONS]

Figure 1 at delta 0.05 and 0.001, where the Student parts of both look from the first round on (2) and as in races
(10); and ten arms with common random numbers, with indifference zones and without.
"""

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import Arms, GaussianArms
from bestarm.comparisons import StudentMixture, SymmetricBetting
from bestarm.experiments.figure1 import scenarios
from bestarm.simulation import Simulation

ZONES = (0.02, 0.01, 0.005, 0.0)
MEANS = [0.56, 0.54, 0.54, 0.53, 0.53, 0.52, 0.51, 0.50, 0.48, 0.45]
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


def main() -> None:
    """Print all tables."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 600
    console = Console(width=100)
    for min_rounds in (2, 10):
        for delta in (0.05, 0.001):
            console.print(figure1(delta, min_rounds, repetitions))
        console.print(zones(min_rounds, repetitions))


if __name__ == "__main__":
    main()
