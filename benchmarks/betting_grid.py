"""The design of Betting's default bets and weights: mean queries of several grids on bounded arms of many kinds.

python benchmarks/betting_grid.py [FOLDER WITH SCORE TABLES]
"""

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import Arms, BernoulliArms, TableArms, bernoulli_variances
from bestarm.comparisons import Betting
from bestarm.comparisons.betting import BETS

DELTA = 0.05
GAMES = 150


def instances() -> dict[str, Arms]:
    """Bernoulli arms, independent and correlated, with large and small leads; score tables if there are any."""
    wide, narrow = [0.7, *np.linspace(0.6, 0.3, 9)], [0.52, *np.linspace(0.5, 0.4, 5)]
    arms: dict[str, Arms] = {}
    for name, means in (("leads 0.1", wide), ("leads 0.02", narrow)):
        possible = bernoulli_variances(means)
        arms[f"{name}, independent"] = BernoulliArms(means, possible.independent)
        arms[f"{name}, correlated"] = BernoulliArms(means, 1.2 * possible.smallest)
    if len(sys.argv) > 1:
        for path in sorted(Path(sys.argv[1]).glob("*.npz")):
            arms[path.stem[:20]] = TableArms(np.load(path)["scores"])
    return arms


def grids() -> dict[str, Betting]:
    """Geometric grids: the largest bet, the step, the number, and how the weight depends on the bet."""
    found = {"default": Betting()}
    for largest, step, size, power in (
        (0.95, 0.5, 8, 0.0),
        (0.95, 0.5, 8, 0.25),
        (0.95, 0.5, 8, 1.0),
        (0.95, 0.6, 11, 0.5),
        (0.95, 0.4, 6, 0.5),
        (0.95, 0.3, 5, 0.5),
        (0.9, 0.5, 8, 0.5),
        (0.7, 0.5, 7, 0.5),
        (0.5, 0.5, 7, 0.5),
    ):
        bets = tuple(largest * step**k for k in range(size))
        name = f"{size} bets from {largest:g} by {step:g}, weights ~ bet^{power:g}"
        found[name] = Betting(bets=bets, weights=tuple(bet**power for bet in bets))
    return found


def main() -> None:
    """One row a grid; queries relative to the default."""
    arms = instances()
    table = Table(title=f"Mean queries over those of the default ({BETS[0]:g} … {BETS[-1]:.4f}), delta {DELTA}")
    table.add_column("grid")
    for name in arms:
        table.add_column(name, justify="right")
    default: dict[str, float] = {}
    for name, betting in grids().items():
        cells = []
        for where, source in arms.items():
            algorithm = PairwiseBAI(DELTA, comparison=betting)
            sim = bestarm.simulate(algorithm, source, repetitions=GAMES, seed=2)
            default.setdefault(where, sim.mean_queries)
            ratio = sim.mean_queries / default[where]
            cells.append(f"{sim.mean_queries:,.0f}" if name == "default" else f"{ratio:.2f}")
        table.add_row(name, *cells)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
