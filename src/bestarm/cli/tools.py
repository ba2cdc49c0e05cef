"""`bestarm table`, `commands`, `plan` and `report`: the race on what people already have."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
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
from bestarm.racing import RaceResult, ScoreTable, plan, race_commands, race_table, read_table
from bestarm.racing.commands import TIMEOUT
from bestarm.racing.settings import decode
from bestarm.racing.store import Stored
from bestarm.racing.table import without_gaps

Item = Annotated[str | None, typer.Option(help="The column that holds the items.")]
Arm = Annotated[str | None, typer.Option(help="Of a long table: the column that holds the arms.")]
Score = Annotated[str | None, typer.Option(help="Of a long table: the column that holds the scores.")]
Missing = Annotated[str, typer.Option(help="Missing cells: refuse, worst (they count as the worst) or drop-items.")]
Report = Annotated[Path | None, typer.Option(help="Write the result as an HTML page too.")]


@app.command(epilog=EXIT_CODES)
def table(
    file: Annotated[Path, typer.Argument(help="Scores as .csv, .tsv, .jsonl or .parquet; one row an item.")],
    item: Item = None,
    arm: Arm = None,
    score: Score = None,
    bounds: Annotated[
        str, typer.Option(help="The interval that scores lie in: `table` (its own), `low,high`, or `none` (Gaussian).")
    ] = "table",
    delta: Delta = 0.05,
    lower_is_better: Lower = False,
    epsilon: Epsilon = 0.0,
    indifference_zone: Zone = 0.0,
    missing: Missing = "refuse",
    seed: Annotated[int, typer.Option(help="Seed of the order of the rows.")] = 0,
    report: Report = None,
    as_json: Json = False,
) -> None:
    """Who is best in a recorded score table, and how few of the evaluations would have been enough?

    Wide, one column an arm: `bestarm table scores.csv`

    Long, one row a score: `bestarm table runs.csv --item task --arm model --score accuracy`
    """
    with clear_errors():
        scores = read_table(file, item, arm, score)
        result = race_table(
            scores,
            delta=delta,
            bounds={"table": "table", "none": None}.get(bounds) if bounds in ("table", "none") else interval(bounds),
            lower_is_better=lower_is_better,
            epsilon=epsilon,
            indifference_zone=indifference_zone,
            missing=missing,
            seed=seed,
        )
        _finish(result, as_json, report, file, None if as_json else whole_table(scores, missing, result))


def whole_table(scores: ScoreTable, missing: str, result: RaceResult) -> str:
    """What all scores of a table say, to compare with what some of them said."""
    lower_is_better = result.race_settings.lower_is_better
    limits = getattr(getattr(result.race_settings.algorithm, "comparison", None), "bounds", None)
    means = without_gaps(scores, missing, limits, lower_is_better).scores.mean(axis=0)
    order = np.argsort(means if lower_is_better else -means, kind="stable")
    first, second = (f"{scores.arms[arm]} ({means[arm]:.4g})" for arm in order[:2])
    return f"Over the whole table {first} has the best mean, then {second}."


@app.command(epilog=EXIT_CODES)
def commands(
    programs: Annotated[list[str], typer.Argument(help="Commands, in which {item} stands for the item.")],
    items: Annotated[Path | None, typer.Option(help="One item a line; without, each round has a seed.")] = None,
    score: Annotated[str, typer.Option(help="time (wall time, less is better) or stdout (the last number).")] = "time",
    timeout: Annotated[float, typer.Option(help="Seconds after which a program is killed.")] = TIMEOUT,
    bounds: Annotated[str | None, typer.Option(help="The interval that scores lie in, as `low,high`.")] = None,
    delta: Delta = 0.05,
    lower_is_better: Lower = False,
    epsilon: Epsilon = 0.0,
    indifference_zone: Zone = 0.0,
    max_queries: MaxQueries = None,
    retries: Retries = 0,
    on_error: OnError = "raise",
    store: Annotated[Path | None, typer.Option(help="SQLite file to keep the race in, and to continue.")] = None,
    seed: Seed = 0,
    report: Report = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Which program is best? Run without a shell, on the same items, in a random order inside each round.

    Fastest: `bestarm commands "gzip -kc {item}" "xz -kc {item}" --items files.txt --epsilon 0.001`

    Best by what it prints: `bestarm commands "./a {item}" "./b {item}" --items cases.txt --score stdout`
    """
    source = {
        "kind": "commands",
        "items": None if items is None else str(items.resolve()),
        "folder": str(Path.cwd()),
        "score": score,
        "timeout": timeout,
        "retries": retries,
    }
    with clear_errors():
        result = race_commands(
            programs,
            None if items is None else lines_of(items),
            score=score,
            timeout=timeout,
            folder=Path.cwd(),
            delta=delta,
            bounds=interval(bounds),
            lower_is_better=lower_is_better or score == "time",
            epsilon=epsilon,
            indifference_zone=indifference_zone,
            max_queries=max_queries,
            retries=retries,
            on_error=on_error,
            store=store,
            seed=seed,
            progress=not quiet,
            source=source,
        )
        _finish(result, as_json, report, store)


def race_stored_commands(stored: Stored, file: Path, max_queries: int | None, progress: bool) -> RaceResult:
    """Continue a race of commands."""
    settings, source = stored.settings, stored.settings["source"]
    return race_commands(
        stored.arms,
        None if source["items"] is None else lines_of(Path(source["items"])),
        score=source["score"],
        timeout=source["timeout"],
        folder=source["folder"],
        retries=source["retries"],
        algorithm=decode(settings["algorithm"]),
        lower_is_better=settings["lower_is_better"],
        on_error=settings["on_error"],
        max_queries=max_queries,
        store=file,
        seed=settings["seed"],
        progress=progress,
        source=source,
    )


@app.command("plan", epilog="Exit codes: 0 there is a plan, 2 bad input, 3 the pilot is too small to plan with.")
def plan_command(
    pilot: Annotated[Path, typer.Argument(help="Scores of some items: .csv, .tsv, .jsonl or .parquet.")],
    item: Item = None,
    arm: Arm = None,
    score: Score = None,
    bounds: Annotated[str | None, typer.Option(help="The interval that scores lie in, as `low,high`.")] = None,
    delta: Delta = 0.05,
    lower_is_better: Lower = False,
    epsilon: Epsilon = 0.0,
    indifference_zone: Zone = 0.0,
    missing: Missing = "refuse",
    repetitions: Annotated[int, typer.Option(help="Races of each rule on resampled items.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0,
    as_json: Json = False,
) -> None:
    """How many evaluations will a race like this pilot need?

    Example: `bestarm plan pilot.csv --delta .05 --bounds 0,1`
    """
    console = Console()
    with clear_errors():
        with Console(stderr=True).status("racing on resampled items"):
            planned = plan(
                read_table(pilot, item, arm, score),
                delta=delta,
                bounds=interval(bounds),
                lower_is_better=lower_is_better,
                epsilon=epsilon,
                indifference_zone=indifference_zone,
                missing=missing,
                repetitions=repetitions,
                seed=seed,
            )
        if as_json:
            console.file.write(json.dumps(planned.to_dict(), indent=2) + "\n")
        else:
            console.print(Text(str(planned)), soft_wrap=True)
    raise typer.Exit(0 if planned.large_enough else 3)


@app.command(epilog="Exit codes: 0 the page is written, 2 bad input.")
def report(
    file: Annotated[Path, typer.Argument(help="A race on disk, finished or not.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML page to write.")] = Path("race.html"),
    as_json: Json = False,
) -> None:
    """Write a race on disk as one self-contained HTML page.

    Example: `bestarm report race.sqlite -o race.html`
    """
    with clear_errors():
        result = bestarm.load_result(file)
        _write_page(result, output, file)
    if as_json:
        show_result(result, as_json, Console())
    else:
        Console().print(Text(f"Wrote {output}."), soft_wrap=True)


def _write_page(result: RaceResult, page: Path, source: Path | None) -> None:
    """Write the page of a result, but never over the file that the result is from."""
    if source is not None and page.exists() and source.exists() and page.samefile(source):
        raise ValueError(f"{page} is the file that the race is from: give the page another name")
    result.to_html(page)


def _finish(
    result: RaceResult, as_json: bool, page: Path | None, source: Path | None, remark: str | None = None
) -> None:
    """Print a result, write its page if one is wanted, and end with its exit code."""
    console = Console()
    show_result(result, as_json, console)  # first: a page that cannot be written loses nothing
    if remark is not None:
        console.print(Text(remark))
    if page is not None:
        _write_page(result, page, source)
        if not as_json:
            console.print(Text(f"Wrote {page}."), soft_wrap=True)
    raise typer.Exit(exit_code(result))
