"""Standard output and standard error: what reaches them steers no terminal, and what follows if they take no more."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO, cast

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperGroup

from bestarm.shown import in_ascii, shown

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
