"""Signals that end a command as Ctrl-C does: in order, with all that is known stored.

One that comes in the fifth of a second in which Python loads bestarm, when nothing has begun, is not handled here: it
ends the process itself, which shells report by the same exit codes, or becomes an error of the library that is loaded.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import typer

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
