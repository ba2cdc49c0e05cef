"""The commands for planning and research: plan, reproduce, limit, validate."""

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Group
from rich.live import Live
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.spinner import Spinner
from rich.text import Text

import bestarm
from bestarm.checks import check_bounds, check_count, check_delta, check_seed
from bestarm.cli.app import RACES, RESEARCH, app, clear_errors
from bestarm.cli.options import Aim, Bounds, Columns, Delta, Json, Overwrite, TableBounds, grouped, interval
from bestarm.cli.streams import PICTURE, WantedFile, remark, remarks, results, say, say_json, table_of
from bestarm.planning import refining_plans
from bestarm.sources.tables import by_group, check_n_columns, check_within, table_bounds, without_gaps
from bestarm.studies.output import headings_of
from bestarm.text import shown

if TYPE_CHECKING:
    from bestarm.studies.limit import Case, Games


@app.command(
    epilog="Exit codes: 0 there is a plan, 2 usage or bad input, 3 undecided: the pilot is too small to plan with.",
    rich_help_panel=RACES,
)
@grouped
def plan(
    pilot: Annotated[Path, typer.Argument(help="Scores on a few items, as .csv, .tsv, .jsonl, .ndjson or .parquet.")],
    *,
    columns: Columns,
    bounds: Bounds = None,
    n_items: Annotated[
        int | None, typer.Option(help="Number of items, if the race will be on a list. If omitted, on fresh items.")
    ] = None,
    aim: Aim,
    max_evaluations: Annotated[
        int | None, typer.Option(help="A budget: how likely is an answer within it, and which leads would be found?")
    ] = None,
    repetitions: Annotated[int, typer.Option(help="Number of simulated races; fewer where they are long.")] = 600,
    as_json: Json = False,
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
            **vars(aim),
        )
        planned = _last_plan(plans)
        if as_json:
            say_json(json.dumps(planned.to_dict(), indent=2))
        else:
            say(str(planned), soft_wrap=True)
    raise typer.Exit(0 if planned.large_enough else 3)


def _last_plan(plans: Iterator[bestarm.Plan]) -> bestarm.Plan:
    """The refined plan; somebody at a terminal sees the first one until it is there."""
    waiting = Spinner("dots", "racing on resampled items")
    shown = Live(waiting, console=remarks(), transient=True)
    with shown:
        for planned in plans:
            shown.update(Group(Text(f"{planned}\n"), Spinner("dots", "a first answer from few races; refining it")))
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


def _check(repetitions: int, seed: int) -> None:
    check_count("repetitions", repetitions, least=2)
    check_seed(seed)


def _check_files(folder: Path, name: str, records: type, overwrite: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    WantedFile(folder / f"{name}.csv", table_of(headings_of(records)), overwrite=overwrite).check()
    WantedFile(folder / f"{name}.png", PICTURE, overwrite=overwrite).check()


@reproduce.command()
def figure1(
    side: Annotated[SideOption, typer.Option(help="Which panel.")] = SideOption.both,
    repetitions: Annotated[int, typer.Option(help="Games for each bar.")] = 100,
    delta: Delta = 0.1,
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
    overwrite: Overwrite = False,
) -> None:
    """Figure 1: mean queries of the paper's algorithms against correlation and against clusters."""
    from bestarm.studies import figure1 as experiment
    from bestarm.studies.figure1 import present

    with clear_errors():
        players = experiment.algorithms(delta, keep, sharp)
        _check(repetitions, seed)
        _check_files(output, "figure1", experiment.Bar, overwrite)
    where = experiment.scenarios(("left", "right") if side is SideOption.both else (side.value,))
    with Progress(console=remarks(), transient=True) as progress:
        task = progress.add_task("figure 1", total=len(where) * len(players))
        bars = experiment.run(players, where, delta, repetitions, seed, on_bar=lambda bar: progress.advance(task))
    with clear_errors():
        present(bars, output, results())


@reproduce.command()
def convex(
    repetitions: Annotated[int, typer.Option(help="Games of the sharp rules at each point.")] = 20,
    delta: Delta = 0.05,
    seed: Seed = 0,
    gap: Annotated[list[float], typer.Option(help="Gaps of the last arm; repeat the option for several.")] = [],  # noqa: B006
    output: Folder = Path("figures"),
    overwrite: Overwrite = False,
) -> None:
    """Appendix B: an arm that is nearly an average of others, against pairs and against combinations."""
    from bestarm.studies import convex as experiment
    from bestarm.studies.convex import present

    with clear_errors():
        players = experiment.algorithms(delta)
        _check(repetitions, seed)
        for value in gap:
            if not 0 < value <= 0.25:
                raise ValueError(f"gap must lie above 0 and be at most 0.25, got {value!r}")
        _check_files(output, "convex", experiment.Point, overwrite)
    gaps = sorted(set(gap), reverse=True) or experiment.GAPS
    with Progress(console=remarks(), transient=True) as progress:
        task = progress.add_task("convex", total=2 * len(gaps) * len(players))
        points = experiment.run(delta, repetitions, seed, gaps, on_point=lambda point: progress.advance(task))
    with clear_errors():
        present(points, output, results())


FIGURE1 = "figure1"


@dataclass(frozen=True)
class Scale:
    """What the scores of a table mean."""

    bounds: TableBounds = None
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="For times, costs and losses.")] = False


@dataclass(frozen=True)
class Study:
    """The games."""

    delta: Delta = 0.05
    repetitions: Annotated[int, typer.Option(help="Games of each rule; the paper's rules play a tenth of them.")] = 200
    seed: Annotated[int, typer.Option(help="Seed for all games.")] = 0

    def check(self) -> None:
        """Refuse what cannot be played."""
        check_delta(self.delta)
        check_count("repetitions", self.repetitions, least=2)
        check_seed(self.seed)


@dataclass(frozen=True)
class Picture:
    """The picture, if there is to be one."""

    output: Annotated[Path | None, typer.Option("-o", "--output", help="Also write a picture (.png).")] = None
    overwrite: Overwrite = False

    def wanted(self, read: Path) -> WantedFile | None:
        """The file, refused if it cannot be written or must not be."""
        if self.output is None:
            return None
        file = WantedFile(self.output, PICTURE, [read], self.overwrite)
        file.check()
        return file


@app.command(epilog="Exit codes: 0 everything was measured, 2 usage or bad input.", rich_help_panel=RESEARCH)
@grouped
def limit(
    what: Annotated[str, typer.Argument(help="A score table, read as by `table`; or figure1.", metavar="FILE|figure1")],
    *,
    columns: Columns,
    scale: Scale,
    study: Study,
    picture: Picture,
    as_json: Json = False,
) -> None:
    """How far are the rules from what is possible? Their mean queries beside limits that are computed from the law.

    On a table, its rows (or groups) drawn with replacement, beside an oracle: `bestarm limit scores.csv -o limit.png`

    With figure1 in place of a file, in the settings of the paper's Figure 1: beside a lower bound for every rule.
    """
    from bestarm.studies.limit import Games, headline, limit_json, limit_table, note, plot_limit

    with clear_errors():
        study.check()
        file = picture.wanted(Path(what))
        scores = _scores(what, columns, scale)
        console = remarks()
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            task = progress.add_task("rules and limits", total=None)
            cases = _cases(scores, study, Games(study.repetitions, study.seed, lambda: progress.advance(task)))
        if as_json:
            say_json(limit_json(cases, study.delta, study.seed))
        else:
            say(headline(cases), "bold")
            results().print(limit_table(cases, study.delta))
            say(note(cases))
        if file is not None:
            file.check()  # games take a while
            plot_limit(cases, file.path)
            remark(f"Wrote {shown(str(file.path), 'path')}.")


def _scores(what: str, columns: Columns, scale: Scale) -> NDArray[np.float64] | None:
    """The scores of a table, scaled to [0, 1], more is better; None for Figure 1."""
    if what == FIGURE1:
        if columns != Columns() or scale != Scale():
            raise ValueError("figure1 takes no options for tables: its arms are those of the paper")
        return None
    table = columns.read(Path(what))
    check_n_columns(table)
    given = interval(scale.bounds)
    low, high = table_bounds(table) if given is None else check_bounds(given)
    within = check_within(table, (low, high))
    whole, _ = by_group(without_gaps(within, columns.missing, (low, high), scale.lower_is_better))
    scaled = np.clip((whole.scores - low) / (high - low), 0.0, 1.0)
    return 1.0 - scaled if scale.lower_is_better else scaled


def _cases(scores: NDArray[np.float64] | None, study: Study, games: "Games") -> "list[Case]":
    from bestarm.studies.figure1 import scenarios
    from bestarm.studies.limit import figure1_cases, table_case

    if scores is None:
        return figure1_cases(scenarios(), study.delta, games)
    return [table_case(scores, study.delta, games)]


@app.command(
    epilog="Exit codes: 0 no cell speaks against the guarantee, 1 the study rejects it, 2 usage.",
    rich_help_panel=RESEARCH,
)
def validate(
    games: Annotated[int, typer.Option(help="Games for each cell.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the study.")] = 0,
    arms: Annotated[list[int], typer.Option(help="Numbers of arms; repeat the option for several.")] = [2, 10, 50],  # noqa: B006
    output: Annotated[Path, typer.Option(help="Folder for validate.csv.")] = Path("figures"),
    overwrite: Overwrite = False,
) -> None:
    """Study the guarantee: error rates over a grid of comparisons, kinds of arms, numbers of arms and delta."""
    from bestarm.studies import validate as study
    from bestarm.studies.validate import present

    with clear_errors():
        check_count("games", games)
        check_seed(seed)
        if unknown := set(arms) - set(study.HORIZON):
            raise ValueError(f"arms must be among {', '.join(map(str, study.HORIZON))}, got {min(unknown)}")
        output.mkdir(parents=True, exist_ok=True)
        WantedFile(output / "validate.csv", table_of(study.HEADINGS), overwrite=overwrite).check()
    grid = list(study.cells(sorted(set(arms))))
    warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # some cells are meant to misfit
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=remarks(), transient=True) as progress:
        measured = [
            study.measure(cell, games, seed * len(grid) + k)
            for k, cell in enumerate(progress.track(grid, description="cells"))
        ]
    with clear_errors():
        passed = present(measured, output, results())
    if not passed:
        raise typer.Exit(1)
