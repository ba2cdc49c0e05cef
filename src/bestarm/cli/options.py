"""The options of commands, each described once, and how a command takes a group of them."""

import csv
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

import typer

from bestarm.cli.app import ShownOptions
from bestarm.cli.streams import PAGE, WantedFile, remark
from bestarm.comparisons.evidence import Criterion
from bestarm.errors import ParameterError
from bestarm.racing.options import Options
from bestarm.record.settings import OnError, Target
from bestarm.sources.files import read_table
from bestarm.sources.items import STDIN
from bestarm.sources.tables import Missing, ScoreTable

HELP = {
    "arm_column": "For a long table: the column that holds the arms, if its name does not say so.",
    "arms": "The columns to race, separated by commas; for a long table, the arms.",
    "as_json": "Print the result as JSON.",
    "bounds": "The interval that all scores lie in, as `low,high`.",
    "criterion": "What the best arm is: that with the best mean, or the one that wins against every other on more "
    "items than it loses, however much.",
    "delta": "Accepted probability of a wrong answer.",
    "every": "Show all arms, also where there are many.",
    "explain": "Explain the result in full: what it means, what it assumes, what weakens it, how the race went.",
    "epsilon": "Stop once the leader is shown to be at most this far from the best.",
    "group_column": "The column that holds the groups of the items, where items belong together.",
    "ignore": "Columns or arms to leave out, separated by commas.",
    "indifference_zone": "Assume that the best leads by at least this much; otherwise nothing is guaranteed.",
    "item_column": "The column that holds the items.",
    "items": "File with one item per line, or - for standard input. If omitted, each round gets a fresh random seed.",
    "jointly": "The function takes all arms at once.",
    "lower_is_better": "For times, costs and losses.",
    "max_evaluations": "Stop, undecided, before exceeding this many evaluations (those of a saved race included).",
    "missing": "If cells are missing: raise (stop), worst (count them as the worst score) or drop their rows.",
    "on_error": "If an evaluation fails: raise (stop), worst (count it as the worst score) or disqualify the arm.",
    "overwrite": "Replace files that exist, also those that bestarm has not made.",
    "quiet": "Show nothing while the race runs.",
    "replace": "Draw items with replacement, and evaluate them anew each time: for scores that differ when repeated.",
    "report": "Also write the result as an HTML page.",
    "retries": "How often a failed evaluation is tried again.",
    "rounds_in_flight": "Rounds evaluated at a time.",
    "score": "What is measured: time (wall time, less is better) or stdout (the last word printed, a number).",
    "score_column": "For a long table: the column that holds the scores, if its name does not say so.",
    "seed": "Seed for the order of the items, or for fresh seeds.",
    "store": "Save the race in this SQLite file, or continue the one in it.",
    "target": "What the answer is about: the population that the items are a random sample of (the default), or the "
    "items themselves, which needs bounds or --criterion wins.",
    "timeout": "Seconds after which a program is killed; with --score time it counts as that long.",
    "workers": "Processes that evaluate in parallel; they end with the race.",
}
FLAGS = {
    "as_json": "--json",
    "every": "--all",
    "replace": "--replace/--no-replace",
}  # others are named as their parameters
TableBounds = Annotated[
    str | None,
    typer.Option(help="The interval that all scores lie in, as `low,high`. If omitted, the range of the table."),
]
RaceFile = Annotated[Path, typer.Argument(help="A saved race, finished or not.")]


@dataclass(frozen=True)
class GoalOptions:
    """What a race is run for."""

    delta: float = 0.05
    lower_is_better: bool = False
    criterion: Criterion | None = None
    epsilon: float = 0.0
    indifference_zone: float = 0.0
    target: Target | None = None
    seed: int = 0


@dataclass(frozen=True)
class RunOptions:
    """How far a race may go, what follows from failures, and where it is kept."""

    replace: bool | None = None
    max_evaluations: int | None = None
    retries: int = 0
    on_error: OnError = "raise"
    store: Path | None = None


@dataclass(frozen=True)
class OutputOptions(ShownOptions):
    """What is shown and written."""

    report: Path | None = None
    overwrite: bool = False
    quiet: bool = False

    def page(self, inputs: Sequence[Path]) -> WantedFile | None:
        """The page, if there is to be one; refused if it would replace one of these files, or another of the user."""
        return None if self.report is None else WantedFile(self.report, PAGE, inputs, self.overwrite)


@dataclass(frozen=True)
class TableOptions:
    """Where the scores of a table are."""

    item_column: str | None = None
    arm_column: str | None = None
    score_column: str | None = None
    group_column: str | None = None
    arms: str | None = None
    ignore: str | None = None
    missing: Missing = "raise"

    def read(self, path: Path) -> ScoreTable:
        """The scores in a file."""
        given = {name: value for name, value in vars(self).items() if name != "missing"}
        return read_table(path, **given | {"arms": _names(self.arms), "ignore": _names(self.ignore)})


def _names(text: str | None) -> list[str] | None:
    """Names separated by commas; those of columns that hold a comma can be given in quotes, as in a file."""
    return None if text is None else [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]


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


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer wants it: every field of a group of options is a parameter, and options have their help."""
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
    flat = [one.replace(kind=kind, annotation=_with_help(one.name, hints[one.name])) for one in parameters]
    called.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    called.__name__, called.__doc__ = command.__name__, command.__doc__
    return called


def _with_help(name: str, kind: Any) -> Any:
    """The type of a parameter, with its flag and its help; those that have their own stay as they are."""
    if get_origin(kind) is Annotated:
        return kind
    flag = FLAGS.get(name, f"--{name.replace('_', '-')}")
    return Annotated[kind, typer.Option(flag, help=HELP[name])]
