"""`bestarm table`: a race on recorded scores."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from bestarm.cli.app import EXIT_CODES, app, clear_errors, finish
from bestarm.cli.options import Aim, Columns, Json, Report, grouped, interval
from bestarm.inputs.files import read_table
from bestarm.inputs.tables import ScoreTable, without_gaps
from bestarm.racing.result import RaceResult
from bestarm.racing.table import race_table


@app.command(epilog=EXIT_CODES)
@grouped
def table(
    file: Annotated[Path, typer.Argument(help="Scores as .csv, .tsv, .jsonl, .ndjson or .parquet; one row per item.")],
    *,
    columns: Columns,
    bounds: Annotated[
        str, typer.Option(help="The interval that scores lie in: `table` (its own), `low,high`, or `none` (Gaussian).")
    ] = "table",
    aim: Aim,
    report: Report = None,
    as_json: Json = False,
) -> None:
    """Who is best in a recorded score table, and how few of the evaluations would have been enough?

    Wide, one column per arm: `bestarm table scores.csv`

    Long, one row per score: `bestarm table runs.csv --item task --arm model --score accuracy`
    """
    with clear_errors():
        scores = read_table(file, columns.item, columns.arm, columns.score)
        limits = {"table": "table", "none": None}[bounds] if bounds in ("table", "none") else interval(bounds)
        result = race_table(scores, bounds=limits, missing=columns.missing, **vars(aim))
        remark = None if as_json else whole_table(scores, columns.missing, result)
        finish(result, as_json, report, file, remark)


def whole_table(scores: ScoreTable, missing: str, result: RaceResult) -> str:
    """What all scores of a table say, to compare with what some of them said."""
    lower_is_better = result.settings.lower_is_better
    means = without_gaps(scores, missing, result.bounds, lower_is_better).scores.mean(axis=0)
    order = np.argsort(means if lower_is_better else -means, kind="stable")
    first, second = (f"{scores.arms[arm]} ({means[arm]:.4g})" for arm in order[:2])
    return f"Over the whole table {first} has the best mean, then {second}."
