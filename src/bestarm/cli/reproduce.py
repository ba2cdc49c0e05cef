"""`bestarm reproduce`: the paper's experiments."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import bestarm
from bestarm.cli.app import app, refuse

reproduce = typer.Typer(help="Run an experiment of the paper.", no_args_is_help=True)
app.add_typer(reproduce, name="reproduce")


class SideOption(StrEnum):
    """Which panel of Figure 1."""

    left = "left"
    right = "right"
    both = "both"


@reproduce.command()
def figure1(
    side: Annotated[SideOption, typer.Option(help="Which panel.")] = SideOption.both,
    repetitions: Annotated[int, typer.Option(help="Games for each bar.")] = 100,
    delta: Annotated[float, typer.Option(help="Probability of error allowed.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of all games.")] = 0,
    keep: Annotated[float, typer.Option(help="How long Pairwise-BAI+ queries a dropped arm; 82 in the theorem.")] = 2.0,
    sharp: Annotated[bool, typer.Option("--sharp", help="Add the Student mixture, same guarantee.")] = False,
    output: Annotated[Path, typer.Option(help="Folder for figure1.csv and figure1.png.")] = Path("figures"),
) -> None:
    """Figure 1: mean queries of the paper's algorithms against correlation and against clusters."""
    from rich.progress import Progress

    from bestarm.experiments import figure1 as experiment
    from bestarm.experiments.figure1_report import LOWER_BOUND_NOTE, figure1_tables, plot_figure1
    from bestarm.experiments.records import write_csv

    console = Console()
    try:
        players = experiment.algorithms(delta, keep, sharp)
        bestarm.checks.check_count("repetitions", repetitions, least=2)
        bestarm.checks.check_count("seed", seed, least=0)
        output.mkdir(parents=True, exist_ok=True)
    except (ValueError, OSError) as error:
        raise refuse(str(error)) from error
    where = experiment.scenarios(("left", "right") if side is SideOption.both else (side.value,))
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("figure 1", total=len(where) * len(players))
        bars = experiment.run(players, where, delta, repetitions, seed, on_bar=lambda bar: progress.advance(task))
    write_csv(bars, output / "figure1.csv")
    plot_figure1(bars, output / "figure1.png")
    for table in figure1_tables(bars):
        console.print(table)
    console.print(f"[dim]{LOWER_BOUND_NOTE}[/dim]\n", highlight=False)
    judged = experiment.claims(bars)
    for claim in judged:
        console.print(f"{'✓' if claim.held else '✗'} {claim.text}: {claim.detail}.", highlight=False)
    console.print(f"[bold]{experiment.verdict(judged)}[/bold]")
    console.print(f"Wrote {output / 'figure1.csv'} and {output / 'figure1.png'}.", highlight=False)


@reproduce.command()
def convex(
    repetitions: Annotated[int, typer.Option(help="Games of the sharp rules at each point.")] = 20,
    delta: Annotated[float, typer.Option(help="Probability of error allowed.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed of all games.")] = 0,
    gap: Annotated[list[float], typer.Option(help="Gaps of the last arm; repeat the option for several.")] = [],  # noqa: B006
    output: Annotated[Path, typer.Option(help="Folder for convex.csv and convex.png.")] = Path("figures"),
) -> None:
    """Appendix B: an arm that is nearly an average of others, against pairs and against combinations."""
    from rich.progress import Progress

    from bestarm.experiments import convex as experiment
    from bestarm.experiments.convex_report import convex_tables, plot_convex
    from bestarm.experiments.records import write_csv

    console = Console()
    try:
        players = experiment.algorithms(delta)
        bestarm.checks.check_count("repetitions", repetitions, least=2)
        bestarm.checks.check_count("seed", seed, least=0)
        for value in gap:
            if not 0 < value <= 0.25:
                raise ValueError(f"gap must lie above 0 and be at most 0.25, got {value!r}")
        output.mkdir(parents=True, exist_ok=True)
    except (ValueError, OSError) as error:
        raise refuse(str(error)) from error
    gaps = sorted(set(gap), reverse=True) or experiment.GAPS
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("convex", total=2 * len(gaps) * len(players))
        points = experiment.run(delta, repetitions, seed, gaps, on_point=lambda point: progress.advance(task))
    write_csv(points, output / "convex.csv")
    plot_convex(points, output / "convex.png")
    for table in convex_tables(points):
        console.print(table)
    for sentence in experiment.findings(points):
        console.print(sentence, highlight=False)
    console.print(f"Wrote {output / 'convex.csv'} and {output / 'convex.png'}.", highlight=False)
