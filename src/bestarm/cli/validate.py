"""`bestarm validate`: a study of the guarantee."""

import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

import bestarm
from bestarm.checks import check_count, check_seed
from bestarm.cli.app import RESEARCH, app, clear_errors
from bestarm.cli.options import Overwrite
from bestarm.cli.outputs import WantedFile, table_of
from bestarm.cli.streams import remarks, results


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
    from bestarm.experiments import validate as study
    from bestarm.experiments.validate_report import present

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
