"""`bestarm report`: the page of a saved race."""

from pathlib import Path
from typing import Annotated

import typer

import bestarm
from bestarm.cli.app import SAVED, app, check_page, clear_errors, show_result, write_page
from bestarm.cli.options import Json, RaceFile


@app.command(epilog="Exit codes: 0 the page is written, 2 usage or bad input.", rich_help_panel=SAVED)
def report(
    file: RaceFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML page to write.")] = Path("race.html"),
    as_json: Json = False,
) -> None:
    """Write a saved race as one self-contained HTML page.

    Example: `bestarm report race.sqlite -o race.html`
    """
    with clear_errors():
        check_page(output)
        result = bestarm.load_result(file)
        write_page(result, output, file)
    if as_json:
        show_result(result, as_json)
