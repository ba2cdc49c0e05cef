"""What the studies share: records become a CSV file, a picture or a printed table."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bestarm.files import write_text, write_whole
from bestarm.text import file_name, sanitize
from bestarm.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure

T = TypeVar("T")

MADE_BY = f"bestarm {__version__}"  # what files say of themselves
# Okabe and Ito's palette: distinguishable with colour vision deficiencies.
COLOURS = ("#999999", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#F0E442")


def by_field(name: str, records: Iterable[T]) -> dict[Any, list[T]]:
    """The records by the value of one of their fields, in the order in which the values first come."""
    groups: dict[Any, list[T]] = {}
    for record in records:
        groups.setdefault(getattr(record, name), []).append(record)
    return groups


def headings_of(kind: Any) -> list[str]:
    """The columns of records, which are dataclasses."""
    return [field.name for field in fields(kind)]


def write_csv(records: Sequence[Any], path: Path) -> None:
    """Write records of one kind, one row each; texts that a spreadsheet would take for formulas are escaped."""
    page = io.StringIO()
    headings = headings_of(records[0])
    writer = csv.writer(page)
    writer.writerow(headings)
    for record in records:
        cells = [getattr(record, name) for name in headings]
        writer.writerow([sanitize(cell, "csv") if isinstance(cell, str) else cell for cell in cells])
    write_text(path, page.getvalue())


def write_picture(figure: "Figure", path: Path, dpi: int) -> None:
    """Write a picture as PNG that says what made it."""
    picture = io.BytesIO()
    figure.savefig(picture, dpi=dpi, format="png", metadata={"Software": MADE_BY})
    write_whole(path, picture.getvalue())


def empty_panels(
    n_panels: int, ylabel: str, width: float = 5.6, height: float = 4.6
) -> tuple["Figure", Sequence["Axes"]]:
    """A picture of panels beside each other that share their vertical axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * n_panels + 0.4, height), layout="constrained")
    panels = figure.subplots(1, n_panels, sharey=True, squeeze=False)[0]
    panels[0].set_ylabel(ylabel)
    return figure, panels


def write_panels(figure: "Figure", panels: Sequence["Axes"], path: Path, legend_columns: int) -> None:
    """Write a picture of panels, with one legend for all of them."""
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=legend_columns, frameon=False)
    write_picture(figure, path, dpi=160)


def draw_bars(
    panel: "Axes",
    places: Sequence[str],
    series: Mapping[str, Sequence[tuple[float, float]]],
    lines: Mapping[str, tuple[str, Sequence[float]]],
    colours: Sequence[str] = COLOURS,
) -> list["BarContainer"]:
    """Draw grouped bars on a log axis; returns the bars of each series.

    Parameters
    ----------
    panel : where they are drawn
    places : the labels of the groups
    series : by name, mean and standard error in each group; whiskers are two standard errors
    lines : by name, a line style and a height in each group
    colours : of the series

    """
    x, width, bars = np.arange(len(places)), 0.84 / len(series), []
    for k, (name, values) in enumerate(series.items()):
        means, errors = np.array(values).T
        bars.append(
            panel.bar(
                x + (k - (len(series) - 1) / 2) * width,
                means,
                width,
                yerr=2 * errors,
                error_kw={"linewidth": 0.8},
                color=colours[k % len(colours)],
                label=name,
            )
        )
    for name, (style, heights) in lines.items():
        panel.hlines(heights, x - 0.46, x + 0.46, colors="black", linestyles=style, label=name)  # type: ignore[arg-type]
    panel.set_yscale("log")
    panel.set_xticks(x, places)
    panel.grid(axis="y", linewidth=0.4, alpha=0.6)
    panel.set_axisbelow(True)
    return bars


def empty_table(title: str) -> Table:
    """A printed table without columns."""
    return Table(title=title, box=SIMPLE_HEAD, pad_edge=False)


def series_table(
    title: str, columns: Iterable[str], rows: Mapping[str, Sequence[str]], reference: tuple[str, Sequence[str]]
) -> Table:
    """One row per series, one column per case, and a dim row of reference last."""
    table = empty_table(title)
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    for name, cells in rows.items():
        table.add_row(name, *cells)
    table.add_row(reference[0], *reference[1], style="dim")
    return table


def say_written(console: Console, *paths: Path) -> None:
    """Say which files were written."""
    files = " and ".join(file_name(path) for path in paths)
    console.print(f"Wrote {files}.", markup=False, highlight=False)
