"""The commands that run races: table, commands, run, demo."""

import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

import bestarm
from bestarm.checks import check_delta, check_seed
from bestarm.cli.app import EXIT_CODES, RACES, app, clear_errors, finish
from bestarm.cli.options import (
    GoalOptions,
    OutputOptions,
    RunOptions,
    TableBounds,
    TableOptions,
    interval,
    items_file,
    race_options,
    with_options,
)
from bestarm.cli.origins import CommandsOrigin, DemoOrigin, FunctionOrigin
from bestarm.cli.streams import PICTURE, WantedFile, files_of_store, remark
from bestarm.racing.calls import race_table
from bestarm.racing.options import Options
from bestarm.result.result import RaceResult
from bestarm.sources.programs import TIMEOUT, Measured
from bestarm.studies import demo as study
from bestarm.studies.output import write_picture
from bestarm.text import file_name, join_arm_names


@app.command(epilog=EXIT_CODES, rich_help_panel=RACES)
@with_options
def table(
    file: Annotated[Path, typer.Argument(help="Scores as .csv, .tsv, .jsonl, .ndjson or .parquet; one row per item.")],
    *,
    columns: TableOptions,
    bounds: TableBounds = None,
    goal: GoalOptions,
    max_evaluations: int | None = None,
    live: Annotated[bool, typer.Option("--live", help="Race on the table as if its scores came one by one.")] = False,
    output: OutputOptions,
) -> None:
    """Which arms of a recorded score table may be the best on items like these?

    With --live: how a race would have gone that asks for one score after the other, and how few it would have needed.

    Wide, one column per arm: `bestarm table scores.csv`

    Long, one row per score: `bestarm table runs.csv --item-column task --arm-column model --score-column accuracy`

    Some of its columns: `bestarm table scores.csv --arms plain,steps`
    """
    with clear_errors(output.quiet):
        page = output.page([file])
        options = vars(goal) | {"bounds": interval(bounds), "missing": columns.missing}
        result = race_table(columns.read(file), max_evaluations=max_evaluations, live=live or None, **options)
        finish(result, output, page)


@dataclass(frozen=True)
class ProgramOptions:
    """What is measured, and how long a program may take."""

    score: Measured = "time"
    timeout: float = TIMEOUT


@app.command(epilog=EXIT_CODES, rich_help_panel=RACES)
@with_options
def commands(
    programs: Annotated[list[str], typer.Argument(help="Commands, in which {item} stands for the item.")],
    *,
    items: Path | None = None,
    measured: ProgramOptions,
    bounds: str | None = None,
    goal: GoalOptions,
    course: RunOptions,
    output: OutputOptions,
) -> None:
    """Which program is best? Runs them without a shell, on the same items, in a random order inside each round.

    For times, items are drawn again and again, and the best program is faster than every other on more runs than
    slower (`--criterion mean`: on average). Equally fast programs never end without a budget or `--epsilon`.

    Fastest: `bestarm commands "gzip -kc {item}" "xz -kc {item}" --items files.txt --epsilon 0.1`

    Best by what it prints: `bestarm commands "./a {item}" "./b {item}" --items cases.txt --score stdout`
    """
    with clear_errors(output.quiet):
        origin = CommandsOrigin(items_file(items), str(Path.cwd()), measured.score, measured.timeout, course.retries)
        page = output.page([*origin.files(programs), *files_of_store(course.store)])
        less = goal.lower_is_better or measured.score == "time"
        options = race_options(goal, course, bounds, lower_is_better=less)
        result = origin.race(programs, options, progress=not output.quiet)
        finish(result, output, page, course.store)


@dataclass(frozen=True)
class WorkerOptions:
    """How the function is called."""

    workers: int = 1
    rounds_in_flight: int | None = None
    jointly: bool = False


@app.command(epilog=EXIT_CODES, rich_help_panel=RACES)
@with_options
def run(
    function: Annotated[str, typer.Argument(help="The function, as `module:function`, called with (arm, item).")],
    arms: Annotated[str, typer.Option(help="Names of the arms, separated by commas.")],
    *,
    items: Path | None = None,
    bounds: str | None = None,
    goal: GoalOptions,
    workers: WorkerOptions,
    course: RunOptions,
    output: OutputOptions,
) -> None:
    """Which arm of a Python function is best? Calls `function(arm, item)` on the same items for all arms.

    Example: `bestarm run mybench:score --arms fast,exact,hybrid --items instances.txt --bounds 0,1 --store race.sqlite`
    """
    with clear_errors(output.quiet):
        place, names = items_file(items), [name.strip() for name in arms.split(",")]
        origin = FunctionOrigin(function, place, str(Path.cwd()), workers.jointly, course.retries, workers.workers)
        page = output.page([*origin.files(names), *files_of_store(course.store)])
        options = race_options(goal, course, bounds, rounds_in_flight=workers.rounds_in_flight)
        result = origin.race(names, options, progress=not output.quiet)
        finish(result, output, page, course.store)


@app.command(epilog=EXIT_CODES, rich_help_panel=RACES)
@with_options
def demo(
    *,
    output: Annotated[Path, typer.Option(help="Folder for the store, the picture and the page.")] = Path("demo"),
    seed: int = 0,
    delta: float = 0.05,
    max_evaluations: int | None = None,
    shown: OutputOptions,
) -> None:
    """Which of SciPy's optimizers gets furthest with 300 function evaluations? They race on random problems.

    Nothing is downloaded. The race is stored: it can be stopped with Ctrl-C and continued by the same command, which
    shows the result of a finished one.
    """
    store, shown = output / "race.sqlite", replace(shown, report=shown.report or output / "report.html")
    with clear_errors(shown.quiet):
        check_delta(delta)
        check_seed(seed)
        output.mkdir(parents=True, exist_ok=True)
        picture = WantedFile(output / "race.png", PICTURE, files_of_store(store), shown.overwrite)
        page = shown.page([*files_of_store(store), picture.path])
        begun = _earlier(store)
        if not shown.quiet:
            for line in (*study.QUESTION, _course(begun)):
                remark(line)
        options = Options(delta=delta, bounds=(0.0, 1.0), max_evaluations=max_evaluations, seed=seed, store=store)
        watch = study.Watch()
        result = DemoOrigin().race(list(study.OPTIMIZERS), options, not shown.quiet, watch)
        write_picture(result.plot(), picture.path, dpi=150)
        took = watch.comparison()
        remark(f"Wrote {file_name(picture.path)}.")
        try:
            finish(result, shown, page, store)
        finally:
            if result.answered and not shown.quiet:
                _say_next(took, store)


def _earlier(store: Path) -> RaceResult[str] | None:
    """The race of the demo in a store; None if there is none."""
    if not store.exists():
        return None
    result = bestarm.load_result(store)
    if list(result.arms) != list(study.OPTIMIZERS):
        raise ValueError(
            f"{file_name(store)} holds another race, of {join_arm_names(list(result.arms[:2]))} among others: give "
            "another folder as --output"
        )
    return result


def _course(begun: RaceResult[str] | None) -> str:
    """What the command does: begin, continue or show a race."""
    if begun is None:
        return "All are tried on the same problems, and those that are beaten leave."
    if begun.answered:
        return "This race is finished: this is its result. For another: --seed 1 --output demo1"
    return f"This race was begun earlier: {begun.n_evaluations:,} evaluations are there already."


def _say_next(took: str | None, store: Path) -> None:
    """How long it took, and what one may do now."""
    if took is not None:
        remark(took)
    remark(f"To see it again: bestarm show {shlex.quote(str(store))}")
    remark("To race your own: bestarm run yourmodule:score --arms a,b,c --items items.txt")
