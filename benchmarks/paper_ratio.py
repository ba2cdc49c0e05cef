"""How many of the paper's queries do the sharp comparisons need? The range that the README states.

    python benchmarks/paper_ratio.py [FOLDER WITH SCORE TABLES]

At delta 0.05: on the eight settings of the paper's Figure 1 `StudentMixture` beside `GaussianBernstein`, on score
tables drawn with replacement `LeaderBetting` beside `EmpiricalBernstein`. The tables are ``.npz`` files with an array
``scores`` (items x arms, in [0, 1]); without a folder they are left out.
"""

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import Arms, TableArms
from bestarm.comparisons import Comparison, EmpiricalBernstein, GaussianBernstein, LeaderBetting, StudentMixture
from bestarm.studies.figure1 import scenarios

DELTA = 0.05
GAMES_OF_THE_PAPER, GAMES = 50, 400


def ratio(name: str, arms: Arms, paper: Comparison, sharp: Comparison, table: Table) -> float:
    """One row of the table: mean queries of both, and how many times as many the paper's needs."""
    rivals = [
        bestarm.simulate(PairwiseBAI(DELTA, comparison=comparison), arms, repetitions=games, seed=1)
        for comparison, games in ((paper, GAMES_OF_THE_PAPER), (sharp, GAMES))
    ]
    many = rivals[0].mean_queries / rivals[1].mean_queries
    shown = (f"{sim.mean_queries:,.0f} ± {sim.standard_error:,.0f}" for sim in rivals)
    table.add_row(name, *shown, f"1/{many:.1f}", f"{rivals[1].error_rate:.2%}")
    return many


def main() -> None:
    """Print one row per setting and table, and the range of the ratios for each kind of scores."""
    table = Table(title=f"Mean queries at delta {DELTA:g}")
    for heading in ("", "paper", "sharp", "ratio", "errors"):
        table.add_column(heading, justify="right" if heading else "left")
    gaussian = [ratio(s.label, s.arms, GaussianBernstein(), StudentMixture(), table) for s in scenarios()]
    bounded = [
        ratio(path.stem, TableArms(np.load(path)["scores"]), EmpiricalBernstein(), LeaderBetting(), table)
        for path in (sorted(Path(sys.argv[1]).glob("*.npz")) if len(sys.argv) > 1 else ())
    ]
    console = Console(width=120)
    console.print(table)
    for name, found in (("Gaussian scores", gaussian), ("bounded scores", bounded)):
        if found:
            console.print(f"{name}: 1/{max(found):.1f} to 1/{min(found):.1f} of the paper's queries")


if __name__ == "__main__":
    main()
