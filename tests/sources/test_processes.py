"""Programs are started and ended in one place: interruptions, floods, what they leave behind, and the end of the race.

A program in these tests holds a named pipe open, as does all that it starts: the pipe ends when the last of them does.
"""

import os
import resource
import select
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bestarm import EvaluationError, race_commands
from bestarm.sources import processes, programs

PATIENCE = 60.0  # seconds after which something that never comes is missed
HOLD = "exec 3>alive; echo $$ >&3"  # a shell that says its number and holds the pipe
FOREVER = f"{HOLD}; sleep 1000"  # the shell waits for a child


class Alive:
    """The named pipe that programs hold open."""

    def __init__(self) -> None:
        os.mkfifo("alive")
        self.pipe = self._open()

    def _open(self) -> int:
        return os.open("alive", os.O_RDONLY | os.O_NONBLOCK)

    def started(self) -> int:
        """Wait until a program runs; its number."""
        select.select([self.pipe], [], [], PATIENCE)
        return int(os.read(self.pipe, 100))

    def ended(self) -> bool:
        """Whether nobody holds the pipe, or soon nobody does."""
        while select.select([self.pipe], [], [], PATIENCE)[0]:
            if not os.read(self.pipe, 100):
                os.close(self.pipe)
                self.pipe = self._open()  # for the next program: this one would be at its end for ever
                return True
        return False


@pytest.fixture
def alive() -> Iterator[Alive]:
    pipe = Alive()
    yield pipe
    os.close(pipe.pipe)


def shell(code: str, timeout: float = PATIENCE, whole_output: bool = True) -> processes.Ended:
    return processes.run_program(["sh", "-c", code], timeout, None, whole_output)


def score_of(code: str, score: programs.Measured, timeout: float = PATIENCE) -> float:
    """What a race is told of a program."""
    return programs.Command(("sh", "-c", code), score, timeout)(0)


@contextmanager
def meanwhile(action: Callable[[], Any]) -> Iterator[None]:
    """Do something in a thread while the block runs."""
    thread = threading.Thread(target=action)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def once_it_runs(alive: Alive, number: signal.Signals = signal.SIGINT) -> None:
    """Send a signal to this process when a program runs."""
    alive.started()
    os.kill(os.getpid(), number)


# --- interruptions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_error", ["raise", "disqualify", "worst"])
def test_an_interruption_is_no_score_no_failure_and_no_disqualification(on_error: Any, alive: Alive) -> None:
    given = {name: ["sh", "-c", f"{FOREVER}; : {name} {{item}}"] for name in ("a", "b")}
    options: dict[str, Any] = {"bounds": (0, 1), "on_error": on_error, "progress": False, "store": "race.sqlite"}
    for _ in range(3):
        with meanwhile(lambda: once_it_runs(alive)):
            result = race_commands(given, items=["1", "2", "3"], score="stdout", **options)
        assert alive.ended()
        assert (result.reason, result.best, result.counts.tolist()) == ("interrupted", None, [0, 0])
        assert (result.failures, result.disqualified) == ((), ())
    with closing(sqlite3.connect("race.sqlite")) as file:
        assert file.execute("SELECT count(*) FROM scores").fetchone() == (0,)


def test_ctrl_c_twice_ends_a_program_all_the_same(alive: Alive, monkeypatch: pytest.MonkeyPatch) -> None:
    end = processes._end

    def end_while_it_is_pressed_again(process: subprocess.Popen[bytes]) -> None:
        interrupt()
        end(process)

    monkeypatch.setattr(processes, "_end", end_while_it_is_pressed_again)
    with pytest.raises(KeyboardInterrupt), meanwhile(lambda: once_it_runs(alive)):
        shell(FOREVER)
    assert alive.ended()


def test_whatever_a_handler_of_signals_raises_ends_the_program(alive: Alive) -> None:
    class StopError(Exception):
        pass

    def stop(*_: object) -> None:
        raise StopError

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(StopError), meanwhile(lambda: once_it_runs(alive, signal.SIGUSR1)):
            shell(FOREVER)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert alive.ended()


def test_an_interruption_at_any_bytecode_ends_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    processes.LIFELINE.prepare()
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen[bytes]):
        def __init__(self, *given: Any, **options: Any) -> None:
            super().__init__(*given, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Recorded)
    over = threading.Semaphore(0)
    end = processes._end

    def end_and_say_so(process: subprocess.Popen[bytes]) -> None:
        end(process)
        over.release()

    monkeypatch.setattr(processes, "_end", end_and_say_so)

    def interrupted_at(n: int) -> bool:
        """Run a program, with an interruption at a bytecode of the module; whether it came."""
        left = n

        def trace(frame: Any, event: str, _: object) -> Any:
            nonlocal left
            if frame.f_code.co_filename != processes.__file__:
                return None
            frame.f_trace_opcodes = True
            left -= event == "opcode"
            if left == 0 and event == "opcode":
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            processes.run_program(["true"], PATIENCE, None)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(before)
        return False

    n = 1
    while interrupted_at(n):
        n += 1
    assert n > 50
    for _ in started:
        assert over.acquire(timeout=PATIENCE)
    assert started
    assert all(program.returncode is not None for program in started)


def test_a_program_that_somebody_ended_did_not_fail_if_the_race_is_ended_too(
    alive: Alive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "MOMENTS", 600)

    def signal_everybody() -> None:
        os.killpg(alive.started(), signal.SIGTERM)  # no shell handles that, as it may SIGINT: it ends at once
        assert alive.ended()
        interrupt()

    with meanwhile(signal_everybody):
        result = race_commands([f'sh -c "{FOREVER}"', "true"], progress=False)
    assert (result.reason, result.failures) == ("interrupted", ())
    monkeypatch.setattr(processes, "MOMENTS", 0)
    with pytest.raises(EvaluationError, match=r"failed on .*: it was ended by signal SIGINT \(see"):
        race_commands(["sh -c 'kill -INT $$'", "sh -c 'kill -INT $$; true'"], progress=False)


# --- Ctrl-Z and fg ---------------------------------------------------------------------------------------------------

STOPPED_AT_FIRST = "echo run >>runs; [ $(wc -l <runs) -gt 1 ] || kill -CONT $PPID; echo 5"


def runs() -> int:
    """How often the program above was run."""
    return len(Path("runs").read_text(encoding="utf-8").splitlines())


def test_a_run_during_which_the_race_was_stopped_has_no_time() -> None:
    before, heard = signal.getsignal(signal.SIGCONT), []
    result = race_commands({"a": ["sh", "-c", STOPPED_AT_FIRST], "b": ["true"]}, max_evaluations=2, progress=False)
    assert (result.counts.tolist(), runs()) == ([1, 1], 2)
    assert signal.getsignal(signal.SIGCONT) is before
    Path("runs").unlink()
    signal.signal(signal.SIGCONT, lambda number, _: heard.append(number))
    try:
        with programs.STOPS.counted():
            score_of(STOPPED_AT_FIRST, "time")
    finally:
        signal.signal(signal.SIGCONT, before)
    assert (runs(), heard) == (2, [signal.SIGCONT])


def test_what_a_program_printed_while_the_race_was_stopped_counts_unless_its_time_was_over() -> None:
    with programs.STOPS.counted():
        assert score_of(STOPPED_AT_FIRST, "stdout") == 5.0
        assert runs() == 1
        Path("runs").unlink()
        code = STOPPED_AT_FIRST.replace("kill -CONT $PPID", "{ kill -CONT $PPID; sleep 1000; }")
        assert score_of(code, "stdout", 2.0) == 5.0
        assert runs() == 2


def test_stops_are_counted_where_signals_can_be_handled() -> None:
    before = programs.STOPS.count

    def in_a_thread() -> None:
        with programs.STOPS.counted():
            score_of(STOPPED_AT_FIRST, "time")

    with meanwhile(in_a_thread):
        pass
    assert (runs(), programs.STOPS.count) == (1, before)


# --- what is left behind ---------------------------------------------------------------------------------------------


def test_what_a_program_leaves_in_its_group_ends_with_it(alive: Alive) -> None:
    left = shell(f"{HOLD}; sleep 1000 >&3 2>&3 & echo 4")
    assert (left.returncode, left.printed, left.late) == (0, b"4\n", "")
    assert alive.started()
    assert alive.ended()


def test_a_program_is_timed_until_it_ends_whatever_it_leaves_behind(alive: Alive) -> None:
    ended = shell(f"{HOLD}; sleep 1000 & echo no >&2; exit 3", 1000.0, whole_output=False)
    assert (ended.returncode, ended.complained, ended.late) == (3, b"no\n", "")
    assert alive.ended()


def test_what_holds_the_output_open_counts_for_the_time_out(alive: Alive, monkeypatch: pytest.MonkeyPatch) -> None:
    exited, wait = threading.Event(), processes._wait_for_exit
    clock = SimpleNamespace(perf_counter=lambda: 100.0 if exited.is_set() else 0.0, sleep=time.sleep)

    def wait_and_let_the_time_be_over(process: subprocess.Popen[bytes]) -> None:
        wait(process)
        exited.set()

    monkeypatch.setattr(processes, "time", clock)
    monkeypatch.setattr(processes, "_wait_for_exit", wait_and_let_the_time_be_over)
    with pytest.raises(programs.CommandError, match=f"^{processes.HELD} the timeout of 60 seconds$"):
        score_of(f"{HOLD}; sleep 1000 & echo 4", "stdout")
    assert alive.ended()


def test_what_left_the_group_does_not_keep_the_race_waiting(alive: Alive) -> None:
    Path("leave.py").write_text(f"import os; os.setsid(); os.execvp('sh', ['sh', '-c', '{FOREVER}'])", encoding="utf-8")
    numbers: list[int] = []

    def once_it_has_left() -> None:
        numbers.append(alive.started())
        interrupt()

    with pytest.raises(KeyboardInterrupt), meanwhile(once_it_has_left):
        shell(f"{sys.executable} -I -S leave.py & wait")
    os.killpg(numbers[0], signal.SIGKILL)  # it is beyond the reach of the race
    assert alive.ended()


def test_what_left_the_group_and_prints_for_ever_has_nobody_to_print_to(alive: Alive) -> None:
    Path("leave.py").write_text("import os; os.setsid(); os.execvp('yes', ['yes'])", encoding="utf-8")
    left = shell(f"{HOLD}; {sys.executable} -I -S leave.py & sleep 0.2", whole_output=False)
    assert (left.returncode, left.late) == (0, "")
    assert alive.ended()


def test_a_program_is_killed_at_its_time_out_with_all_that_it_started_whatever_signals_it_ignores(alive: Alive) -> None:
    ended = shell(f"trap '' HUP INT TERM; {HOLD}; sleep 1000", timeout=0.2)
    assert (ended.returncode, ended.late) == (-signal.SIGKILL, processes.LATE)
    assert alive.ended()


SCRIPT = """
import os, sys, threading
from bestarm.sources.processes import LIFELINE, run_program
run_program(["true"], 60, None)
if (copy := os.fork()) == 0:  # a copy of this process holds nothing that would keep the guard waiting
    threading.Event().wait()
rename = LIFELINE.rename
LIFELINE.rename = lambda *names: (rename(*names), print(copy, flush=True))
run_program(["sh", "-c", sys.argv[1]], 1000, None)
"""


def test_programs_end_with_a_race_that_is_killed(alive: Alive) -> None:
    race = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", SCRIPT, FOREVER], stdout=subprocess.PIPE, start_new_session=True
    )
    with race:
        copy = int(race.stdout.readline()) if race.stdout else 0
        alive.started()
        race.kill()
        assert alive.ended()
        os.kill(copy, 0)  # it is still there
        os.killpg(race.pid, signal.SIGKILL)


AT_THE_START = """
import os, select, signal, subprocess, sys
from bestarm.sources.processes import LIFELINE, run_program
LIFELINE.prepare()
start = subprocess.Popen.__init__
def killed(*given, **options):
    start(*given, **options)
    select.select([int(sys.argv[2])], [], [], 60)  # it runs by now
    os.kill(os.getpid(), signal.SIGKILL)
subprocess.Popen.__init__ = killed
run_program(["sh", "-c", sys.argv[1]], 1000, None)
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the guard looks into /proc")
@pytest.mark.parametrize("code", [FOREVER, f"exec >/dev/null 2>&1; {FOREVER}"], ids=["prints", "prints nowhere"])
def test_a_program_ends_with_a_race_that_is_killed_as_it_starts(alive: Alive, code: str) -> None:
    words = [sys.executable, "-c", AT_THE_START, code, str(alive.pipe)]
    race = subprocess.run(words, pass_fds=[alive.pipe], check=False)  # noqa: S603
    assert race.returncode == -signal.SIGKILL
    assert alive.ended()


def test_a_program_that_cannot_be_started_leaves_nothing_open_and_is_off_the_list() -> None:
    shell("true")
    before = os.listdir("/dev/fd")  # noqa: PTH208
    with pytest.raises(FileNotFoundError):
        processes.run_program(["no-such-program"], PATIENCE, None)
    assert os.listdir("/dev/fd") == before  # noqa: PTH208
    assert set(processes.LIFELINE._programs) == {""}


def test_a_guard_that_somebody_ended_is_replaced() -> None:
    processes.LIFELINE.prepare()
    first = processes.LIFELINE._guard
    assert first is not None
    first.kill()
    first.wait()
    assert shell("echo 3").printed == b"3\n"
    second = processes.LIFELINE._guard
    assert second not in (None, first)
    assert second.poll() is None


# --- what is printed -------------------------------------------------------------------------------------------------


def test_of_a_flood_only_the_end_is_kept() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flood = shell("head -c 50000000 /dev/zero >&2 & head -c 50000000 /dev/zero; wait; echo; echo 5")
    assert (flood.cut, flood.printed[-3:], flood.complained[-3:]) == (True, b"\n5\n", b"\0\0\0")
    for kept in (flood.printed, flood.complained):
        assert processes.KEPT <= len(kept) <= processes.KEPT + processes.CHUNK
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # kB
    assert score_of("head -c 300000 /dev/zero; echo ' 5'", "stdout") == 5.0


# --- other systems ---------------------------------------------------------------------------------------------------


def test_programs_run_and_end_on_systems_that_take_note_of_every_exit_that_is_waited_for(
    alive: Alive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "waitid")
    done = shell("echo 5; echo no >&2; exit 3")
    assert (done.returncode, done.printed, done.complained, done.late) == (3, b"5\n", b"no\n", "")
    assert shell(FOREVER, timeout=0.2).late == processes.LATE
    assert alive.ended()
    with pytest.raises(KeyboardInterrupt), meanwhile(lambda: once_it_runs(alive)):
        shell(FOREVER)
    assert alive.ended()
