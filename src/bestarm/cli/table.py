"""`bestarm table`: a race on recorded scores."""

import warnings
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import bestarm
from bestarm.cli.app import EXIT_CODES, RACES, app, clear_errors, finish
from bestarm.cli.options import Aim, Columns, MaxEvaluations, Output, TableBounds, grouped, interval
from bestarm.cli.outputs import wanted_page
from bestarm.inputs.tables import Missing, ScoreTable, without_gaps
from bestarm.inputs.texts import name_of
from bestarm.racing.result import RaceResult
from bestarm.racing.table import race_table


@app.command(epilog=EXIT_CODES, rich_help_panel=RACES)
@grouped
def table(
    file: Annotated[Path, typer.Argument(help="Scores as .csv, .tsv, .jsonl, .ndjson or .parquet; one row per item.")],
    *,
    columns: Columns,
    bounds: TableBounds = None,
    aim: Aim,
    max_evaluations: MaxEvaluations = None,
    shown: Output,
) -> None:
    """Which arm is best in a recorded score table, and how few of the evaluations would have been enough?

    Wide, one column per arm: `bestarm table scores.csv`

    Long, one row per score: `bestarm table runs.csv --item-column task --arm-column model --score-column accuracy`
    """
    with clear_errors(shown.quiet):
        page = wanted_page(shown.report, [file], shown.overwrite)
        scores = columns.read(file)
        limits, goal = interval(bounds), vars(aim) | {"max_evaluations": max_evaluations}
        result = race_table(scores, bounds=limits, missing=columns.missing, **goal)
        more = None if shown.as_json else whole_table(scores, columns.missing, result)
        if more is not None and result.target == "items" and max_evaluations is None:
            goal |= {"target": "population"}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # was said by the race itself
                more += as_a_sample(race_table(scores, bounds=limits, missing=columns.missing, **goal))
        finish(result, shown.as_json, page, more)


def whole_table(scores: ScoreTable, missing: Missing, result: RaceResult[str]) -> str:
    """What all scores of a table say, to compare with what some of them said."""
    lower_is_better = result.settings.lower_is_better
    means = without_gaps(scores, missing, result.bounds, lower_is_better).scores.mean(axis=0)
    order = np.argsort(means if lower_is_better else -means, kind="stable")
    first, second = (f"{name_of(scores.arms[arm])} ({means[arm]:.4g})" for arm in order[:2])
    return f"Over the whole table {first} has the best mean, then {second}."


def as_a_sample(result: RaceResult[str]) -> str:
    """What a table says about items like these if it is raced for them, to its last row where that is needed."""
    from bestarm.report.verdict import sentences

    return f" With --target population: {sentences(result)[0]}"
