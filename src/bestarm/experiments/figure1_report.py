"""The picture and the table of Figure 1."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bestarm.experiments.figure1 import Bar, claims, verdict
from bestarm.experiments.records import write_csv, write_picture
from bestarm.experiments.tables import say_written, series_table, unique

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console
    from rich.table import Table

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
