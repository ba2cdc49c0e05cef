"""Tables that several reports share."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bestarm.shown import file_name

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

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
