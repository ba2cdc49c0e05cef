"""`bestarm show`: a race on disk."""

import bestarm
from bestarm.cli.app import EXIT_CODES, app, clear_errors, finish
from bestarm.cli.options import Json, RaceFile


@app.command(epilog=EXIT_CODES)
def show(file: RaceFile, as_json: Json = False) -> None:
    """Show a race on disk, finished or not; the file is left as it is."""
    with clear_errors():
        result = bestarm.load_result(file)
    finish(result, as_json)
