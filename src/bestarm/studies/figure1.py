"""Figure 1 of the paper: mean number of queries against correlation (left) and against clusters (right).

The paper gives neither delta nor the number of repetitions nor the layout of the clusters nor the constants of the
baselines; all of them are parameters here or stated in the docstrings of the algorithms.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from bestarm.algorithms import LUCB, Algorithm, HoeffdingRace, PairwiseBAI, VarianceRace
from bestarm.arms import GaussianArms, clustered_arms, difference_variances, equicorrelated_arms
from bestarm.comparisons import GaussianBernstein, StudentMixture, SymmetricBetting
from bestarm.complexity import lower_bound_gaussian
from bestarm.simulation import simulate
from bestarm.studies.output import say_written, series_table, unique, write_csv, write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console
    from rich.table import Table


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


# Okabe and Ito's palette: distinguishable with colour vision deficiencies.
COLOURS = ("#999999", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#F0E442")


def figure1_tables(bars: Sequence[Bar]) -> "Iterator[Table]":
    """Mean queries with their standard errors, one table per side, one row per algorithm, the lower bound last."""
    for side in unique(bar.side for bar in bars):
        mine = [bar for bar in bars if bar.side == side]
        yield series_table(
            f"Mean queries ± standard error, by {mine[0].parameter}",
            [f"{value:g}" for value in unique(bar.value for bar in mine)],
            {
                name: [f"{bar.mean_queries:,.0f} ±{bar.standard_error:,.0f}" for bar in mine if bar.algorithm == name]
                for name in unique(bar.algorithm for bar in mine)
            },
            ("lower bound", [f"{bound:,.0f}" for bound in _lower_bounds(mine)]),
        )


def _lower_bounds(bars: Sequence[Bar]) -> list[float]:
    """The lower bound of each scenario of one side."""
    return list({bar.value: bar.lower_bound for bar in bars}.values())


LOWER_BOUND_NOTE = (
    "Lower bound: Theorem 6.2 with the variances of these arms, for the worst distribution of its class; "
    "it need not hold for a single instance such as these."
)


def plot_figure1(bars: Sequence[Bar], path: Path) -> None:
    """Two panels of grouped bars with error bars on a log axis, in the layout of the paper."""
    from matplotlib.figure import Figure

    sides = unique(bar.side for bar in bars)
    names = unique(bar.algorithm for bar in bars)
    figure = Figure(figsize=(5.6 * len(sides) + 0.4, 4.6), layout="constrained")
    panels = figure.subplots(1, len(sides), sharey=True, squeeze=False)[0]
    for panel, side in zip(panels, sides, strict=True):
        _draw_panel(panel, [bar for bar in bars if bar.side == side], names)
    panels[0].set_ylabel("mean number of queries")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=(len(names) + 2) // 2, frameon=False)
    write_picture(figure, path, dpi=160)


def _draw_panel(panel: "Axes", bars: Sequence[Bar], names: Sequence[str]) -> None:
    values = unique(bar.value for bar in bars)
    width = 0.84 / len(names)
    for k, name in enumerate(names):
        mine = [bar for bar in bars if bar.algorithm == name]
        panel.bar(
            [values.index(bar.value) + (k - (len(names) - 1) / 2) * width for bar in mine],
            [bar.mean_queries for bar in mine],
            width,
            yerr=[2 * bar.standard_error for bar in mine],
            error_kw={"linewidth": 0.8},
            color=COLOURS[k % len(COLOURS)],
            label=name,
        )
    places = np.arange(len(values))
    panel.hlines(
        _lower_bounds(bars), places - 0.46, places + 0.46, colors="black", linestyles="dotted", label="lower bound"
    )
    panel.set_yscale("log")
    panel.set_xticks(range(len(values)), [f"{value:g}" for value in values])
    axis = {"left": "K = 10, correlation between all arms", "right": "K = 16, number of clusters"}
    panel.set_xlabel(axis[bars[0].side])
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", linewidth=0.4, alpha=0.6)
    panel.set_axisbelow(True)


def present(bars: Sequence[Bar], folder: Path, console: "Console") -> None:
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
