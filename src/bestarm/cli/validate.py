"""`bestarm validate`: a study of the guarantee."""

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

import bestarm
from bestarm.checks import check_count
from bestarm.cli.app import RESEARCH, app, clear_errors


@app.command(
    epilog="Exit codes: 0 no cell speaks against the guarantee, 1 the study rejects it, 2 usage.",
    rich_help_panel=RESEARCH,
)
def validate(
    games: Annotated[int, typer.Option(help="Games for each cell.")] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the study.")] = 0,
    arms: Annotated[list[int], typer.Option(help="Numbers of arms; repeat the option for several.")] = [2, 10, 50],  # noqa: B006
    output: Annotated[Path, typer.Option(help="Folder for validate.csv.")] = Path("figures"),
) -> None:
    """Study the guarantee: error rates over a grid of comparisons, kinds of arms, numbers of arms and delta."""
    from bestarm.experiments import validate as study
    from bestarm.experiments.validate_report import present

    with clear_errors():
        check_count("games", games)
        check_count("seed", seed, least=0)
        if unknown := set(arms) - set(study.HORIZON):
            raise ValueError(f"arms must be among {', '.join(map(str, study.HORIZON))}, got {min(unknown)}")
        output.mkdir(parents=True, exist_ok=True)
    grid = list(study.cells(sorted(set(arms))))
    warnings.simplefilter("ignore", bestarm.AssumptionWarning)  # some cells are meant to misfit
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        results = [
            study.measure(cell, games, seed * len(grid) + k)
            for k, cell in enumerate(progress.track(grid, description="cells"))
        ]
    if not present(results, output, Console()):
        raise typer.Exit(1)
