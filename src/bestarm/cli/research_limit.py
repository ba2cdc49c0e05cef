"""`bestarm limit`: how far are the rules from what is possible?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.progress import Progress

from bestarm.checks import check_bounds, check_count, check_delta, check_seed
from bestarm.cli.app import RESEARCH, app, clear_errors
from bestarm.cli.options import Columns, Delta, Json, Overwrite, TableBounds, grouped, interval
from bestarm.cli.outputs import PICTURE, WantedFile
from bestarm.cli.streams import remark, remarks, results, say, say_json
from bestarm.inputs.tables import by_group, check_n_columns, check_within, table_bounds, without_gaps
from bestarm.shown import shown

if TYPE_CHECKING:
    from bestarm.experiments.limit import Case, Games

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
    from bestarm.experiments.limit import Games
    from bestarm.experiments.limit_report import headline, limit_json, limit_table, note, plot_limit

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
    from bestarm.experiments.figure1 import scenarios
    from bestarm.experiments.limit import figure1_cases, table_case

    if scores is None:
        return figure1_cases(scenarios(), study.delta, games)
    return [table_case(scores, study.delta, games)]
