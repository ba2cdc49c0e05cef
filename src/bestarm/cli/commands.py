"""`bestarm commands`: a race of programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bestarm.cli.app import EXIT_CODES, RACES, app, clear_errors, finish, hint_to_continue
from bestarm.cli.options import Aim, Bounds, Course, ItemsFile, Output, grouped, items_file, race_options
from bestarm.cli.outputs import files_of_store, files_read, wanted_page
from bestarm.inputs.programs import TIMEOUT, Measured
from bestarm.racing.origins import CommandsOrigin, plain


@dataclass(frozen=True)
class Programs:
    """What is measured, and how long a program may take."""

    score: Annotated[
        Measured,
        typer.Option(help="What is measured: time (wall time, less is better) or stdout (the last number printed)."),
    ] = "time"
    timeout: Annotated[
        float, typer.Option(help="Seconds after which a program is killed; with --score time it counts as that long.")
    ] = TIMEOUT


@app.command(epilog=EXIT_CODES, rich_help_panel=RACES)
@grouped
def commands(
    programs: Annotated[list[str], typer.Argument(help="Commands, in which {item} stands for the item.")],
    *,
    items: ItemsFile = None,
    measured: Programs,
    bounds: Bounds = None,
    aim: Aim,
    course: Course,
    shown: Output,
) -> None:
    """Which program is best? Runs them without a shell, on the same items, in a random order inside each round.

    For times, items are drawn again and again, and the best program is faster than every other on more runs than
    slower (`--criterion mean`: on average). Equally fast programs never end without a budget or `--epsilon`.

    Fastest: `bestarm commands "gzip -kc {item}" "xz -kc {item}" --items files.txt --epsilon 0.1`

    Best by what it prints: `bestarm commands "./a {item}" "./b {item}" --items cases.txt --score stdout`
    """
    with clear_errors(shown.quiet):
        origin = CommandsOrigin(items_file(items), str(Path.cwd()), measured.score, measured.timeout, course.retries)
        inputs = [*files_read(plain(origin), programs), *files_of_store(course.store)]
        page = wanted_page(shown.report, inputs, shown.overwrite)
        less = aim.lower_is_better or measured.score == "time"
        options = race_options(aim, course, bounds, lower_is_better=less)
        result = origin.race(programs, options, progress=not shown.quiet)
        hint_to_continue(result, course.store)
        finish(result, shown.as_json, page)
