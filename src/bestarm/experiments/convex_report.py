"""The picture and the tables of the experiment with averages."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bestarm.experiments.convex import HORIZON, Point, findings
from bestarm.experiments.figure1_report import COLOURS
from bestarm.experiments.records import write_csv, write_picture
from bestarm.experiments.tables import say_written, series_table, unique

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MARKERS = "osv^"


def convex_tables(points: Sequence[Point]) -> "Iterator[Table]":
    """Rounds until the last arm is out, a table for each kind of last arm."""
    for kind in unique(point.last_arm for point in points):
        mine = [point for point in points if point.last_arm == kind]
        bounds = {point.gap: point.bound for point in mine}
        yield series_table(
            f"Rounds until the last arm ({kind}) is out, by its gap",
            [f"{gap:g}" for gap in bounds],
            {
                name: [_cell(point) for point in mine if point.algorithm == name]
                for name in unique(point.algorithm for point in mine)
            },
            ("Theorem B.1, c = 1", [_short(bound) for bound in bounds.values()]),
        )


def _cell(point: Point) -> str:
    if point.reached_horizon:
        return f"≥ {_short(point.mean_rounds)}"
    return f"{_short(point.mean_rounds)} ±{point.standard_error / point.mean_rounds:.0%}"


def _short(value: float) -> str:
    """Three digits and a unit."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}"


def plot_convex(points: Sequence[Point], path: Path) -> None:
    """Rounds against the gap, both on log axes, one panel for each kind of last arm."""
    from matplotlib.figure import Figure

    kinds = unique(point.last_arm for point in points)
    figure = Figure(figsize=(5.0 * len(kinds) + 0.4, 4.4), layout="constrained")
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    titles = {"average": "last arm: an average of the others", "independent": "last arm: independent, same mean"}
    for panel, kind in zip(panels, kinds, strict=True):
        mine = [point for point in points if point.last_arm == kind]
        for k, name in enumerate(unique(point.algorithm for point in mine)):
            row = [point for point in mine if point.algorithm == name]
            panel.errorbar(
                [point.gap for point in row],
                [point.mean_rounds for point in row],
                yerr=[2 * point.standard_error for point in row],
                color=COLOURS[(1, 2, 5, 4)[k % 4]],
                marker=MARKERS[k % len(MARKERS)],
                label=name,
                capsize=2,
            )
        bounds = {point.gap: point.bound for point in mine}
        panel.plot(list(bounds), list(bounds.values()), ":", color="black", label="Theorem B.1, c = 1")
        panel.axhline(HORIZON, color="#999999", linewidth=0.6)
        panel.set_xscale("log")
        panel.set_yscale("log")
        panel.set_xticks(list(bounds), [f"{gap:g}" for gap in bounds])
        panel.set_xticks([], minor=True)
        panel.set_title(titles[kind], fontsize="medium")
        panel.set_xlabel("gap between the last arm and the average of the others")
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(linewidth=0.4, alpha=0.6)
    panels[0].set_ylabel("rounds until the last arm is out")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    write_picture(figure, path, dpi=160)


def present(points: Sequence[Point], folder: Path, console: "Console") -> None:
    """Write the table and the picture, and say what averages gain."""
    write_csv(points, folder / "convex.csv")
    plot_convex(points, folder / "convex.png")
    for table in convex_tables(points):
        console.print(table)
    for sentence in findings(points):
        console.print(sentence, highlight=False)
    say_written(console, folder / "convex.csv", folder / "convex.png")
