"""`bestarm demo`: eight compressors on the files of the standard library."""

from pathlib import Path
from typing import Annotated

import typer

from bestarm.checks import check_delta, check_seed
from bestarm.cli.app import EXIT_CODES, RACES, app, clear_errors, finish, hint_to_continue
from bestarm.cli.options import Delta, MaxEvaluations, Output, Seed, grouped
from bestarm.cli.outputs import PICTURE, WantedFile, files_of_store, wanted_page
from bestarm.cli.streams import remark
from bestarm.experiments import compressors as data
from bestarm.experiments.records import write_picture
from bestarm.inputs.options import Options
from bestarm.racing.origins import DemoOrigin
from bestarm.shown import file_name


@app.command(epilog=EXIT_CODES, rich_help_panel=RACES)
@grouped
def demo(
    *,
    output: Annotated[Path, typer.Option(help="Folder for the store, the picture and the page.")] = Path("demo"),
    seed: Seed = 0,
    delta: Delta = 0.05,
    max_evaluations: MaxEvaluations = None,
    shown: Output,
) -> None:
    """Race eight compressors on the source files of Python's standard library.

    The score is the share of bytes saved, and the race ends when the leader is shown to be within 0.002 of the best.
    Nothing is downloaded; the race is stored, so that it can be stopped with Ctrl-C and continued by the same command.
    """
    store = output / "race.sqlite"
    with clear_errors(shown.quiet):
        check_delta(delta)
        check_seed(seed)
        output.mkdir(parents=True, exist_ok=True)
        picture = WantedFile(output / "race.png", PICTURE, files_of_store(store), shown.overwrite)
        picture.check()
        inputs = [*files_of_store(store), picture.path]
        page = wanted_page(shown.report or output / "report.html", inputs, shown.overwrite)
        if not shown.quiet:
            remark(_introduction(len(data.source_files()), store.exists()))
        options = Options(
            delta=delta,
            bounds=(0.0, 1.0),
            epsilon=data.EPSILON,
            max_evaluations=max_evaluations,
            seed=seed,
            store=store,
        )
        result = DemoOrigin().race(list(data.COMPRESSORS), options, progress=not shown.quiet)
        write_picture(result.plot(), picture.path, dpi=150)
        remark(f"Wrote {file_name(store)} and {file_name(picture.path)}.")
        hint_to_continue(result, store)
        finish(result, shown.as_json, page)


def _introduction(n_files: int, continued: bool) -> str:
    text = (
        f"Which of {len(data.COMPRESSORS)} compressors saves most on the {n_files:,} source files of Python's standard "
        "library? All are tried on the same files, in random order; those that are beaten leave."
    )
    return f"{text} A race is saved already: it continues where it stopped." if continued else text
