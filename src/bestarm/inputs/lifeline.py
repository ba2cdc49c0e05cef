"""Programs end with this process, whatever ends it: SIGKILL and a crash of the interpreter too.

A small shell, the guard, sleeps until a pipe is closed that this process alone holds open. Then it kills the groups of
programs that are on a list which both share, and ends. It is started with the first program and never woken by others,
so it does not disturb what is timed.

`PR_SET_PDEATHSIG` would do less: it is tied to the thread that started a program, reaches no process that the program
started, and has to be set between fork and exec, where no Python can run safely beside other threads.

Not reached are processes that left the group of their program (`setsid`), and a program that was being started in the
very moment, about a millisecond, in which this process was killed. Windows has no `sh`, and so no guard.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress

# The list is its standard input, one group a line. A shell names descriptors by one digit, so the pipe is its output.
GUARD = """trap '' HUP INT TERM
read closed <&1
while read group; do [ -z "$group" ] || kill -s KILL -- "-$group"; done
"""
WIDTH = 16  # bytes of a line of the list


class Lifeline:
    """The guard of this process, and the list of the groups that it ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guard: subprocess.Popen[bytes] | None = None
        self._list, self._held = -1, -1  # file descriptors
        self._groups: list[int] = []  # by line of the list; 0 for an empty one

    def prepare(self) -> None:
        """Start the guard, if it does not run yet or somebody ended it."""
        with self._lock:
            if self._guard is not None and self._guard.poll() is None:
                return
            shell = shutil.which("sh") if hasattr(os, "killpg") else None
            if shell is not None:
                self._start(shell)

    def _start(self, shell: str) -> None:
        if self._guard is None:
            self._list = _shared_file()
        else:
            os.close(self._held)
        ended, self._held = os.pipe()
        try:
            self._guard = subprocess.Popen(  # noqa: S603 - the words are those above
                [shell, "-c", GUARD],
                stdin=self._list,
                stdout=ended,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in a terminal does not reach it
                cwd="/",
            )
        finally:
            os.close(ended)

    def add(self, group: int) -> None:
        """From now on the group ends with this process."""
        with self._lock:
            if self._guard is not None:
                if 0 not in self._groups:
                    self._groups.append(0)
                self._enter(self._groups.index(0), group)

    def remove(self, group: int) -> None:
        """The group has ended: its number may soon be somebody else's."""
        with self._lock:
            if group in self._groups:
                self._enter(self._groups.index(group), 0)

    def _enter(self, line: int, group: int) -> None:
        self._groups[line] = group
        os.pwrite(self._list, f"{group or '':<{WIDTH - 1}}\n".encode(), line * WIDTH)

    def close(self) -> None:
        """Let the guard end what is still on the list, and then itself."""
        guard, self._guard = self._guard, None
        if guard is not None:
            os.close(self._held)
            os.close(self._list)
            with suppress(subprocess.TimeoutExpired):
                guard.wait(1.0)

    def forget(self) -> None:
        """In a copy of this process: the guard and the list belong to the original."""
        if self._guard is not None:
            self._guard.returncode = 0  # not a child of the copy, so not one to wait for
            os.close(self._held)
            os.close(self._list)
        self.__init__()  # type: ignore[misc]


def _shared_file() -> int:
    """A file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("bestarm-programs")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


LIFELINE = Lifeline()
atexit.register(LIFELINE.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=LIFELINE.forget)
