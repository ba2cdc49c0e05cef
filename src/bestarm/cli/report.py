"""`bestarm report`: the page of a saved race."""

from pathlib import Path
from typing import Annotated

import typer

import bestarm
from bestarm.cli.app import SAVED, app, clear_errors, show_result, write_page
from bestarm.cli.options import Json, Overwrite, RaceFile
from bestarm.cli.outputs import PAGE, WantedFile, files_of_store


@app.command(epilog="Exit codes: 0 the page is written, 2 usage or bad input.", rich_help_panel=SAVED)
def report(
    file: RaceFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML page to write.")] = Path("race.html"),
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write a saved race as one self-contained HTML page.

    Example: `bestarm report race.sqlite -o race.html`
    """
    with clear_errors():
        page = WantedFile(output, PAGE, files_of_store(file), overwrite)
        page.check()
        result = bestarm.load_result(file)
        write_page(result, page)
    if as_json:
        show_result(result, as_json)
