"""What the bets that sleep cost where leads are large, and what they win where the lead is tiny.

    python benchmarks/power_one.py [FOLDER WITH SCORE TABLES] [games of coins]

Queries on score tables (``.npz`` files with an array ``scores``, items x arms, in [0, 1]), drawn with replacement, with
a reserve and without, in the same games; and rounds until one of two antithetic coins is out, beside `Portfolio`.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.arms import TableArms
from bestarm.comparisons import Betting, Portfolio

DELTA = 0.05
GAMES = 1000
GAP = 0.003
HORIZON = 20_000_000


@dataclass(frozen=True)
class AntitheticCoins:
    """Two coins of which one shows heads just when the other shows tails: the difference is 1 or -1."""

    gap: float
    n_arms: int = 2

    @property
    def means(self) -> NDArray[np.float64]:
        """Of both coins."""
        return np.array([0.5 + self.gap / 2, 0.5 - self.gap / 2])

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Perfectly negative."""
        return float(np.prod(self.means)) * np.array([[1.0, -1.0], [-1.0, 1.0]])

    @property
    def best(self) -> int:
        """The coin with more heads."""
        return 0

    def draw(self, n_rounds: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """One row per round."""
        heads = rng.random(n_rounds) < self.means[0]
        return np.column_stack([heads, ~heads]).astype(np.float64)


def on_tables(folder: Path) -> Table:
    """Mean queries with the default reserve over those without one, the standard error of the ratio by common seeds."""
    table = Table(title=f"Queries with a reserve of {Betting().reserve:g} over those without, delta {DELTA}")
    for heading in ("table", "games", "with", "without", "ratio", "standard error"):
        table.add_column(heading, justify="left" if heading == "table" else "right")
    for path in sorted(folder.glob("*.npz")):
        arms = TableArms(np.load(path)["scores"])
        spent = [
            bestarm.simulate(PairwiseBAI(DELTA, comparison=betting), arms, repetitions=GAMES, seed=3).queries
            for betting in (Betting(), Betting(reserve=0.0))
        ]
        ratio = spent[0].mean() / spent[1].mean()
        error = np.std(spent[0] - ratio * spent[1], ddof=1) / np.sqrt(GAMES) / spent[1].mean()
        table.add_row(
            path.stem[:30], f"{GAMES}", *(f"{one.mean():,.0f}" for one in spent), f"{ratio:.4f}", f"{error:.4f}"
        )
    return table


def on_coins(games: int) -> Table:
    """Mean rounds until one of the coins is out."""
    table = Table(title=f"Rounds until a gap of {GAP} between antithetic coins is found, {games} games, delta {DELTA}")
    for heading in ("comparison", "mean rounds", "standard error", "over Portfolio's", "decided", "errors"):
        table.add_column(heading, justify="left" if heading == "comparison" else "right")
    reference = np.nan
    for algorithm in (
        ConvexBAI(DELTA, comparison=Portfolio(), max_rounds=HORIZON),
        ConvexBAI(DELTA, comparison=Portfolio(reserve=0.0), max_rounds=HORIZON),
        PairwiseBAI(DELTA, comparison=Betting(), max_rounds=HORIZON),
    ):
        sim = bestarm.simulate(algorithm, AntitheticCoins(GAP), repetitions=games, seed=4)
        rounds = sim.queries / 2
        reference = rounds.mean() if np.isnan(reference) else reference
        table.add_row(
            repr(algorithm.comparison),
            f"{rounds.mean():,.0f}",
            f"{np.std(rounds, ddof=1) / np.sqrt(games):,.0f}",
            f"{rounds.mean() / reference:.2f}",
            f"{sim.answered.mean():.0%}",
            f"{sim.error_rate:.1%}",
        )
    return table


def main() -> None:
    """Print both tables."""
    console = Console(width=140)
    if len(sys.argv) > 1:
        console.print(on_tables(Path(sys.argv[1])))
    console.print(on_coins(int(sys.argv[2]) if len(sys.argv) > 2 else 40))


if __name__ == "__main__":
    main()
