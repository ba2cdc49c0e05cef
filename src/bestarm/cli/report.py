"""`bestarm report`: the page of a race on disk."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

import bestarm
from bestarm.cli.app import app, clear_errors, show_result, write_page
from bestarm.cli.options import Json, RaceFile


@app.command(epilog="Exit codes: 0 the page is written, 2 bad input.")
def report(
    file: RaceFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML page to write.")] = Path("race.html"),
    as_json: Json = False,
) -> None:
    """Write a race on disk as one self-contained HTML page.

    Example: `bestarm report race.sqlite -o race.html`
    """
    with clear_errors():
        result = bestarm.load_result(file)
        write_page(result, output, file)
    if as_json:
        show_result(result, as_json, Console())
    else:
        Console().print(Text(f"Wrote {output}."), soft_wrap=True)
