"""`bestarm demo`, `run`, `resume` and `show`: races on real candidates."""

import importlib
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

import bestarm
from bestarm.cli.app import (
    EXIT_CODES,
    Delta,
    Epsilon,
    Json,
    Lower,
    MaxQueries,
    OnError,
    Quiet,
    Retries,
    Seed,
    Zone,
    app,
    clear_errors,
    exit_code,
    interval,
    lines_of,
    show_result,
)
from bestarm.cli.tools import race_stored_commands
from bestarm.racing import RaceResult
from bestarm.racing.demo import COMPRESSORS, EPSILON, bytes_saved, source_files
from bestarm.racing.settings import decode
from bestarm.racing.store import read_store


@app.command(epilog=EXIT_CODES)
def demo(
    output: Annotated[Path, typer.Option(help="Folder for the store, the picture and the page.")] = Path("demo"),
    seed: Seed = 0,
    delta: Delta = 0.05,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Race eight compressors on the source files of Python's standard library.

    The score is the share of bytes saved, and the race ends when the leader is shown to be within 0.002 of the best.
    Nothing is downloaded; the race is stored, so that it can be stopped with Ctrl-C and continued by the same command.
    """
    store = output / "race.sqlite"
    console = Console()
    with clear_errors():
        bestarm.checks.check_open_unit("delta", delta)
        bestarm.checks.check_count("seed", seed, least=0)
        output.mkdir(parents=True, exist_ok=True)
        if not as_json:
            console.print(_introduction(len(source_files()), store.exists()), highlight=False)
        result = _race_demo(store, seed, delta, not quiet)
        result.plot().savefig(output / "race.png", dpi=150)
        result.to_html(output / "report.html")
    show_result(result, as_json, console)
    if not as_json:
        console.print(
            Text(f"Wrote {store}, {output / 'race.png'} and {output / 'report.html'}: open the last one."),
            soft_wrap=True,
        )
    raise typer.Exit(exit_code(result))


def _introduction(n_files: int, continued: bool) -> str:
    text = (
        f"Which of {len(COMPRESSORS)} compressors saves most on the {n_files:,} source files of Python's standard "
        "library? All are tried on the same files, in random order; who is beaten leaves.\n"
    )
    return text + "[dim]A race is stored already: it goes on where it stopped.[/dim]\n" if continued else text


def _race_demo(store: Path, seed: int, delta: float, progress: bool, max_queries: int | None = None) -> RaceResult:
    return bestarm.race(
        bytes_saved,
        list(COMPRESSORS),
        source_files(),
        bounds=(0.0, 1.0),
        epsilon=EPSILON,
        delta=delta,
        seed=seed,
        max_queries=max_queries,
        store=store,
        progress=progress,
        source={"kind": "demo"},
    )


@app.command(epilog=EXIT_CODES)
def run(
    function: Annotated[str, typer.Argument(help="The function, as `module:function`, called with (arm, item).")],
    arms: Annotated[str, typer.Option(help="Names of the arms, separated by commas.")],
    items: Annotated[Path | None, typer.Option(help="One item a line; without, each round has a seed.")] = None,
    delta: Delta = 0.05,
    bounds: Annotated[str | None, typer.Option(help="The interval that scores lie in, as `low,high`.")] = None,
    lower_is_better: Lower = False,
    epsilon: Epsilon = 0.0,
    indifference_zone: Zone = 0.0,
    max_queries: MaxQueries = None,
    workers: Annotated[int, typer.Option(help="Processes that evaluate in parallel.")] = 1,
    in_flight: Annotated[int | None, typer.Option(help="Rounds evaluated at a time.")] = None,
    retries: Retries = 0,
    on_error: OnError = "raise",
    jointly: Annotated[bool, typer.Option("--jointly", help="The function takes all arms at once.")] = False,
    store: Annotated[Path | None, typer.Option(help="SQLite file to keep the race in, and to continue.")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Race the arms of a function: which is best on these items?

    Example: `bestarm run mybench:score --arms fast,exact,hybrid --items instances.txt --bounds 0,1 --store race.sqlite`
    """
    source = {
        "kind": "function",
        "function": function,
        "items": None if items is None else str(items.resolve()),
        "folder": str(Path.cwd()),
        "jointly": jointly,
        "retries": retries,
        "workers": workers,
    }
    with clear_errors():
        result = race_function(
            source,
            [name.strip() for name in arms.split(",")],
            delta=delta,
            bounds=interval(bounds),
            lower_is_better=lower_is_better,
            epsilon=epsilon,
            indifference_zone=indifference_zone,
            max_queries=max_queries,
            in_flight=in_flight,
            on_error=on_error,
            store=store,
            seed=seed,
            progress=not quiet,
        )
    show_result(result, as_json, Console())
    raise typer.Exit(exit_code(result))


def race_function(source: dict[str, Any], arms: list[str], **settings: Any) -> RaceResult:
    """Race a function that is named, on the lines of a file."""
    evaluate = _imported(source["function"], source["folder"])
    items = None if source["items"] is None else lines_of(Path(source["items"]))
    bestarm.checks.check_count("workers", source["workers"])
    with ExitStack() as stack:
        executor = stack.enter_context(ProcessPoolExecutor(source["workers"])) if source["workers"] > 1 else None
        return bestarm.race(
            evaluate,
            arms,
            items,
            executor=executor,
            jointly=source["jointly"],
            retries=source["retries"],
            source=source,
            **settings,
        )


def _imported(name: str, folder: str) -> Callable[..., Any]:
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise ValueError(f"the function must be given as module:function, got {name!r}")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ImportError(f"there is no module {error.name!r} in {folder} or among the installed ones") from error
    except Exception as error:  # whatever a module of the user does when it is imported
        raise ImportError(f"the module {module_name!r} cannot be imported: {type(error).__name__}: {error}") from error
    if not hasattr(module, function_name):
        raise ImportError(f"the module {module_name!r} has no function {function_name!r}")
    function: Callable[..., Any] = getattr(module, function_name)
    return function


File = Annotated[Path, typer.Argument(help="A race on disk.")]


@app.command(epilog=EXIT_CODES)
def show(file: File, as_json: Json = False) -> None:
    """Show a race on disk, finished or not; the file is left as it is."""
    with clear_errors():
        result = bestarm.load_result(file)
    show_result(result, as_json, Console())
    raise typer.Exit(exit_code(result))


@app.command(epilog=EXIT_CODES)
def resume(
    file: File,
    max_queries: MaxQueries = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Continue a race on disk that was started from the command line.

    Races that were started from Python continue when the same call of `bestarm.race` is made again.
    """
    with clear_errors():
        stored = read_store(file)
        settings = stored.settings
        source = settings["source"]
        if source is None or "kind" not in source:
            raise ValueError(f"the race in {file} was started from Python: make the same call of bestarm.race again")
        limit = settings["max_queries"] if max_queries is None else max_queries
        if source["kind"] == "demo":
            result = _race_demo(file, settings["seed"], settings["algorithm"]["delta"], not quiet, limit)
        elif source["kind"] == "commands":
            result = race_stored_commands(stored, file, limit, not quiet)
        else:
            result = race_function(
                source,
                list(stored.arms),
                algorithm=decode(settings["algorithm"]),
                lower_is_better=settings["lower_is_better"],
                on_error=settings["on_error"],
                max_queries=limit,
                store=file,
                seed=settings["seed"],
                progress=not quiet,
            )
    show_result(result, as_json, Console())
    raise typer.Exit(exit_code(result))
