"""`bestarm reproduce`: the paper's experiments."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from bestarm.checks import check_count, check_seed
from bestarm.cli.app import RESEARCH, app, clear_errors
from bestarm.cli.options import Delta, Overwrite
from bestarm.cli.outputs import PICTURE, WantedFile, table_of
from bestarm.cli.streams import remarks, results
from bestarm.experiments.records import headings_of

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
    from bestarm.experiments import figure1 as experiment
    from bestarm.experiments.figure1_report import present

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
    from bestarm.experiments import convex as experiment
    from bestarm.experiments.convex_report import present

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
