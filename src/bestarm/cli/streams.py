"""The streams of a command: what is printed where, files that are written, signals."""

import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn, TextIO, cast

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from bestarm.files import is_stream
from bestarm.text import file_name, in_ascii, shown

NOT_WRITTEN = 2
NOBODY_READS = 141  # as a program that SIGPIPE ends, in a pipe whose reader has gone


class _Stream:
    """Standard output or standard error for a console, as long as it can be written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or say that it is impossible."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._give_up(error)
        return len(text)

    def flush(self) -> None:
        """The same for what was kept back."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Nobody is told that remarks are lost: there is nowhere left to say it."""
        _silence(self._stream)

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:
        return self._stream.encoding


class _Results(_Stream):
    """Standard output: a result that cannot be written is an error, but in a pipe that was closed."""

    def _give_up(self, error: OSError) -> NoReturn:
        raise typer.Exit(_lost(self._stream, error)) from error


def _lost(stream: TextIO, error: OSError) -> int:
    """The exit code where standard output cannot be written; why is said, unless its reader has gone on purpose."""
    _silence(stream)
    if error.errno == errno.EPIPE:
        return NOBODY_READS
    remark(f"standard output cannot be written: {error.strerror or error}", "error", "red")
    return NOT_WRITTEN


def _silence(stream: TextIO) -> None:
    """Drop what is still to be written: Python would try once more at its end, and complain."""
    with suppress(OSError, ValueError):  # streams of tests have no number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def results() -> Console:
    """The console for results, on standard output."""
    return Console(file=cast("TextIO", _Results(sys.stdout or io.StringIO())))  # None: it was closed from the start


def remarks(**options: Any) -> Console:
    """The console for everything else, on standard error."""
    return Console(file=cast("TextIO", _Stream(sys.stderr or io.StringIO())), **options)


def remark(text: str, kind: str = "", style: str = "") -> None:
    """One line on standard error: results alone are on standard output."""
    line = Text.assemble((f"{kind}: " if kind else "", style), shown(" ".join(text.split()), "message"))
    remarks(soft_wrap=True).print(line)


def say(text: str, style: str = "", **options: Any) -> None:
    """A text on standard output."""
    results().print(Text(shown(text, "terminal"), style), **options)


def say_json(document: str) -> None:
    """A document on standard output; where its letters are not known there, as escapes."""
    stream = _Results(sys.stdout or io.StringIO())
    try:
        document.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        document = in_ascii(document)
    stream.write(f"{shown(document, 'json')}\n")
    stream.flush()


@contextmanager
def _harmless_usage() -> Iterator[None]:
    """Errors of usage repeat what was typed."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message"):
            said = shown(error.format_message(), "message")
            error.format_message = lambda: said
        raise


class HarmlessGroup(TyperGroup):
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
            if sys.stdout is not None:
                _Stream(sys.stdout).flush()  # what the user's own code printed


INTERRUPTED = 128 + signal.SIGINT
ENDING = ("SIGTERM", "SIGHUP")  # as far as the system has them


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Take SIGTERM and SIGHUP for Ctrl-C, with exit codes of their own; those that were ignored (nohup) stay so."""
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        handler = signal.getsignal(signal.SIGINT)  # that of the race that runs, if one does
        if not callable(handler):
            raise KeyboardInterrupt
        handler(number, frame)

    before = _taken_over(end, ENDING)
    try:
        yield
    except KeyboardInterrupt as error:
        raise typer.Exit(_code(received)) from error
    except typer.Exit as error:
        if error.exit_code != INTERRUPTED:
            raise
        raise typer.Exit(_code(received)) from error
    except OSError as error:
        if not received:
            raise
        raise typer.Exit(_code(received)) from error  # a terminal that is gone shows no result
    finally:
        _give_back(before)


@contextmanager
def never_an_error() -> Iterator[None]:
    """Ctrl-C where no race handles it: a compiled library that is being loaded may raise another error in its place."""
    came: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    before = _taken_over(interrupt, ["SIGINT"])
    try:
        yield
    except typer.Exit:
        raise
    except Exception as error:
        if came:
            raise KeyboardInterrupt from error
        raise
    finally:
        _give_back(before)


def _code(received: list[int]) -> int:
    """The exit code of a command that was ended by the first of these signals, or by Ctrl-C."""
    return 128 + received[0] if received else INTERRUPTED


def _taken_over(end: "signal._HANDLER", names: Sequence[str]) -> dict[int, "signal._HANDLER"]:
    """Handle signals that end a program, and say what was done before."""
    before: dict[int, signal._HANDLER] = {}
    for name in names:
        number = getattr(signal, name, None)
        if number is None or signal.getsignal(number) in (signal.SIG_IGN, None):
            continue
        try:
            before[number] = signal.signal(number, end)
        except ValueError:  # not the main thread: a command that a program calls
            break
    return before


def _give_back(before: dict[int, "signal._HANDLER"]) -> None:
    """Handle signals as before."""
    for number, handler in before.items():
        signal.signal(number, handler)


BEGINNING = END = 4096  # bytes that tell what a file is
BESIDE_A_STORE = ("", "-wal", "-shm", "-journal")


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
    """A file that a command is to write: where, of which kind, over which files never, and whether over any other."""

    path: Path
    kind: Kind
    inputs: Sequence[Path] = ()
    overwrite: bool = False

    def check(self) -> None:
        """Refuse a file that cannot be written, or must not be: before a race is run for it, and when it is written."""
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


def wanted_page(path: Path | None, inputs: Sequence[Path], overwrite: bool) -> WantedFile | None:
    """The page that a race is to have, if it is to have one; refused if it cannot be written or must not be."""
    if path is None:
        return None
    page = WantedFile(path, PAGE, inputs, overwrite)
    page.check()
    return page


def _made_here(path: Path, kind: Kind) -> bool:
    with path.open("rb") as file:
        begins = file.read(BEGINNING)
        file.seek(max(0, path.stat().st_size - END))
        return kind.made_here(begins, file.read(END))


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def files_of_store(store: Path | None) -> list[Path]:
    """A race, and what SQLite keeps beside it."""
    return [] if store is None else [Path(f"{store}{ending}") for ending in BESIDE_A_STORE]


def files_read(origin: Mapping[str, Any], arms: Sequence[str]) -> list[Path]:
    """The files that a race reads: its items, the code of its function, the programs and what they are given."""
    folder, items, function = (origin.get(name) for name in ("folder", "items", "function"))
    named = [items] if isinstance(items, str) else []
    if isinstance(function, str):
        module = "/".join(function.partition(":")[0].split("."))
        named += [f"{module}.py", f"{module}/__init__.py"]
    if origin.get("kind") == "commands":
        named += [word for arm in arms for word in arm.split()]
    files = [Path(folder, name) if isinstance(folder, str) else Path(name) for name in named]
    return [file for file in files if _is_file(file)]


def _is_file(path: Path) -> bool:
    """Whether there is such a file; words of commands need not be names that a file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
