"""`bestarm resume`: continue a saved race."""

from bestarm.cli.app import EXIT_CODES, SAVED, app, clear_errors, finish, hint_to_continue
from bestarm.cli.options import MaxEvaluations, Output, RaceFile, announce_items, grouped
from bestarm.cli.outputs import files_of_store, files_read, wanted_page
from bestarm.inputs.options import Options
from bestarm.racing.origins import origin_of
from bestarm.racing.settings import RaceSettings, present_settings
from bestarm.racing.sqlite_store import read_store


@app.command(epilog=EXIT_CODES, rich_help_panel=SAVED)
@grouped
def resume(
    file: RaceFile,
    *,
    max_evaluations: MaxEvaluations = None,
    shown: Output,
) -> None:
    """Continue a saved race that was started from the command line.

    Races started from Python are continued by making the same call in Python again.
    """
    with clear_errors():
        stored = read_store(file)
        source = present_settings(stored.settings)["source"]
        inputs = [*files_read(source or {}, stored.arms), *files_of_store(file)]
        page = wanted_page(shown.report, inputs, shown.overwrite)
        origin = origin_of(source)
        if origin is None:
            raise ValueError(f"the race in {file} was started from Python: make the same call there again")
        announce_items(source.get("items"))
        settings = RaceSettings.from_plain(stored.settings)
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
        hint_to_continue(result, file)
        finish(result, shown.as_json, page)
