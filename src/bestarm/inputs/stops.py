"""Ctrl-Z and `fg`: what was timed while this process was stopped has no time.

A program leads a session of its own, so Ctrl-Z stops the race alone and the program goes on; but when it has ended is
seen only after `fg`. No clock tells how long a process was stopped. That it was is told by SIGCONT.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Stops:
    """How often this process went on after it was stopped, as far as it is counted."""

    count = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count from now on; only the main thread of a program can."""
        before = self._count()
        try:
            yield
        finally:
            if before is not None:
                signal.signal(signal.SIGCONT, before)

    def _count(self) -> "signal._HANDLER":
        """Handle SIGCONT, where that can be done and undone: what handled it before, or None."""
        before = signal.getsignal(signal.SIGCONT) if hasattr(signal, "SIGCONT") else None  # not on Windows

        def goes_on(number: int, frame: FrameType | None) -> None:
            self.count += 1
            if callable(before):
                before(number, frame)

        if before is None:
            return None
        try:
            return signal.signal(signal.SIGCONT, goes_on)
        except ValueError:  # not the main thread of the main interpreter
            return None


STOPS = Stops()
