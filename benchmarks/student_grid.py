"""The design of StudentMixture's default precisions, and the table behind the choice.

A grid is judged by the rounds it needs, ``min { n : slope_n <= effect }``, over those of the best single precision for
that effect and level: its worst ratio over effect sizes from 0.005 to 3 and levels from 0.1 to 1e-6 should be small.
Grids are geometric with equal weights; start, step and size are searched.
"""

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from bestarm.comparisons import StudentMixture
from bestarm.comparisons.boundaries import PRECISIONS

EFFECTS = np.geomspace(0.005, 3.0, 25)
LEVELS = (0.1, 0.01, 1e-3, 1e-4, 1e-6)
SINGLE = np.geomspace(0.02, 1e6, 40)
MOST_ROUNDS = 1e9

Array = NDArray[np.float64]


def rounds_needed(mixture: StudentMixture, level: float) -> Array:
    """For each effect size the (real) number of rounds at which the e-value of that effect reaches ``1 / level``."""
    low, high = np.full(EFFECTS.shape, np.log(2.0)), np.full(EFFECTS.shape, np.log(MOST_ROUNDS))
    for _ in range(50):
        middle = (low + high) / 2
        crossed = mixture.log_evalue(np.exp(middle), EFFECTS) >= -np.log(level)
        low, high = np.where(crossed, low, middle), np.where(crossed, middle, high)
    needed: Array = np.exp(high)
    return needed


def best_single() -> dict[float, Array]:
    """Rounds of the best single precision, by level and effect size."""
    return {
        level: np.min([rounds_needed(StudentMixture(precisions=(c,)), level) for c in SINGLE], axis=0)
        for level in LEVELS
    }


def ratios(precisions: tuple[float, ...], best: dict[float, Array]) -> dict[float, Array]:
    """Rounds of a grid over those of the best single precision."""
    mixture = StudentMixture(precisions=precisions)
    return {level: rounds_needed(mixture, level) / best[level] for level in LEVELS}


def worst(precisions: tuple[float, ...], best: dict[float, Array]) -> float:
    """The largest ratio over effects and levels."""
    return max(float(ratio.max()) for ratio in ratios(precisions, best).values())


def search(best: dict[float, Array]) -> Table:
    """The best geometric grids."""
    found = []
    for size in (3, 4, 5, 6):
        for step in (8.0, 16.0, 25.0, 40.0, 60.0, 100.0, 150.0):
            for start in (0.125, 0.25, 0.5, 1.0):
                if 1e3 <= start * step ** (size - 1) <= 3e5:
                    grid = tuple(start * step**k for k in range(size))
                    found.append((worst(grid, best), grid))
    eight = tuple(4.0**k for k in range(8))
    table = Table(title="Worst ratio of rounds to those of the best single precision")
    table.add_column("worst ratio", justify="right")
    table.add_column("precisions")
    chosen = [(worst(PRECISIONS, best), PRECISIONS), (worst(eight, best), eight)]
    for ratio, grid in sorted(found)[:8] + chosen:
        note = "  (the default)" if grid == PRECISIONS else "  (1, 4, …, 4^7)" if grid == eight else ""
        table.add_row(f"{ratio:.3f}", ", ".join(f"{c:g}" for c in grid) + note)
    return table


def detail(best: dict[float, Array]) -> Table:
    """The default grid, by effect size and level."""
    table = Table(title="The default grid: ratio of rounds by effect size and level")
    table.add_column("effect", justify="right")
    for level in LEVELS:
        table.add_column(f"{level:g}", justify="right")
    by_level = ratios(PRECISIONS, best)
    for k in range(0, EFFECTS.size, 3):
        table.add_row(f"{EFFECTS[k]:.3f}", *(f"{by_level[level][k]:.2f}" for level in LEVELS))
    return table


if __name__ == "__main__":
    console = Console(width=100)
    reference = best_single()
    console.print(search(reference))
    console.print(detail(reference))
