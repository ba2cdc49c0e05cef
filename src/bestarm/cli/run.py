"""`bestarm run`: a race of a Python function."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bestarm.cli.app import EXIT_CODES, RACES, app, clear_errors, finish, hint_to_continue
from bestarm.cli.options import Aim, Bounds, Course, ItemsFile, Output, grouped, items_file, race_options
from bestarm.cli.outputs import files_of_store, files_read, wanted_page
from bestarm.racing.origins import FunctionOrigin, plain


@dataclass(frozen=True)
class Workers:
    """How the function is called."""

    workers: Annotated[int, typer.Option(help="Processes that evaluate in parallel; they end with the race.")] = 1
    rounds_in_flight: Annotated[int | None, typer.Option(help="Rounds evaluated at a time.")] = None
    jointly: Annotated[bool, typer.Option("--jointly", help="The function takes all arms at once.")] = False


@app.command(epilog=EXIT_CODES, rich_help_panel=RACES)
@grouped
def run(
    function: Annotated[str, typer.Argument(help="The function, as `module:function`, called with (arm, item).")],
    arms: Annotated[str, typer.Option(help="Names of the arms, separated by commas.")],
    *,
    items: ItemsFile = None,
    bounds: Bounds = None,
    aim: Aim,
    workers: Workers,
    course: Course,
    shown: Output,
) -> None:
    """Which arm of a Python function is best? Calls `function(arm, item)` on the same items for all arms.

    Example: `bestarm run mybench:score --arms fast,exact,hybrid --items instances.txt --bounds 0,1 --store race.sqlite`
    """
    where = items_file(items)
    with clear_errors(shown.quiet):
        origin = FunctionOrigin(function, where, str(Path.cwd()), workers.jointly, course.retries, workers.workers)
        inputs = [*files_read(plain(origin), []), *files_of_store(course.store)]
        page = wanted_page(shown.report, inputs, shown.overwrite)
        options = race_options(aim, course, bounds, rounds_in_flight=workers.rounds_in_flight)
        result = origin.race([name.strip() for name in arms.split(",")], options, progress=not shown.quiet)
        hint_to_continue(result, course.store)
        finish(result, shown.as_json, page)
