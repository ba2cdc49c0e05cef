"""The application that the commands belong to, and what they share."""

from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

import bestarm
from bestarm.racing import RaceResult

# Exit codes, documented in README.md and in the help of the commands.
ANSWERED = 0
BAD_INPUT = 2
UNDECIDED = 3
INTERRUPTED = 130
EXIT_CODES = (
    "Exit codes: 0 there is an answer, 2 bad input or an evaluation that failed, 3 budget or items ran out before an "
    "answer, 130 interrupted."
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No display while the race runs.")]
Delta = Annotated[float, typer.Option(help="Probability of error allowed.")]
Epsilon = Annotated[float, typer.Option(help="Also end when the leader is within this of the best.")]
Zone = Annotated[float, typer.Option(help="A promise that the best leads by this much.")]
Lower = Annotated[bool, typer.Option("--lower-is-better", help="For times, costs and losses.")]
MaxQueries = Annotated[int | None, typer.Option(help="The most evaluations to spend, earlier ones included.")]
Retries = Annotated[int, typer.Option(help="How often a failed evaluation is tried again.")]
OnError = Annotated[str, typer.Option(help="Of a failed evaluation: raise, worst or disqualify.")]
Seed = Annotated[int, typer.Option(help="Seed of the order of the items.")]

app = typer.Typer(
    help="Which of my K candidates is best?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        Console().print(f"bestarm {bestarm.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Which of my K candidates is best?"""


def refuse(message: str) -> typer.Exit:
    """Say what is wrong on standard error; to be raised."""
    line = f"[red]error:[/red] {escape(' '.join(message.split()))}"
    Console(stderr=True, soft_wrap=True, emoji=False).print(line, highlight=False)
    return typer.Exit(BAD_INPUT)


@contextmanager
def clear_errors() -> Iterator[None]:
    """What users can put right as one sentence."""
    try:
        yield
    except (ValueError, TypeError, OSError, ImportError) as error:
        raise refuse(str(error)) from error
    except (bestarm.EvaluationError, bestarm.StoreError, BrokenExecutor) as error:
        raise refuse(str(error)) from error


def show_result(result: RaceResult, as_json: bool, console: Console) -> None:
    """Print a result as a table or as JSON."""
    from bestarm.racing.words import cost, rich_table

    if as_json:
        console.file.write(result.to_json() + "\n")
    else:
        console.print(Text(result.verdict, style="bold"), highlight=False)
        console.print(cost(result), highlight=False)
        console.print(rich_table(result))


def interval(text: str | None) -> tuple[float, float] | None:
    """Bounds as they are given on the command line."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ValueError(f"bounds must be two numbers as low,high, got {text!r}") from error
    return low, high


def lines_of(path: Path) -> list[str]:
    """The lines of a file that are not empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be a text file in UTF-8: {error}") from error
    return [line for line in text.splitlines() if line.strip()]


def exit_code(result: RaceResult) -> int:
    """What the end of a race is for a script."""
    if result.reason == "interrupted":
        return INTERRUPTED
    return UNDECIDED if result.reason in ("budget", "items exhausted") else ANSWERED
