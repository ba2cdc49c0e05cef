"""Ctrl-C: noted at once, let through only where nothing can be half done, for all races that run in this program."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import FrameType


def find_exit(error: BaseException) -> KeyboardInterrupt | SystemExit | None:
    """The Ctrl-C or ``sys.exit`` that an exception is or, as a group, holds; None if there is none.

    Everything else is a failure: also exceptions that are no `Exception`, such as the cancellation of a task of the
    user's own.
    """
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return error
    if isinstance(error, BaseExceptionGroup):
        ends = [end for part in error.exceptions if (end := find_exit(part)) is not None]
        return next((end for end in ends if isinstance(end, KeyboardInterrupt)), ends[0] if ends else None)
    return None


def reraise_exit(error: BaseException, during: str) -> None:
    """Raise the Ctrl-C or ``sys.exit`` that an exception is or holds, with a note on what was going on."""
    end = find_exit(error)
    if end is not None:
        end.add_note(during)
        raise end


_RUNNING: "set[Interruption]" = set()  # of the races of all threads: the end of a program is that of all of them
_INSIDE: ContextVar[bool] = ContextVar("inside an evaluation", default=False)


class Interruption:
    """Whether Ctrl-C came. It is raised only ``with`` this, around the user's code, so no score is half counted.

    What runs when Ctrl-C comes is dropped, whatever comes out of it: code that catches `KeyboardInterrupt`, or a
    program of the user's that ends by the same Ctrl-C, gives neither a score nor a failure.
    """

    def __init__(self) -> None:
        self.came = False
        self._open = False

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """What Ctrl-C does: it is for the races around this one, and in other threads, as well."""
        self.came = True
        for other in tuple(_RUNNING):
            other.came = True
        if self._open:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise if it came."""
        if self.came:
            raise KeyboardInterrupt

    def shut(self) -> None:
        """Let nothing through until the next ``with``: what is stored now is stored as a whole."""
        self._open = False

    def __enter__(self) -> None:
        self._open = True
        if self.came:
            raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._open = False
        if self.came and kind is None:  # the user's code may have caught what was raised there
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Handle Ctrl-C while a race runs; only the main thread of a program can.

    Other signals are left to the program: a library does not decide what ends it.
    """
    interruption = Interruption()
    _RUNNING.add(interruption)
    before = signal.getsignal(signal.SIGINT)
    try:
        handled = _handle(interruption)
        try:
            yield interruption
        finally:
            if handled:
                signal.signal(signal.SIGINT, before)
    finally:
        _RUNNING.discard(interruption)


def _handle(interruption: Interruption) -> bool:
    """Take Ctrl-C over, where that can be done and undone."""
    if signal.getsignal(signal.SIGINT) is None:  # it belongs to a program that Python is a part of
        return False
    try:
        signal.signal(signal.SIGINT, interruption.interrupt)
    except ValueError:  # not the main thread of the main interpreter
        return False
    return True


def asked_to_end() -> bool:
    """Whether a race of this program was asked to end: nothing is tried again then."""
    return any(interruption.came for interruption in tuple(_RUNNING))


def inside_evaluation() -> bool:
    """Whether this is called by an evaluation of a race, in whatever process."""
    return _INSIDE.get()


@contextmanager
def evaluating() -> Iterator[None]:
    """While evaluations of a race run.

    A race inside of them that is interrupted returns no result: the race around it would take what is worked out from
    it for a score, if it runs in another process. Threads that an evaluation starts are not known to be inside of it. A
    race in one of them returns what it has, and what is worked out from that is dropped: only a race in the main thread
    hears of Ctrl-C, and tells all those around it.
    """
    token = _INSIDE.set(True)
    try:
        yield
    finally:
        with suppress(ValueError):  # a coroutine that is closed where another context is, when its loop is gone
            _INSIDE.reset(token)
