"""Options that several commands share, each said once, and how a command takes a group of them."""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from bestarm.cli.streams import PAGE, WantedFile, remark
from bestarm.comparisons.evidence import Criterion
from bestarm.errors import ParameterError
from bestarm.racing.options import Options
from bestarm.record.settings import OnError, Target
from bestarm.sources.files import read_table
from bestarm.sources.items import STDIN
from bestarm.sources.tables import Missing, ScoreTable

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that exist, also those that bestarm has not made.")
]
Delta = Annotated[float, typer.Option(help="Accepted probability of a wrong answer.")]
Seed = Annotated[int, typer.Option(help="Seed for the order of the items, or for fresh seeds.")]
ItemsFile = Annotated[
    Path | None,
    typer.Option(
        help="File with one item per line, or - for standard input. If omitted, each round gets a fresh random seed."
    ),
]
Bounds = Annotated[str | None, typer.Option(help="The interval that all scores lie in, as `low,high`.")]
TableBounds = Annotated[
    str | None,
    typer.Option(help="The interval that all scores lie in, as `low,high`. If omitted, the range of the table."),
]
MaxEvaluations = Annotated[
    int | None,
    typer.Option(help="Stop, undecided, before exceeding this many evaluations (those of a saved race included)."),
]
TargetOption = Annotated[
    Target | None,
    typer.Option(
        help="What the answer is about: the items themselves (the default with bounds), or the population that they "
        "are a random sample of."
    ),
]
RaceFile = Annotated[Path, typer.Argument(help="A saved race, finished or not.")]


@dataclass(frozen=True)
class GoalOptions:
    """What a race is run for."""

    delta: Delta = 0.05
    lower_is_better: Annotated[bool, typer.Option("--lower-is-better", help="For times, costs and losses.")] = False
    criterion: Annotated[
        Criterion | None,
        typer.Option(
            help="What the best arm is: that with the best mean, or the one that wins against every other on more "
            "items than it loses, however much."
        ),
    ] = None
    epsilon: Annotated[
        float, typer.Option(help="Stop once the leader is shown to be at most this far from the best.")
    ] = 0.0
    indifference_zone: Annotated[
        float, typer.Option(help="Assume that the best leads by at least this much; otherwise nothing is guaranteed.")
    ] = 0.0
    target: TargetOption = None
    seed: Seed = 0


@dataclass(frozen=True)
class RunOptions:
    """How far a race may go, what follows from failures, and where it is kept."""

    replace: Annotated[
        bool | None,
        typer.Option(
            "--replace/--no-replace",
            help="Draw items with replacement, and evaluate them anew each time: for scores that differ when repeated.",
        ),
    ] = None
    max_evaluations: MaxEvaluations = None
    retries: Annotated[int, typer.Option(help="How often a failed evaluation is tried again.")] = 0
    on_error: Annotated[
        OnError,
        typer.Option(
            help="If an evaluation fails: raise (stop), worst (count it as the worst score) or disqualify the arm."
        ),
    ] = "raise"
    store: Annotated[
        Path | None, typer.Option(help="Save the race in this SQLite file, or continue the one in it.")
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """What is shown."""

    report: Annotated[Path | None, typer.Option(help="Also write the result as an HTML page.")] = None
    overwrite: Overwrite = False
    quiet: Annotated[bool, typer.Option("--quiet", help="Show nothing while the race runs.")] = False
    as_json: Json = False

    def page(self, inputs: Sequence[Path]) -> WantedFile | None:
        """The page, if there is to be one; refused if it would replace one of these files, or another of the user."""
        return None if self.report is None else WantedFile(self.report, PAGE, inputs, self.overwrite)


@dataclass(frozen=True)
class TableOptions:
    """Where the scores of a table are."""

    item_column: Annotated[str | None, typer.Option(help="The column that holds the items.")] = None
    arm_column: Annotated[str | None, typer.Option(help="For a long table: the column that holds the arms.")] = None
    score_column: Annotated[str | None, typer.Option(help="For a long table: the column that holds the scores.")] = None
    group_column: Annotated[
        str | None, typer.Option(help="The column that holds the groups of the items, where items belong together.")
    ] = None
    missing: Annotated[
        Missing,
        typer.Option(
            help="If cells are missing: raise (stop), worst (count them as the worst score) or drop their rows."
        ),
    ] = "raise"

    def read(self, path: Path) -> ScoreTable:
        """The scores in a file."""
        return read_table(
            path,
            item_column=self.item_column,
            arm_column=self.arm_column,
            score_column=self.score_column,
            group_column=self.group_column,
        )


def race_options(goal: GoalOptions, run: RunOptions, bounds: str | None, **changes: Any) -> Options:
    """The options of a race from those of the command line."""
    values = vars(goal) | vars(run) | {"bounds": interval(bounds)} | changes
    return Options(**{name: value for name, value in values.items() if name != "retries"})


def items_file(items: Path | None) -> str | None:
    """Where the items are read from, wherever the race is resumed."""
    if items is None:
        return None
    place = STDIN if str(items) == STDIN else str(items.resolve())
    announce_items(place)
    return place


def announce_items(items: str | None) -> None:
    """Tell somebody at a terminal that the items are awaited there."""
    if items == STDIN and sys.stdin.isatty():
        remark("reading the items from the terminal, one per line; end with Ctrl-D")


def interval(text: str | None) -> tuple[float, float] | None:
    """Bounds as they are given on the command line."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        problem = f"must be two numbers as low,high (such as 0,1), got {text!r}"
        raise ParameterError("bounds", problem, text) from error
    return low, high


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes groups of options, as typer wants it: every field of a group is a parameter of its own."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            parameters += inspect.signature(groups[parameter.name]).parameters.values()
            hints |= get_type_hints(groups[parameter.name], include_extras=True)
        else:
            parameters.append(parameter)

    def called(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in fields(kind)})
        command(**values)

    kind = inspect.Parameter.KEYWORD_ONLY
    flat = [parameter.replace(kind=kind, annotation=hints[parameter.name]) for parameter in parameters]
    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    return called
