"""The table of the study of the guarantee."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bestarm.experiments.tables import say_written
from bestarm.experiments.validate import CellResult, verdict, write_csv

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def _number(value: float, enough: bool = True) -> str:
    if math.isnan(value):
        return "–"
    return f"{'' if enough else '≥ '}{value:,.0f}"


def validate_table(results: Sequence[CellResult], title: str) -> "Table":
    """One row per cell."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("comparison", "arms", "with"):
        table.add_column(heading, no_wrap=True)
    for heading in ("K", "delta", "error rate", "95% interval", "p", "ended", "queries", "paper's rule", "lower bound"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        cell = result.cell
        table.add_row(
            cell.comparison,
            cell.law,
            cell.option,
            str(cell.n_arms),
            f"{cell.delta:g}",
            f"{result.error_rate:.4f}",
            f"{result.low:.4f}–{result.high:.4f}",
            f"{result.p_value:.2g}",
            f"{result.decided:.0%}",
            _number(result.mean_queries, result.decided == 1),
            _number(result.paper_queries, result.paper_decided == 1),
            _number(result.lower_bound),
        )
    return table


def present(results: Sequence[CellResult], folder: Path, console: "Console") -> bool:
    """Write and print the cells, those with broken assumptions in a table of their own; does the guarantee stand?"""
    from rich.console import Console

    write_csv(results, folder / "validate.csv")
    kept = [result for result in results if result.cell.assumption_holds]
    broken = [result for result in results if not result.cell.assumption_holds]
    wide = Console(file=console.file, width=max(console.width, 170))
    wide.print(validate_table(kept, "Cells that meet the assumptions"))
    wide.print(validate_table(broken, "Assumption deliberately broken, or met in part: delta is not guaranteed here"))
    outcome = verdict(results)
    console.print(f"[bold]{outcome}[/bold]", highlight=False)
    say_written(console, folder / "validate.csv")
    return outcome.passed
