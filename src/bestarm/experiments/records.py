"""Results of experiments as files."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestarm.shown import shown
from bestarm.version import __version__
from bestarm.writing import write_text, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
