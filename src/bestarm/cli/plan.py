"""`bestarm plan`: how many evaluations will a race need?"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

import bestarm
from bestarm.cli.app import RACES, app, clear_errors
from bestarm.cli.options import Aim, Bounds, Columns, Json, grouped, interval
from bestarm.cli.streams import remarks, say, say_json
from bestarm.planning import refining_plans


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
    n_items: Annotated[
        int | None, typer.Option(help="Number of items, if the race will be on a list. If omitted, on fresh items.")
    ] = None,
    aim: Aim,
    max_evaluations: Annotated[
        int | None, typer.Option(help="A budget: how likely is an answer within it, and which leads would be found?")
    ] = None,
    repetitions: Annotated[int, typer.Option(help="Number of simulated races; fewer where they are long.")] = 600,
    as_json: Json = False,
) -> None:
    """How many evaluations will a race like this pilot need?

    Example: `bestarm plan pilot.csv --bounds 0,1 --n-items 2000`

    What 500 evaluations would find: `bestarm plan pilot.csv --max-evaluations 500`
    """
    with clear_errors():
        plans = refining_plans(
            columns.read(pilot),
            bounds=interval(bounds),
            missing=columns.missing,
            n_items=n_items,
            max_evaluations=max_evaluations,
            repetitions=repetitions,
            **vars(aim),
        )
        planned = _last_plan(plans)
        if as_json:
            say_json(json.dumps(planned.to_dict(), indent=2))
        else:
            say(str(planned), soft_wrap=True)
    raise typer.Exit(0 if planned.large_enough else 3)


def _last_plan(plans: Iterator[bestarm.Plan]) -> bestarm.Plan:
    """The refined plan; somebody at a terminal sees the first one until it is there."""
    waiting = Spinner("dots", "racing on resampled items")
    shown = Live(waiting, console=remarks(), transient=True)
    with shown:
        for planned in plans:
            shown.update(Group(Text(f"{planned}\n"), Spinner("dots", "a first answer from few races; refining it")))
    return planned
