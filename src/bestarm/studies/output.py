"""How studies keep and show what they measured."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from bestarm.files import write_text, write_whole
from bestarm.text import file_name, shown
from bestarm.version import __version__

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table


MADE_BY = f"bestarm {__version__}"  # what files say of themselves


def write_csv(records: Sequence[Any], path: Path) -> None:
    """Dataclass records of one kind, one row each."""
    headings = headings_of(type(records[0]))
    write_rows(headings, ([getattr(record, name) for name in headings] for record in records), path)


def headings_of(kind: Any) -> list[str]:
    """The columns of records."""
    return [field.name for field in fields(kind)]


def write_rows(headings: Sequence[str], rows: Iterable[Iterable[Any]], path: Path) -> None:
    """A table with its headings; texts are no formulas."""
    page = io.StringIO()
    writer = csv.writer(page)
    writer.writerow(headings)
    writer.writerows([shown(cell, "csv") if isinstance(cell, str) else cell for cell in row] for row in rows)
    write_text(path, page.getvalue())


def write_picture(figure: "Figure", path: Path, dpi: int) -> None:
    """A picture as PNG, which says what made it."""
    picture = io.BytesIO()
    figure.savefig(picture, dpi=dpi, format="png", metadata={"Software": MADE_BY})
    write_whole(path, picture.getvalue())


T = TypeVar("T")


def unique(values: Iterable[T]) -> list[T]:
    """The values in the order in which they first come."""
    return list(dict.fromkeys(values))


def series_table(
    title: str, columns: Iterable[str], rows: Mapping[str, Sequence[str]], reference: tuple[str, Sequence[str]]
) -> "Table":
    """One row per series, one column per case, and a dim row of reference last."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    for name, cells in rows.items():
        table.add_row(name, *cells)
    table.add_row(reference[0], *reference[1], style="dim")
    return table


def say_written(console: "Console", *paths: Path) -> None:
    """Say which files there are now."""
    files = " and ".join(file_name(path) for path in paths)
    console.print(f"Wrote {files}.", markup=False, highlight=False)
