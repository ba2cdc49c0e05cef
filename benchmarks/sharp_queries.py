"""Queries of the sharp comparisons beside the paper's and Kim and Nelson's, as ratios in one run.

    python benchmarks/sharp_queries.py [FOLDER WITH SCORE TABLES]

The tables are ``.npz`` files with an array ``scores`` (items x arms, in [0, 1]); without a folder they are left out.
"""

import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.algorithms import ConvexBAI, KimNelson, PairwiseBAI
from bestarm.arms import Arms, BernoulliArms, GaussianArms, PoolArms, TableArms, bernoulli_variances
from bestarm.comparisons import Betting, EmpiricalBernstein, GaussianBernstein, Portfolio, StudentMixture
from bestarm.simulation import Simulation, repetition_rng
from bestarm.studies.convex import LEAD, N_OTHERS, AveragedArms, rounds_until_out
from bestarm.studies.figure1 import scenarios

# What an earlier reference implementation of betting needed on the tables, drawn with replacement at delta 0.05.
REFERENCE_QUERIES = {
    "alpaca_eval2_56_noNull": 2639,
    "aslib_GRAPHS-2015_logtime": 3862,
    "aslib_QBF-2016_logtime": 3562,
    "aslib_CSP-MZN-2013_solved": 1734,
}


def table_of(title: str, *headings: str) -> Table:
    """A table with its first column on the left and numbers on the right."""
    table = Table(title=title)
    for k, heading in enumerate(headings):
        table.add_column(heading, justify="right" if k else "left")
    return table


def queries(algorithm: PairwiseBAI | ConvexBAI | KimNelson, arms: Arms, n: int) -> Simulation:
    """So many games."""
    return bestarm.simulate(algorithm, arms, repetitions=n, seed=1)


def figure1() -> Table:
    """The eight scenarios of Figure 1, delta 0.1."""
    table = table_of(
        "Figure 1, delta 0.1", "scenario", "GaussianBernstein", "StudentMixture", "ratio", "asked", "errors"
    )
    for scenario in scenarios():
        paper = queries(PairwiseBAI(0.1, comparison=GaussianBernstein()), scenario.arms, 200)
        sharp = queries(PairwiseBAI(0.1, comparison=StudentMixture()), scenario.arms, 1000)
        few = scenario.side == "right" and scenario.value <= 2
        table.add_row(
            scenario.label,
            f"{paper.mean_queries:,.0f}",
            f"{sharp.mean_queries:,.0f}",
            f"1/{paper.mean_queries / sharp.mean_queries:.1f}",
            "1/5.5" if few else "1/9",
            f"{sharp.error_rate:.2%}",
        )
    return table


def bernoulli() -> Table:
    """The Bernoulli family of the lower bound, K = 10."""
    means = [0.7, *np.linspace(0.6, 0.3, 9)]
    possible = bernoulli_variances(means)
    table = table_of(
        "Bernoulli arms, delta 0.1", "variances", "EmpiricalBernstein", "Betting", "ratio", "asked", "errors"
    )
    for name, variances, asked in (
        ("independent", possible.independent, "1/18"),
        ("1.2 x smallest", 1.2 * possible.smallest, "1/26"),
    ):
        arms = BernoulliArms(means, variances)
        paper = queries(PairwiseBAI(0.1, comparison=EmpiricalBernstein()), arms, 200)
        sharp = queries(PairwiseBAI(0.1, comparison=Betting()), arms, 1000)
        ratio = paper.mean_queries / sharp.mean_queries
        table.add_row(
            name,
            f"{paper.mean_queries:,.0f}",
            f"{sharp.mean_queries:,.0f} ± {sharp.standard_error:,.0f}",
            f"1/{ratio:.1f}",
            asked,
            f"{sharp.error_rate:.2%}",
        )
    return table


def real_tables(folder: Path) -> Table:
    """Recorded scores, delta 0.05: drawn with replacement, and as a pool in one pass."""
    table = table_of(
        "Real score tables, delta 0.05, 400 runs",
        *("table", "with replacement", "/ reference", "asked", "pool", "share of the pool", "errors"),
    )
    for path in sorted(folder.glob("*.npz")):
        scores = np.load(path)["scores"]
        drawn = queries(PairwiseBAI(0.05, comparison=Betting()), TableArms(scores), 400)
        pool = queries(PairwiseBAI(0.05, comparison=Betting(pool=len(scores))), PoolArms(scores), 400)
        reference = REFERENCE_QUERIES.get(path.stem)
        table.add_row(
            path.stem,
            f"{drawn.mean_queries:,.0f} ± {drawn.standard_error:,.0f}",
            "" if reference is None else f"{drawn.mean_queries / reference:.2f}",
            "≤ 1.15",
            f"{pool.mean_queries:,.0f} ± {pool.standard_error:,.0f}",
            f"{pool.mean_queries / scores.size:.1%}",
            f"{drawn.error_rate:.2%} / {pool.error_rate:.2%}",
        )
    return table


def portfolios(folder: Path | None) -> Table:
    """Portfolio beside Betting: on an arm that is an average of others, and on the real tables."""
    table = table_of(
        "Portfolio beside Betting, delta 0.05",
        *("instance", "counted", "Betting", "Portfolio", "ratio", "asked", "errors"),
    )
    rivals = (PairwiseBAI(0.05, comparison=Betting()), ConvexBAI(0.05, comparison=Portfolio()))
    for gap in (0.05, 0.02, 0.01):
        arms = AveragedArms(N_OTHERS, LEAD * gap, gap)
        rounds = [
            np.mean([rounds_until_out(algorithm, arms, repetition_rng(1, k))[0] for k in range(60)])
            for algorithm in rivals
        ]
        shown = (f"{rounds[0]:,.0f}", f"{rounds[1]:,.0f}", f"{rounds[1] / rounds[0]:.2f}")
        table.add_row(f"average of {N_OTHERS} arms, gap {gap:g}", "its queries", *shown, "≤ 0.5", "")
    for path in sorted(folder.glob("*.npz")) if folder else ():
        scores = TableArms(np.load(path)["scores"])
        pairs, all_at_once = (queries(algorithm, scores, 400) for algorithm in rivals)
        ratio = all_at_once.mean_queries / pairs.mean_queries
        shown = (f"{pairs.mean_queries:,.0f}", f"{all_at_once.mean_queries:,.0f}", f"{ratio:.2f}")
        table.add_row(path.stem, "all queries", *shown, "≤ 1.12", f"{all_at_once.error_rate:.2%}")
    return table


def ranking_and_selection() -> Table:
    """KN on its own ground: ten Gaussian arms with common random numbers and an indifference zone."""
    means = [0.56, 0.54, 0.54, 0.53, 0.53, 0.52, 0.51, 0.50, 0.48, 0.45]
    arms = GaussianArms(means, 0.15**2 + 0.03**2 * np.eye(10))
    table = table_of(
        "KN's ground, delta 0.05, 400 runs: mean queries (errors)",
        *("zone", "KN n0 = 5", "n0 = 10", "n0 = 20", "precisions=[1]", "default"),
    )

    def show(sim: Simulation) -> str:
        return f"{sim.mean_queries:,.0f} ({sim.error_rate:.1%})"

    for zone in (0.02, 0.01, 0.005, 0.0):
        rivals = [
            show(queries(KimNelson(0.05, indifference_zone=zone, min_rounds=n0), arms, 400)) if zone else "–"
            for n0 in (5, 10, 20)
        ]
        ours = [
            show(queries(PairwiseBAI(0.05, comparison=comparison, indifference_zone=zone), arms, 400))
            for comparison in (StudentMixture(precisions=[1.0]), StudentMixture())
        ]
        table.add_row(f"{zone:g}" if zone else "none", *rivals, *ours)
    table.caption = (
        "asked: fewer than each KN with precisions=[1], with the default at 0.01 and 0.005; none: < 345 and < 400"
    )
    return table


def near_ties_beside_a_bad_arm() -> str:
    """Near-tied correlated arms must not eliminate each other while a bad, noisy one leads."""
    means = [0.500, 0.499, 0.499, 0.499, 0.40]
    covariance = np.zeros((5, 5))
    covariance[:4, :4] = 0.1**2 + 0.001**2 * np.eye(4)
    covariance[4, 4] = 0.3**2
    arms = GaussianArms(means, covariance)
    sim = queries(PairwiseBAI(0.05, comparison=StudentMixture(), indifference_zone=0.02), arms, 1000)
    bad = int((sim.winners == 4).sum())
    return f"Near ties beside a bad, noisy arm, zone 0.02: {bad} bad answers in 1,000 games (asked: none)."


def main() -> None:
    """Print all tables."""
    console = Console(width=120)
    console.print(figure1())
    console.print(bernoulli())
    if len(sys.argv) > 1:
        console.print(real_tables(Path(sys.argv[1])))
    console.print(portfolios(Path(sys.argv[1]) if len(sys.argv) > 1 else None))
    console.print(ranking_and_selection())
    console.print(near_ties_beside_a_bad_arm())


if __name__ == "__main__":
    main()
