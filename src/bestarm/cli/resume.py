"""`bestarm resume`: continue a race on disk."""

from bestarm.cli.app import EXIT_CODES, app, clear_errors, finish
from bestarm.cli.options import MaxQueries, Output, RaceFile, grouped
from bestarm.inputs.options import Options
from bestarm.racing.origins import origin_of
from bestarm.racing.settings import RaceSettings
from bestarm.racing.sqlite_store import read_store


@app.command(epilog=EXIT_CODES)
@grouped
def resume(
    file: RaceFile,
    *,
    max_queries: MaxQueries = None,
    shown: Output,
) -> None:
    """Continue a race on disk that was started from the command line.

    Races that were started from Python continue when the same call of `bestarm.race` is made again.
    """
    with clear_errors():
        stored = read_store(file)
        origin = origin_of(stored.settings["source"])
        if origin is None:
            raise ValueError(f"the race in {file} was started from Python: make the same call of bestarm.race again")
        settings = RaceSettings.from_plain(stored.settings)
        options = Options(
            algorithm=settings.algorithm,
            lower_is_better=settings.lower_is_better,
            on_error=settings.on_error,
            max_queries=settings.max_queries if max_queries is None else max_queries,
            seed=settings.seed,
            store=file,
        )
        result = origin.race(stored.arms, options, progress=not shown.quiet)
    finish(result, shown.as_json)
