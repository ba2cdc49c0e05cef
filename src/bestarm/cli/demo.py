"""`bestarm demo`: eight compressors on the files of the standard library."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from bestarm.checks import check_count, check_open_unit
from bestarm.cli.app import EXIT_CODES, app, clear_errors, exit_code, show_result
from bestarm.cli.options import Delta, Output, Seed, grouped
from bestarm.experiments import compressors as data
from bestarm.inputs.options import Options
from bestarm.racing.origins import DemoOrigin


@app.command(epilog=EXIT_CODES)
@grouped
def demo(
    *,
    output: Annotated[Path, typer.Option(help="Folder for the store, the picture and the page.")] = Path("demo"),
    seed: Seed = 0,
    delta: Delta = 0.05,
    shown: Output,
) -> None:
    """Race eight compressors on the source files of Python's standard library.

    The score is the share of bytes saved, and the race ends when the leader is shown to be within 0.002 of the best.
    Nothing is downloaded; the race is stored, so that it can be stopped with Ctrl-C and continued by the same command.
    """
    store = output / "race.sqlite"
    console = Console()
    with clear_errors():
        check_open_unit("delta", delta)
        check_count("seed", seed, least=0)
        output.mkdir(parents=True, exist_ok=True)
        if not shown.as_json:
            console.print(_introduction(len(data.source_files()), store.exists()), highlight=False)
        options = Options(delta=delta, bounds=(0.0, 1.0), epsilon=data.EPSILON, seed=seed, store=store)
        result = DemoOrigin().race(list(data.COMPRESSORS), options, progress=not shown.quiet)
        result.plot().savefig(output / "race.png", dpi=150)
        result.to_html(output / "report.html")
    show_result(result, shown.as_json, console)
    if not shown.as_json:
        wrote = f"Wrote {store}, {output / 'race.png'} and {output / 'report.html'}: open the last one."
        console.print(Text(wrote), soft_wrap=True)
    raise typer.Exit(exit_code(result))


def _introduction(n_files: int, continued: bool) -> str:
    text = (
        f"Which of {len(data.COMPRESSORS)} compressors saves most on the {n_files:,} source files of Python's standard "
        "library? All are tried on the same files, in random order; who is beaten leaves.\n"
    )
    return text + "[dim]A race is stored already: it goes on where it stopped.[/dim]\n" if continued else text
