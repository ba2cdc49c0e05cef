"""`bestarm show`: a saved race."""

import bestarm
from bestarm.cli.app import EXIT_CODES, SAVED, app, clear_errors, finish
from bestarm.cli.options import Json, RaceFile


@app.command(epilog=EXIT_CODES, rich_help_panel=SAVED)
def show(file: RaceFile, as_json: Json = False) -> None:
    """Show a saved race, finished or not; the file is not changed."""
    with clear_errors():
        result = bestarm.load_result(file)
    finish(result, as_json)
