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
from bestarm.racing.result import RaceResult

# Exit codes, documented in README.md and in the help of the commands.
ANSWERED = 0
BAD_INPUT = 2
UNDECIDED = 3
INTERRUPTED = 130
EXIT_CODES = (
    "Exit codes: 0 there is an answer, 2 bad input or an evaluation that failed, 3 budget or items ran out before an "
    "answer, 130 interrupted."
)

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
    from bestarm.report.words import cost, rich_table

    if as_json:
        console.file.write(result.to_json() + "\n")
    else:
        console.print(Text(result.verdict, style="bold"), highlight=False)
        console.print(cost(result), highlight=False)
        console.print(rich_table(result))


def exit_code(result: RaceResult) -> int:
    """What the end of a race is for a script."""
    if result.reason == "interrupted":
        return INTERRUPTED
    return UNDECIDED if result.reason in ("budget", "items exhausted") else ANSWERED


def write_page(result: RaceResult, page: Path, source: Path | None) -> None:
    """Write the page of a result, but never over the file that the result is from."""
    if source is not None and page.exists() and source.exists() and page.samefile(source):
        raise ValueError(f"{page} is the file that the race is from: give the page another name")
    result.to_html(page)


def finish(
    result: RaceResult,
    as_json: bool,
    page: Path | None = None,
    source: Path | None = None,
    remark: str | None = None,
) -> None:
    """Print a result, write its page if one is wanted, and end with its exit code."""
    console = Console()
    show_result(result, as_json, console)  # first: a page that cannot be written loses nothing
    if remark is not None:
        console.print(Text(remark))
    if page is not None:
        write_page(result, page, source)
        if not as_json:
            console.print(Text(f"Wrote {page}."), soft_wrap=True)
    raise typer.Exit(exit_code(result))
