"""The commands for planning and research: plan, reproduce, limit, validate."""

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Group
from rich.live import Live
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.spinner import Spinner
from rich.text import Text

import bestarm
from bestarm.checks import check_bounds, check_count, check_delta, check_seed
from bestarm.cli.app import RACES, RESEARCH, app, clear_errors
from bestarm.cli.options import GoalOptions, TableBounds, TableOptions, interval, with_options
from bestarm.cli.streams import PICTURE, WantedFile, remark, remarks, results, say, say_json, table_of
from bestarm.errors import ParameterError
from bestarm.planning import refining_plans
from bestarm.sources.tables import by_group, check_n_columns, check_within, table_bounds, without_gaps
from bestarm.studies.output import headings_of
from bestarm.text import file_name
from bestarm.values import Array


@contextmanager
def progress_bar(title: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show somebody at a terminal how many steps of a study are done; yields what is to be called after each."""
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    console = remarks()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


@app.command(
    epilog="Exit codes: 0 there is an estimate, 2 usage or bad input.",
    rich_help_panel=RACES,
)
@with_options
def plan(
    pilot: Annotated[Path, typer.Argument(help="Scores on a few items, as .csv, .tsv, .jsonl, .ndjson or .parquet.")],
    *,
    columns: TableOptions,
    bounds: str | None = None,
    n_items: Annotated[
        int | None, typer.Option(help="Number of items, if the race will be on a list. If omitted, on fresh items.")
    ] = None,
    goal: GoalOptions,
    max_evaluations: Annotated[
        int | None, typer.Option(help="A budget: how likely is an answer within it, and which leads would be found?")
    ] = None,
    repetitions: Annotated[int, typer.Option(help="Number of simulated races; fewer where they are long.")] = 600,
    as_json: bool = False,
) -> None:
    """How many evaluations will a race like this pilot need?

    Example: `bestarm plan pilot.csv --bounds 0,1 --n-items 2000`

    What 500 evaluations would find: `bestarm plan pilot.csv --max-evaluations 500`
    """
    with clear_errors():
        plans = refining_plans(
            columns.read(pilot),
            bounds=interval(bounds),
            missing=columns.missing,
            n_items=n_items,
            max_evaluations=max_evaluations,
            repetitions=repetitions,
            **vars(goal),
        )
        planned = _last_plan(plans)
        if as_json:
            say_json(json.dumps(planned.to_dict(), indent=2))
        else:
            estimate, _, more = str(planned).partition("\n")
            say(estimate, "bold")
            say(more)


def _last_plan(plans: Iterator[bestarm.Plan]) -> bestarm.Plan:
    """The refined plan; somebody at a terminal sees the first one until it is there."""
    with Live(Spinner("dots", "racing on resampled items"), console=remarks(), transient=True) as live:
        for planned in plans:
            live.update(Group(Text(f"{planned}\n"), Spinner("dots", "a first answer from few races; refining it")))
    return planned


reproduce = typer.Typer(help="Reproduce the paper's Figure 1, or study its Convex-BAI.", no_args_is_help=True)
app.add_typer(reproduce, name="reproduce", rich_help_panel=RESEARCH)
Seed = Annotated[int, typer.Option(help="Seed for all games.")]
Folder = Annotated[Path, typer.Option(help="Folder for the table (.csv) and the picture (.png).")]


class SideOption(StrEnum):
    """Which panel of Figure 1."""

    left = "left"
    right = "right"
    both = "both"


def _check_games(repetitions: int, seed: int) -> None:
    check_count("repetitions", repetitions, least=2)
    check_seed(seed)


def _check_folder(folder: Path, name: str, records: type, overwrite: bool, picture: bool = True) -> None:
    """Make the folder of a study, and refuse to replace other files there."""
    folder.mkdir(parents=True, exist_ok=True)
    WantedFile(folder / f"{name}.csv", table_of(headings_of(records)), overwrite=overwrite)
    if picture:
        WantedFile(folder / f"{name}.png", PICTURE, overwrite=overwrite)


@reproduce.command()
@with_options
def figure1(
    side: Annotated[SideOption, typer.Option(help="Which panel.")] = SideOption.both,
    repetitions: Annotated[int, typer.Option(help="Games for each bar.")] = 100,
    delta: float = 0.1,
    seed: Seed = 0,
    keep: Annotated[
        float,
        typer.Option(
            help="Pairwise-BAI+ queries a dropped arm up to this multiple of its last round; 82 in the theorem."
        ),
    ] = 2.0,
    sharp: Annotated[
        bool, typer.Option("--sharp", help="Add the Student mixture and symmetric bets, with the same guarantee.")
    ] = False,
    output: Folder = Path("figures"),
    overwrite: bool = False,
) -> None:
    """Figure 1: mean queries of the paper's algorithms against correlation and against clusters."""
    from bestarm.studies import figure1 as study

    with clear_errors():
        players = study.algorithms(delta, keep, sharp)
        _check_games(repetitions, seed)
        _check_folder(output, "figure1", study.Bar, overwrite)
        where = study.scenarios(("left", "right") if side is SideOption.both else (side.value,))
        with progress_bar("figure 1", len(where) * len(players)) as on_step:
            bars = study.run(players, where, delta, repetitions, seed, on_step)
        study.present(bars, output, results())


@reproduce.command()
@with_options
def convex(
    repetitions: Annotated[int, typer.Option(help="Games of the sharp rules at each point.")] = 20,
    delta: float = 0.05,
    seed: Seed = 0,
    gap: Annotated[list[float], typer.Option(help="Gaps of the last arm; repeat the option for several.")] = [],  # noqa: B006
    output: Folder = Path("figures"),
    overwrite: bool = False,
) -> None:
    """Appendix B: an arm that is nearly an average of others, against pairs and against combinations."""
    from bestarm.studies import convex as study

    with clear_errors():
        players = study.algorithms(delta)
        _check_games(repetitions, seed)
        for value in gap:
            if not 0 < value <= 0.25:
                raise ParameterError("gap", f"must lie above 0 and be at most 0.25, got {value!r}", value)
        _check_folder(output, "convex", study.Point, overwrite)
        gaps = sorted(set(gap), reverse=True) or study.GAPS
        with progress_bar("convex", 2 * len(gaps) * len(players)) as on_step:
            points = study.run(delta, repetitions, seed, gaps, on_step)
        study.present(points, output, results())


FIGURE1 = "figure1"


@dataclass(frozen=True)
class ScaleOptions:
    """What the scores of a table mean."""

    bounds: TableBounds = None
    lower_is_better: bool = False


@dataclass(frozen=True)
class GameOptions:
    """The games that are played."""

    delta: float = 0.05
    repetitions: Annotated[int, typer.Option(help="Games of each rule; the paper's rules play a tenth of them.")] = 200
    seed: Seed = 0


@app.command(epilog="Exit codes: 0 everything was measured, 2 usage or bad input.", rich_help_panel=RESEARCH)
@with_options
def limit(
    what: Annotated[str, typer.Argument(help="A score table, read as by `table`; or figure1.", metavar="FILE|figure1")],
    *,
    columns: TableOptions,
    scale: ScaleOptions,
    games: GameOptions,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also write a picture (.png).")] = None,
    overwrite: bool = False,
    as_json: bool = False,
) -> None:
    """How far are the rules from what is possible? Their mean queries beside limits that are computed from the law.

    On a table, its rows (or groups) drawn with replacement, beside an oracle: `bestarm limit scores.csv -o limit.png`

    With figure1 in place of a file, in the settings of the paper's Figure 1: beside a lower bound for every rule.
    """
    from bestarm.studies import limit as study

    with clear_errors():
        check_delta(games.delta)
        _check_games(games.repetitions, games.seed)
        picture = None if output is None else WantedFile(output, PICTURE, [Path(what)], overwrite)
        if what == FIGURE1 and (columns != TableOptions() or scale != ScaleOptions()):
            raise ValueError("figure1 takes no options for tables: its arms are those of the paper")
        scores = None if what == FIGURE1 else _unit_scores(Path(what), columns, scale)
        with progress_bar("rules and limits") as on_step:
            played = study.Study(**vars(games), on_step=on_step)
            cases = study.figure1_cases(played) if scores is None else [study.table_case(scores, played)]
        if as_json:
            say_json(study.limit_json(cases, games.delta, games.seed))
        else:
            say(study.headline(cases), "bold")
            results().print(study.limit_table(cases, games.delta))
            say(study.note(cases))
        if picture is not None:
            picture.check()  # games take a while
            study.plot_limit(cases, picture.path)
            remark(f"Wrote {file_name(picture.path)}.")


def _unit_scores(path: Path, columns: TableOptions, scale: ScaleOptions) -> Array:
    """The scores of a table, scaled to [0, 1], more is better."""
    table = columns.read(path)
    check_n_columns(table)
    given = interval(scale.bounds)
    low, high = table_bounds(table) if given is None else check_bounds(given)
    within = check_within(table, (low, high))
    whole, _ = by_group(without_gaps(within, columns.missing, (low, high), scale.lower_is_better))
    scaled = np.clip((whole.scores - low) / (high - low), 0.0, 1.0)
    return 1.0 - scaled if scale.lower_is_better else scaled


@app.command(
    epilog="Exit codes: 0 no cell speaks against the guarantee, 1 the study rejects it, 2 usage.",
    rich_help_panel=RESEARCH,
)
@with_options
def validate(
    games: Annotated[int, typer.Option(help="Games for each cell.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the study.")] = 0,
    arms: Annotated[list[int], typer.Option(help="Numbers of arms; repeat the option for several.")] = [2, 10, 50],  # noqa: B006
    output: Annotated[Path, typer.Option(help="Folder for validate.csv.")] = Path("figures"),
    overwrite: bool = False,
) -> None:
    """Study the guarantee: error rates over a grid of comparisons, kinds of arms, numbers of arms and delta."""
    from bestarm.studies import validate as study

    with clear_errors():
        check_count("games", games)
        check_seed(seed)
        if unknown := set(arms) - set(study.HORIZON):
            among = ", ".join(map(str, study.HORIZON))
            raise ParameterError("arms", f"must be among {among}, got {min(unknown)}", min(unknown))
        _check_folder(output, "validate", study.CellResult, overwrite, picture=False)
        warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # some cells are meant to misfit
        grid, measured = list(study.cells(sorted(set(arms)))), []
        with progress_bar("cells", len(grid)) as on_step:
            for k, cell in enumerate(grid):
                measured.append(study.measure(cell, games, seed * len(grid) + k))
                on_step()
        passed = study.present(measured, output, results())
    if not passed:
        raise typer.Exit(1)
