"""Programs end with this process, whatever ends it: SIGKILL and a crash of the interpreter too.

A small shell, the guard, sleeps until a pipe is closed that this process alone holds open. Then it kills the groups of
programs that are on a list which both share, and ends. It is started with the first program and never woken by others,
so it does not disturb what is timed.

A program is on the list before it is started, by its output and by a mark in its environment, and by its group once
that is known. If this process is killed in between, the guard looks for the output first: a copy of this process that
is about to become the program has it by then, as the guard is not woken before. Then for the mark: a program may send
its output elsewhere, but its environment stays as it was when it was started.

`PR_SET_PDEATHSIG` would do less: it is tied to the thread that started a program, reaches no process that the program
started, and has to be set between fork and exec, where no Python can run safely beside other threads.

Not reached are processes that left the group of their program (`setsid`). Where there is no `/proc` (macOS), nor is a
program that was being started in the very moment, about a millisecond, in which this process was killed. Windows has no
`sh`, and so no guard.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress

# The list is its standard input, one program a line. A shell names descriptors by one digit, so the pipe is its output.
GUARD = r"""trap '' HUP INT TERM
read closed <&1
while read group output mark; do
    case "$group" in
    "") ;;
    starting)
        cd /proc || continue
        {
            ls -l [0-9]*/fd/1 | sed -n "s|.* \([0-9]*\)/fd/1 -> pipe:.$output.$|\1|p"
            grep -lF "$mark" [0-9]*/environ | sed "s|/.*||"
        } | while read number; do kill -s KILL -- "-$number" "$number"; done ;;
    *) kill -s KILL -- "-$group" ;;
    esac
done
"""
WIDTH = 64  # bytes of a line of the list
MARK = "BESTARM_PROGRAM"  # in the environment of programs


class Lifeline:
    """The guard of this process, and the list of the groups that it ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._guard: subprocess.Popen[bytes] | None = None
        self._list, self._held = -1, -1  # file descriptors
        self._programs: list[str] = []  # the lines of the list; some are empty

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

    def announce(self, output: int, mark: str) -> str:
        """From now on a program with this output and mark ends with this process; its name on the list."""
        program = f"starting {os.fstat(output).st_ino} {mark}"
        self.rename("", program)
        return program

    def rename(self, before: str, program: str) -> None:
        """Put a program on the list by its group, in place of what it was announced by; or "" when it has ended.

        The number of its group may soon be somebody else's then.
        """
        with self._lock:
            if self._guard is None:
                return
            if before not in self._programs:
                self._programs.append(before)
            line = self._programs.index(before)
            self._programs[line] = program
            os.pwrite(self._list, f"{program:<{WIDTH - 1}}\n".encode(), line * WIDTH)

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
