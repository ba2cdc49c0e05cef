"""Results of experiments as files."""

import csv
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any


def write_csv(records: Sequence[Any], path: Path) -> None:
    """Dataclass records of one kind, one row each."""
    names = [field.name for field in fields(records[0])]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([getattr(record, name) for name in names] for record in records)
