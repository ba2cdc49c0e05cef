"""The application that the commands belong to, and what they share: errors, results, exit codes."""

import os
import shlex
import warnings
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

import bestarm
from bestarm.cli.streams import (
    ANSWERED,
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    UNDECIDED,
    Commands,
    WantedFile,
    ended_by_signals,
    remark,
    remarks,
    say,
    say_json,
)
from bestarm.errors import ParameterError
from bestarm.result.live import announce_compiling
from bestarm.result.result import RaceResult
from bestarm.result.table import text_form
from bestarm.text import file_name

EXIT_CODES = (
    "Exit codes: 0 answered, 1 a check failed, 2 usage or bad input, 3 undecided or still running, 4 an evaluation "
    "failed, 130 interrupted (143 by SIGTERM, 129 by SIGHUP), 141 nobody reads the output."
)
RACES, SAVED, RESEARCH = "Race", "Saved races", "Research"  # the panels of the help
app = typer.Typer(
    cls=Commands,
    help="Which of my K options is best? Tries them on the same items, drops those that are beaten, and stops.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        say(f"bestarm {bestarm.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Which of my K options is best? Tries them on the same items, drops those that are beaten, and stops."""


def refuse(message: str, code: int = BAD_INPUT) -> typer.Exit:
    """Say what is wrong; to be raised."""
    remark(message, "error", "red")
    return typer.Exit(code)


@cache
def _option_names() -> dict[str, str]:
    """The options of all commands, by the names of their parameters."""
    names: dict[str, str] = {}
    groups: list[Any] = [typer.main.get_command(app)]
    for group in groups:
        for command in group.commands.values():
            groups += [command] if hasattr(command, "commands") else []
            options = [option for option in command.params if option.param_type_name == "option"]
            names |= {option.name: max(option.opts, key=len) for option in options}
    return names


def option_name(parameter: str) -> str:
    """A parameter as it is typed: ``--max-evaluations`` for ``max_evaluations``."""
    return _option_names().get(parameter, parameter)


@contextmanager
def clear_errors(quiet: bool = False) -> Iterator[None]:
    """Show errors that users can fix as one sentence, and warnings as one line."""
    told = remark if remarks().is_terminal and not quiet else None
    with announce_compiling(told), warnings.catch_warnings():
        for category in (bestarm.AssumptionWarning, bestarm.TableWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = _show_warning
        try:
            with ended_by_signals():
                yield
        except bestarm.EvaluationError as error:
            raise refuse(error.spelled(option_name), FAILED) from error
        except BrokenExecutor as error:
            raise refuse(str(error), FAILED) from error
        except SystemExit as error:
            raise refuse(_exited(error), FAILED) from error
        except ParameterError as error:
            raise refuse(error.spelled(option_name)) from error
        except OSError as error:
            raise refuse(_of_the_system(error)) from error
        except (ValueError, TypeError, ImportError, bestarm.BestarmError) as error:
            raise refuse(str(error)) from error


def _of_the_system(error: OSError) -> str:
    """What to say when the system refuses a file, such as one whose name is too long."""
    if error.strerror is None or error.filename is None:
        return str(error)
    return f"{file_name(os.fsdecode(error.filename))} cannot be used: {error.strerror}"


def _exited(error: SystemExit) -> str:
    """What to say when the user's function ends the program: that is its failure, not the end of the tool."""
    where = getattr(error, "__notes__", ["the function"])[0]
    code = error.args[0] if error.args else None  # some ways from process to process keep these alone
    return f"{where} called sys.exit({code!r}) in place of returning a score"


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, bestarm.TableWarning):
        remark(str(message), "note", "cyan")
        return
    if isinstance(message, bestarm.AssumptionWarning) and message.in_result:
        return  # the result says it
    prefix = "" if issubclass(category, bestarm.AssumptionWarning) else f"{category.__name__}: "
    remark(f"{prefix}{message}", "warning", "yellow")


@dataclass(frozen=True)
class ShownOptions:
    """How a result is printed."""

    as_json: bool = False
    every: bool = False
    explain: bool = False


def show_result(result: RaceResult[Any], shown: ShownOptions) -> None:
    """Print a result as text or as JSON, on standard output."""
    if shown.as_json:
        say_json(result.to_json())
        return
    answer, _, rest = text_form(result, shown.every).partition("\n")
    say(answer, "bold")
    say(rest)
    if shown.explain:
        say(f"\n{result.explain()}")


def exit_code(result: RaceResult[Any]) -> int:
    """What the end of a race is for a script."""
    if result.reason == "interrupted":
        return INTERRUPTED
    if result.outage is not None or result.breakdown is not None:
        return FAILED
    return ANSWERED if result.answered else UNDECIDED


def write_page(result: RaceResult[Any], page: WantedFile) -> None:
    """Write the page of a result."""
    page.check()  # a race takes a while
    called = file_name(page.path)
    try:
        result.to_html(page.path)
    except OSError as error:
        raise ValueError(f"the page cannot be written to {called}: {error.strerror or error}") from error
    remark(f"Wrote {called}.")


def _hint_to_continue(result: RaceResult[Any], store: Path) -> None:
    """Say how a saved race goes on that has no answer yet."""
    used_up = result.reason == "ran out of items" and result.settings.items == "pool"
    if not result.reason.answers and not used_up:
        more = " --max-evaluations TOTAL" if result.reason == "budget" else ""
        remark(f"to continue: bestarm resume {shlex.quote(str(store))}{more}")


def finish(
    result: RaceResult[Any], shown: ShownOptions, page: WantedFile | None = None, store: Path | None = None
) -> None:
    """Print a result, write its page if one is wanted, and end with its exit code."""
    if store is not None:
        _hint_to_continue(result, store)
    try:
        show_result(result, shown)  # first: a page that cannot be written loses nothing
    finally:  # nor does a result that cannot be printed
        if page is not None:
            write_page(result, page)
    raise typer.Exit(exit_code(result))
