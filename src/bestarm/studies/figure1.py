"""Figure 1 of the paper: mean number of queries against correlation (left) and against clusters (right).

The paper gives neither delta nor the number of repetitions nor the layout of the clusters nor the constants of the
baselines; all of them are parameters here or stated in the docstrings of the algorithms.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console
from rich.table import Table

from bestarm.algorithms import LUCB, Algorithm, HoeffdingRace, PairwiseBAI, VarianceRace
from bestarm.arms import GaussianArms, clustered_arms, difference_variances, equicorrelated_arms
from bestarm.comparisons import GaussianBernstein, StudentMixture, SymmetricBetting
from bestarm.complexity import lower_bound_gaussian
from bestarm.simulation import simulate
from bestarm.studies.output import (
    by_field,
    draw_bars,
    empty_panels,
    say_written,
    series_table,
    write_csv,
    write_panels,
)

Side = Literal["left", "right"]
PAIRWISE, PAIRWISE_PLUS = "Pairwise-BAI", "Pairwise-BAI+"
BASELINES = ("Hoeffding race", "LUCB", "Variance race")
UNCHANGED = 1.1  # a baseline "does not change" if its largest mean is within this factor of its smallest, up to noise
AXES = {"left": "K = 10, correlation between all arms", "right": "K = 16, number of clusters"}
LOWER_BOUND_NOTE = (
    "Lower bound: Theorem 6.2 with the variances of these arms, for the worst distribution of its class; "
    "it need not hold for a single instance such as these."
)


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
    """One algorithm in one scenario: a row of figure1.csv."""

    side: Side
    parameter: str
    value: float
    algorithm: str
    mean_queries: float
    standard_error: float
    error_rate: float
    repetitions: int
    lower_bound: float


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
    on_step: Callable[[], object] = lambda: None,
) -> list[Bar]:
    """Simulate every algorithm in every scenario, all on the same random numbers."""
    bars = []
    for scenario in where:
        arms, labels = scenario.arms, (scenario.side, scenario.parameter, scenario.value)
        bound = lower_bound_gaussian(arms.means, difference_variances(arms.covariance)[arms.best], delta)
        for name, algorithm in players.items():
            sim = simulate(algorithm, arms, repetitions=repetitions, seed=seed, progress=False)
            measured = (sim.mean_queries, sim.standard_error, sim.error_rate)
            bars.append(Bar(*labels, name, *measured, repetitions, bound))
            on_step()
    return bars


# --- the claims of the paper -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether it held, and the figures behind the verdict."""

    text: str
    held: bool
    detail: str


def claims(bars: Sequence[Bar]) -> list[Claim]:
    """The paper's four qualitative claims, judged on the scenarios that were run."""
    sides = by_field("side", bars)
    easier = {"left": "the correlation rises", "right": "the number of clusters falls"}
    falls = [_falls(f"Pairwise-BAI needs fewer queries as {easier[side]}", mine) for side, mine in sides.items()]
    unchanged = [_baselines_do_not_change(sides["left"])] if "left" in sides else []
    return [*falls, _plus_is_worse(bars), *unchanged]


def _of(bars: Sequence[Bar], algorithm: str) -> list[Bar]:
    return [bar for bar in bars if bar.algorithm == algorithm]


def _falls(text: str, bars: Sequence[Bar]) -> Claim:
    """Whether each mean is below the one before by more than two standard errors of their difference."""
    bars = _of(bars, PAIRWISE)
    held = all(
        before.mean_queries - after.mean_queries > 2 * np.hypot(before.standard_error, after.standard_error)
        for before, after in pairwise(bars)
    )
    return Claim(text, held, " > ".join(f"{bar.mean_queries:,.0f}" for bar in bars))


def _plus_is_worse(bars: Sequence[Bar]) -> Claim:
    pairs = zip(_of(bars, PAIRWISE), _of(bars, PAIRWISE_PLUS), strict=True)
    worse = [plus.mean_queries / bar.mean_queries for bar, plus in pairs]
    detail = f"{min(worse):.2f} to {max(worse):.2f} times the queries"
    return Claim("Pairwise-BAI+ is worse than Pairwise-BAI", min(worse) > 1, detail)


def _baselines_do_not_change(bars: Sequence[Bar]) -> Claim:
    spread, unchanged = [], True
    for name in BASELINES:
        ordered = sorted(_of(bars, name), key=lambda bar: bar.mean_queries)
        smallest, largest = ordered[0], ordered[-1]
        noise = 2 * np.hypot(smallest.standard_error, largest.standard_error)
        unchanged &= bool(largest.mean_queries <= UNCHANGED * smallest.mean_queries + noise)
        spread.append(f"{name} {largest.mean_queries / smallest.mean_queries:.2f}")
    detail = f"largest over smallest mean: {', '.join(spread)}"
    return Claim("the three baselines do not change with correlation", unchanged, detail)


def verdict(judged: Sequence[Claim]) -> str:
    """One sentence: which of the claims held."""
    failed = [claim.text for claim in judged if not claim.held]
    if not failed:
        return f"All {len(judged)} qualitative claims of the paper that these scenarios test held."
    return f"{len(judged) - len(failed)} of {len(judged)} qualitative claims held; not held: {'; '.join(failed)}."


# --- what is written and printed -------------------------------------------------------------------------------------


def figure1_tables(bars: Sequence[Bar]) -> Iterator[Table]:
    """Mean queries with their standard errors, one table per side, one row per algorithm, the lower bound last."""
    for mine in by_field("side", bars).values():
        bounds = {bar.value: bar.lower_bound for bar in mine}
        yield series_table(
            f"Mean queries ± standard error, by {mine[0].parameter}",
            [f"{value:g}" for value in bounds],
            {
                name: [f"{bar.mean_queries:,.0f} ±{bar.standard_error:,.0f}" for bar in row]
                for name, row in by_field("algorithm", mine).items()
            },
            ("lower bound", [f"{bound:,.0f}" for bound in bounds.values()]),
        )


def plot_figure1(bars: Sequence[Bar], path: Path) -> None:
    """Two panels of grouped bars with error bars on a log axis, in the layout of the paper."""
    names, sides = by_field("algorithm", bars), by_field("side", bars)
    figure, panels = empty_panels(len(sides), "mean number of queries")
    for panel, (side, mine) in zip(panels, sides.items(), strict=True):
        series = {name: [(bar.mean_queries, bar.standard_error) for bar in _of(mine, name)] for name in names}
        bounds = {f"{bar.value:g}": bar.lower_bound for bar in mine}
        draw_bars(panel, list(bounds), series, {"lower bound": ("dotted", list(bounds.values()))})
        panel.set_xlabel(AXES[side])
    write_panels(figure, panels, path, legend_columns=(len(names) + 2) // 2)


def present(bars: Sequence[Bar], folder: Path, console: Console) -> None:
    """Write the table and the picture, and say which claims of the paper held."""
    write_csv(bars, folder / "figure1.csv")
    plot_figure1(bars, folder / "figure1.png")
    for table in figure1_tables(bars):
        console.print(table)
    console.print(f"[dim]{LOWER_BOUND_NOTE}[/dim]\n", highlight=False)
    judged = claims(bars)
    for claim in judged:
        console.print(f"{'✓' if claim.held else '✗'} {claim.text}: {claim.detail}.", highlight=False)
    console.print(f"[bold]{verdict(judged)}[/bold]")
    say_written(console, folder / "figure1.csv", folder / "figure1.png")
