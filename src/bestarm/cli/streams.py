"""How a command meets the system: what it prints and where, the signals that end it, the files that it writes."""

import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TextIO, cast

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from bestarm.files import is_stream
from bestarm.text import file_name, in_ascii, sanitize

# Exit codes, documented in README.md and in the help of the commands.
ANSWERED = 0
BAD_INPUT = 2
UNDECIDED = 3
FAILED = 4
INTERRUPTED = 128 + signal.SIGINT
NOBODY_READS = 141  # as a program that SIGPIPE ends, in a pipe whose reader has gone

# --- printing: results on standard output, everything else on standard error ------------------------------------------


class _Stream:
    """Standard output or standard error for a console; ``give_up`` is told when it cannot be written."""

    def __init__(self, stream: TextIO | None, give_up: Callable[[TextIO, OSError], None]) -> None:
        self._stream = stream or io.StringIO()  # None: it was closed from the start
        self._give_up = give_up

    def write(self, text: str) -> int:
        """Write a text."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._give_up(self._stream, error)
        return len(text)

    def flush(self) -> None:
        """Write what was kept back."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(self._stream, error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _drop(stream: TextIO, error: OSError) -> None:
    """Lose what is still to be written: Python would try once more at its end, and complain."""
    with suppress(OSError, ValueError):  # streams of tests have no number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _end(stream: TextIO, error: OSError) -> None:
    """End the command: its result cannot be written."""
    raise typer.Exit(_lost(stream, error)) from error


def _lost(stream: TextIO, error: OSError) -> int:
    """The exit code where standard output cannot be written; why is said, unless its reader has gone on purpose."""
    _drop(stream, error)
    if error.errno == errno.EPIPE:
        return NOBODY_READS
    remark(f"standard output cannot be written: {error.strerror or error}", "error", "red")
    return BAD_INPUT


def results() -> Console:
    """The console for results, on standard output; one that cannot be written ends the command."""
    return Console(file=cast("TextIO", _Stream(sys.stdout, _end)))


def remarks(**options: Any) -> Console:
    """The console for everything else, on standard error; where that cannot be written, remarks are lost."""
    return Console(file=cast("TextIO", _Stream(sys.stderr, _drop)), **options)


def remark(text: str, kind: str = "", style: str = "") -> None:
    """Print one line on standard error."""
    line = Text.assemble((f"{kind}: " if kind else "", style), sanitize(" ".join(text.split()), "message"))
    remarks(soft_wrap=True).print(line)


def say(text: str, style: str = "", **options: Any) -> None:
    """Print a text on standard output."""
    results().print(Text(sanitize(text, "terminal"), style), **options)


def say_json(document: str) -> None:
    """Print a document on standard output, with escapes where its letters are not known there."""
    stream = _Stream(sys.stdout, _end)
    try:
        document.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        document = in_ascii(document)
    stream.write(f"{sanitize(document, 'json')}\n")
    stream.flush()


@contextmanager
def _harmless_usage() -> Iterator[None]:
    """Errors of usage repeat what was typed: show it without control characters."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):
            said = sanitize(error.format_message(), "message")
            error.format_message = lambda: said
        raise


class Commands(TyperGroup):
    """The commands of the application, as they are started: from the words that were typed to an exit code."""

    def make_context(self, *words: Any, **more: Any) -> Any:
        """Read the words."""
        with _harmless_usage():
            return super().make_context(*words, **more)

    def invoke(self, ctx: Any) -> Any:
        """Read the words of a command, and run it."""
        with _harmless_usage():
            return super().invoke(ctx)

    def main(self, *words: Any, **more: Any) -> Any:
        """Start a command; streams that cannot be written end it without a traceback."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a terminal that does not know a letter
        try:
            return super().main(*words, **more)
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # a help that nobody reads
                raise SystemExit(NOBODY_READS) from end
            raise
        except OSError as error:  # a help that cannot be written; commands catch their own errors
            raise SystemExit(_lost(sys.stdout, error)) from error
        finally:
            _Stream(sys.stdout, _drop).flush()  # what the user's own code printed


# --- signals ----------------------------------------------------------------------------------------------------------


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """End with 128 + the number of the first signal that came: SIGTERM and SIGHUP are taken for Ctrl-C.

    Signals that were ignored (nohup) stay ignored. Where no race handles Ctrl-C, a compiled library that is being
    loaded may raise another error in place of KeyboardInterrupt: this is no error of the command either.
    """
    received: list[int] = []
    raised: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        raised.append(number)
        raise KeyboardInterrupt

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        handler = signal.getsignal(signal.SIGINT)  # that of the race that runs, if one does
        if not callable(handler):
            raise KeyboardInterrupt
        handler(number, frame)

    before = _set_handlers({"SIGTERM": end, "SIGHUP": end, "SIGINT": interrupt})
    try:
        yield
    except typer.Exit as error:
        if error.exit_code != INTERRUPTED:
            raise
        raise typer.Exit(_code(received)) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(_code(received)) from error
    except Exception as error:
        lost_terminal = received and isinstance(error, OSError)
        if not raised and not lost_terminal:
            raise
        raise typer.Exit(_code(received)) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _code(received: Sequence[int]) -> int:
    return 128 + received[0] if received else INTERRUPTED


def _set_handlers(handlers: "dict[str, signal._HANDLER]") -> dict[int, "signal._HANDLER"]:
    """Handle those of these signals that the system has and that are not ignored; returns the handlers before."""
    before: dict[int, signal._HANDLER] = {}
    for name, handler in handlers.items():
        number = getattr(signal, name, None)
        if number is None or signal.getsignal(number) in (signal.SIG_IGN, None):
            continue
        try:
            before[number] = signal.signal(number, handler)
        except ValueError:  # not the main thread: a command that a program calls
            break
    return before


# --- files: nothing of the user is replaced ---------------------------------------------------------------------------

TELLING = 4096  # bytes at each end of a file that tell what it is


@dataclass(frozen=True)
class Kind:
    """A kind of file: what messages call it, and how its first and its last bytes tell that bestarm made it."""

    name: str
    made_here: Callable[[bytes, bytes], bool]


PAGE = Kind(
    "page",
    lambda begins, ends: (
        begins.startswith(b"<!doctype html>")
        and (b'<meta name="generator" content="bestarm ' in begins or b"<footer>Made by bestarm " in ends)
    ),
)
PICTURE = Kind("picture", lambda begins, ends: begins.startswith(b"\x89PNG") and b"Software\0bestarm " in begins)


def table_of(headings: Sequence[str]) -> Kind:
    """A table with these headings."""
    first = ",".join(headings).encode()
    return Kind("table", lambda begins, ends: begins.splitlines()[:1] == [first])


@dataclass(frozen=True)
class WantedFile:
    """A file that a command is to write, checked when this is made: before a race is run for it.

    Parameters
    ----------
    path : where
    kind : what is written there; other files of this kind that bestarm made are replaced
    inputs : files that are never replaced, because the command reads or keeps them
    overwrite : whether any other file is replaced

    """

    path: Path
    kind: Kind
    inputs: Sequence[Path] = ()
    overwrite: bool = False

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse a file that cannot be written, or must not be."""
        path, kind, called = self.path, self.kind.name, file_name(self.path)
        if is_stream(path):
            return
        if path.is_dir() or not path.parent.is_dir():
            what = "is a folder" if path.is_dir() else "is in a folder that does not exist"
            raise ValueError(f"the {kind} cannot be written to {called}: it {what}")
        if any(_same(path, source) for source in self.inputs):
            raise ValueError(f"{called} is what this command reads or keeps: give the {kind} another name")
        if not path.exists() or (path.is_file() and path.stat().st_size == 0):
            return
        if not path.is_file():
            raise ValueError(f"the {kind} cannot be written to {called}: it is no file")
        if not self.overwrite and not _made_here(path, self.kind):
            raise ValueError(
                f"{called} exists and does not look like a {kind} of bestarm: give the {kind} another name, or replace "
                "the file with --overwrite"
            )


def _made_here(path: Path, kind: Kind) -> bool:
    with path.open("rb") as file:
        begins = file.read(TELLING)
        file.seek(max(0, path.stat().st_size - TELLING))
        return kind.made_here(begins, file.read(TELLING))


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def files_of_store(store: Path | None) -> list[Path]:
    """A race, and what SQLite keeps beside it."""
    return [] if store is None else [Path(f"{store}{ending}") for ending in ("", "-wal", "-shm", "-journal")]


def existing_files(folder: str, names: Sequence[str]) -> list[Path]:
    """Those of these names that are files; words of commands need not be names that a file can have."""
    files = []
    for name in names:
        with suppress(OSError, ValueError):
            path = Path(folder, name)
            files += [path] if path.is_file() else []
    return files
