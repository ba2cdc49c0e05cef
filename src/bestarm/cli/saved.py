"""The commands on saved races: show, report, resume."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import bestarm
from bestarm.cli.app import EXIT_CODES, SAVED, ShownOptions, app, clear_errors, finish, refuse, show_result, write_page
from bestarm.cli.options import OutputOptions, RaceFile, announce_items, with_options
from bestarm.cli.origins import origin_of
from bestarm.cli.streams import BAD_INPUT, INTERRUPTED, PAGE, WantedFile, files_of_store, remark
from bestarm.racing.options import Options
from bestarm.record.settings import RaceSettings, migrate
from bestarm.record.sqlite import read_store


@app.command(epilog=EXIT_CODES, rich_help_panel=SAVED)
@with_options
def show(file: RaceFile, *, shown: ShownOptions) -> None:
    """Show a saved race, finished or not; the file is not changed."""
    with clear_errors():
        result = bestarm.load_result(file)
    finish(result, shown)


@app.command(epilog="Exit codes: 0 the page is written, 2 usage or bad input.", rich_help_panel=SAVED)
@with_options
def report(
    file: RaceFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML page to write.")] = Path("race.html"),
    overwrite: bool = False,
    as_json: bool = False,
) -> None:
    """Write a saved race as one self-contained HTML page.

    Example: `bestarm report race.sqlite -o race.html`
    """
    with clear_errors():
        page = WantedFile(output, PAGE, files_of_store(file), overwrite)
        result = bestarm.load_result(file)
        write_page(result, page)
    if as_json:
        show_result(result, ShownOptions(as_json=True))


MOST_SHOWN, LONGEST_SHOWN = 50, 1500  # lines, and characters of each, that somebody can be asked about


@app.command(epilog=EXIT_CODES, rich_help_panel=SAVED)
@with_options
def resume(
    file: RaceFile,
    *,
    max_evaluations: int | None = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run what the file names without asking.")] = False,
    shown: OutputOptions,
) -> None:
    """Continue a saved race that was started from the command line.

    What the file names is run, and somebody else may have written it: it is shown first, and you are asked, unless you
    give --yes. Races started from Python are continued by making the same call in Python again. The command that began
    a race continues it, too, without any question.
    """
    with clear_errors(shown.quiet):
        stored = read_store(file)
        source = migrate(stored.settings)["source"]
        origin = origin_of(source)
        page = shown.page([*(origin.files(stored.arms) if origin else []), *files_of_store(file)])
        if origin is None:
            raise ValueError(f"the race in {file} was started from Python: make the same call there again")
        settings = RaceSettings.from_plain(stored.settings)
        runs = origin.runs(stored.arms)
        if runs and not yes:
            confirm(file, runs)
        announce_items(source.get("items"))
        options = Options(
            algorithm=settings.algorithm,
            lower_is_better=settings.lower_is_better,
            on_error=settings.on_error,
            replace=True if settings.items == "drawn" else None,
            max_evaluations=settings.max_evaluations if max_evaluations is None else max_evaluations,
            seed=settings.seed,
            store=file,
        )
        result = origin.race(stored.arms, options, progress=not shown.quiet)
        finish(result, shown, page, file)


def confirm(file: Path, runs: Sequence[str]) -> None:
    """Say what would be run, and end here unless somebody at a terminal agrees."""
    if not sys.stdin.isatty():
        raise ValueError(f"nobody is there to be asked whether {file} may run {'; '.join(runs)}: add --yes if it may")
    if len(runs) > MOST_SHOWN or max(map(len, runs)) > LONGEST_SHOWN:
        raise ValueError(f"{file} names more than can be shown here: look into it, and add --yes if you trust it")
    remark(f"To continue the race in {file}, this would be run, with all your rights:")
    for line in runs:
        remark(f"- {line}")
    remark("Run this? [y/N]")
    try:
        answer = sys.stdin.readline()
    except KeyboardInterrupt:
        raise refuse("nothing was run", INTERRUPTED) from None
    if answer.strip().lower() not in ("y", "yes"):
        raise refuse("nothing was run", BAD_INPUT)
