"""`bestarm commands`: a race of programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bestarm.cli.app import EXIT_CODES, app, clear_errors, finish
from bestarm.cli.options import Aim, Bounds, Course, ItemsFile, Output, Report, grouped, race_options
from bestarm.inputs.programs import TIMEOUT
from bestarm.racing.origins import CommandsOrigin


@dataclass(frozen=True)
class Measured:
    """What is measured."""

    score: Annotated[str, typer.Option(help="time (wall time, less is better) or stdout (the last number).")] = "time"
    timeout: Annotated[float, typer.Option(help="Seconds after which a program is killed.")] = TIMEOUT


@app.command(epilog=EXIT_CODES)
@grouped
def commands(
    programs: Annotated[list[str], typer.Argument(help="Commands, in which {item} stands for the item.")],
    *,
    items: ItemsFile = None,
    measured: Measured,
    bounds: Bounds = None,
    aim: Aim,
    course: Course,
    report: Report = None,
    shown: Output,
) -> None:
    """Which program is best? Run without a shell, on the same items, in a random order inside each round.

    Fastest: `bestarm commands "gzip -kc {item}" "xz -kc {item}" --items files.txt --epsilon 0.001`

    Best by what it prints: `bestarm commands "./a {item}" "./b {item}" --items cases.txt --score stdout`
    """
    path = None if items is None else str(items.resolve())
    origin = CommandsOrigin(path, str(Path.cwd()), measured.score, measured.timeout, course.retries)
    with clear_errors():
        less = aim.lower_is_better or measured.score == "time"
        options = race_options(aim, course, bounds, lower_is_better=less)
        result = origin.race(programs, options, progress=not shown.quiet)
        finish(result, shown.as_json, report, course.store)
