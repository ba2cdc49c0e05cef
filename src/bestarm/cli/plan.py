"""`bestarm plan`: how many evaluations will a race need?"""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

import bestarm
from bestarm.cli.app import RACES, app, clear_errors
from bestarm.cli.options import Aim, Bounds, Columns, Json, grouped, interval


@app.command(
    epilog="Exit codes: 0 there is a plan, 2 usage or bad input, 3 undecided: the pilot is too small to plan with.",
    rich_help_panel=RACES,
)
@grouped
def plan(
    pilot: Annotated[Path, typer.Argument(help="Scores on a few items, as .csv, .tsv, .jsonl, .ndjson or .parquet.")],
    *,
    columns: Columns,
    bounds: Bounds = None,
    aim: Aim,
    repetitions: Annotated[int, typer.Option(help="Number of simulated races per rule.")] = 200,
    as_json: Json = False,
) -> None:
    """How many evaluations will a race like this pilot need?

    Example: `bestarm plan pilot.csv --delta .05 --bounds 0,1`
    """
    console = Console()
    with clear_errors():
        with Console(stderr=True).status("racing on resampled items"):
            planned = bestarm.plan(
                columns.read(pilot),
                bounds=interval(bounds),
                missing=columns.missing,
                repetitions=repetitions,
                **vars(aim),
            )
        if as_json:
            console.file.write(json.dumps(planned.to_dict(), indent=2) + "\n")
        else:
            console.print(Text(str(planned)), soft_wrap=True)
    raise typer.Exit(0 if planned.large_enough else 3)
