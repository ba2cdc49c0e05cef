"""Starts and ends the programs of `race_commands`."""

import _thread
import atexit
import math
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import IO, Any, NamedTuple, cast
from uuid import uuid4

# A shell that outlives this process and then ends the programs that are left. Its standard input is the list of them,
# one a line: the number of a group, or "starting" and the mark of a program whose number was not known yet. That is
# looked for several times, as it may be on its way. A shell names descriptors by one digit, so the pipe is its output.
GUARD = r"""trap '' HUP INT TERM
read closed <&1
while read group mark; do
    case "$group" in
    "") ;;
    starting)
        cd /proc || continue
        for look in 1 2 3; do
            grep -lF "$mark" [0-9]*/environ | while IFS=/ read number rest; do
                kill -s KILL -- "-$number" "$number"
            done
            sleep 0.1
        done ;;
    *) kill -s KILL -- "-$group" ;;
    esac
done
"""
WIDTH = 64  # bytes of a line of the list
MARK = "BESTARM_PROGRAM"  # in the environment of programs
KEPT = 64 * 1024  # bytes of its output, and of its errors, that are kept at least
CHUNK = 64 * 1024  # bytes read at once
LOOK_UP = 0.1  # seconds: Ctrl-C as a wait begins does not end it, and on Windows it never does
PATIENCE = 2.0  # seconds for a killed program to end; one that the kernel holds on to is left to it
DYING = 0.1  # seconds for the others of its group; who is dead still counts until the system has taken note of it
POSIX = os.name == "posix"
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows has no groups to send it to
# Whoever sends one of these to a program may be about to end this process too, as the end of a login does.
ENDINGS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
ENDED_BY_SOMEBODY = {code for number in ENDINGS for code in (-number, 128 + number)}  # shells exit with 128 + number
MOMENTS = 3  # of LOOK_UP, in which this process should get it as well
LATE = "it took longer than"
HELD = "it ended, but something that it started kept its output open for longer than"
LET_GO, EXITED, READ = "nobody waits any more", "the program has exited", "a pipe has come to its end"


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

    def rename(self, before: str, program: str) -> None:
        """Put a program on the list, in place of what stood there before; "" is nothing.

        It is taken off the list as soon as it has ended: the number of its group may be somebody else's then.
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


class Ended(NamedTuple):
    """A program that has ended: how, after how long, and the end of what it printed."""

    returncode: int  # minus the number of the signal that ended it
    seconds: float
    printed: bytes
    cut: bool  # whether more was printed before
    complained: bytes  # on standard error
    late: str = ""  # LATE or HELD if the time was over


def run_program(words: Sequence[str], timeout: float, folder: str | None, whole_output: bool = True) -> Ended:
    """Run a program to its end. Whatever cuts the wait short ends it, with all of its group, and is raised then.

    Without ``whole_output`` it is done when it has exited, whatever it leaves behind: its time is what is wanted.
    """
    run = _Run(words, timeout, folder, whole_output)
    try:
        _thread.start_new_thread(run.work, ())
        while not run.over.acquire(timeout=LOOK_UP):
            pass
    finally:
        run.events.put(LET_GO)
        run.wait_for_the_end()
    if run.error is not None:
        raise run.error
    if run.ended.returncode in ENDED_BY_SOMEBODY:
        for _ in range(MOMENTS):
            time.sleep(LOOK_UP)  # if the race is interrupted too, that is raised here: the program did not fail
    return run.ended


@dataclass
class _Run:
    """A program, as its thread and whoever waits for it see it."""

    words: Sequence[str]
    timeout: float
    folder: str | None
    whole_output: bool
    begun: threading.Lock = field(default_factory=threading.Lock)  # taken by the thread, or else nothing is started
    over: threading.Lock = field(default_factory=threading.Lock)  # released by the thread as the last it does
    events: SimpleQueue[str] = field(default_factory=SimpleQueue)  # what the thread waits for
    is_over: bool = False
    exited: float = math.inf  # when the program had exited, by the clock
    ended: Ended = field(init=False)
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.over.acquire()

    def work(self) -> None:
        """Run the program: what the thread does."""
        if not self.begun.acquire(blocking=False):
            return
        try:
            self.ended = self._run()
        except Exception as error:  # raised where it is waited for
            self.error = error
        finally:
            self.is_over = True
            self.over.release()

    def wait_for_the_end(self) -> None:
        """Wait until nothing runs any more; a further Ctrl-C adds nothing to the one that is being raised."""
        never_begun = self.begun.acquire(blocking=False)
        while not never_begun and not self.is_over:
            with suppress(KeyboardInterrupt):
                self.over.acquire()

    def _run(self) -> Ended:
        LIFELINE.prepare()
        begun = time.perf_counter()
        process = self._start()
        try:
            printed, complained = Tail(process.stdout), Tail(process.stderr)
            watches = [self._watch(EXITED, self._note_exit, process)]
            watches += [self._watch(READ, tail.read_all) for tail in (printed, complained)]
            late = self._follow(begun + self.timeout)
        finally:
            _end(process)
        for watch in watches:
            watch.join(DYING)  # what a program printed as it ended may say why it failed
        printed.wanted = complained.wanted = False
        returncode = -9 if process.returncode is None else process.returncode
        return Ended(returncode, self.exited - begun, bytes(printed.kept), printed.cut, bytes(complained.kept), late)

    def _watch(self, event: str, wait: Callable[..., None], *given: Any) -> threading.Thread:
        """Wait for an event in a thread of its own: no call of every system waits for pipes and exits together."""

        def wait_and_say() -> None:
            wait(*given)
            self.events.put(event)

        thread = threading.Thread(target=wait_and_say, daemon=True)
        thread.start()
        return thread

    def _note_exit(self, process: subprocess.Popen[bytes]) -> None:
        _wait_for_exit(process)
        self.exited = time.perf_counter()  # at once: whoever waits for the event may come to it later

    def _follow(self, deadline: float) -> str:
        """Wait until a program is done, its time is over or nobody waits; says what was late, if something was."""
        left = [EXITED, READ, READ] if self.whole_output else [EXITED]
        while left:
            try:
                event = self.events.get(timeout=max(0.0, deadline - time.perf_counter()))
            except Empty:
                return LATE if EXITED in left else HELD
            if event == LET_GO:
                break
            if event in left:
                left.remove(event)
        return ""

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the program, which is on the list of the lifeline before it runs."""
        mark = uuid4().hex
        announced, group = f"starting {mark}", ""
        LIFELINE.rename("", announced)
        try:
            process = subprocess.Popen(  # noqa: S603 - running the user's programs is what this is for
                self.words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=self.folder,
                env={**os.environ, MARK: mark},
                start_new_session=True,
            )
            group = str(process.pid)
        finally:
            LIFELINE.rename(announced, group)
        return process


class Tail:
    """The end of what comes through a pipe, however much it is."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self.pipe = cast(IO[bytes], pipe)  # None only of programs that were given none
        self.kept = bytearray()
        self.cut = False
        self.wanted = True

    def read_all(self) -> None:
        """Read to the end of the pipe, or while it is wanted: who still prints then has nobody to print to."""
        with self.pipe:
            while self.wanted and (chunk := os.read(self.pipe.fileno(), CHUNK)):
                self.kept += chunk
                if len(self.kept) > KEPT + CHUNK:
                    del self.kept[:-KEPT]
                    self.cut = True


def _wait_for_exit(process: subprocess.Popen[bytes]) -> None:
    """Wait until a program has exited, and leave it to `_end` to take note of that, where the system can."""
    if not hasattr(os, "waitid"):
        process.wait()
        return
    with suppress(ChildProcessError):  # it was ended meanwhile
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a program and its group, and wait until it is gone."""
    group = process.pid
    if not POSIX:
        process.kill()
    _send(group, KILL)
    LIFELINE.rename(str(group), "")  # while its number is taken: once it is waited for that may be somebody else's
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)
    given_up = time.perf_counter() + DYING
    while _send(group, 0) and time.perf_counter() < given_up:
        time.sleep(0.001)


def _send(group: int, number: int) -> bool:
    """Send a signal to a group; whether there is one that can be sent to."""
    if not POSIX:
        return False
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # nobody is left, or they run as another user
        return False
    return True
