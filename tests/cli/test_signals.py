"""`bestarm run` and the signals that end it: what is known is stored, nothing stays behind, the exit code says why."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bestarm
from conftest import Cli, Rejects
from race_files import RaceFile

ARMS = ["low", "mid", "high"]
MODULE = """
import asyncio, os, signal, subprocess, sys, time
from pathlib import Path
ARMS = ["low", "mid", "high"]
calls = 0
def score(arm, item):
    return ((int(item) * 37) % 64 + 16 * ARMS.index(arm)) / 128
def say(what):
    with Path("said.txt").open("a") as said:
        said.write(f"{what} {os.getpid()}\\n")
def slow(arm, item):
    if int(item) % 7 == 3:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        say(f"child {child.pid} of")
        time.sleep(600)
    return score(arm, item)
async def stubborn(arm, item):
    if int(item) % 7 == 3:
        say("stubborn")
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                pass
    return score(arm, item)
def signalled(arm, item):
    if int(item) % 7 == 3:
        os.kill(os.getpid(), getattr(signal, os.environ["SENT"]))
    return score(arm, item)
def exits(arm, item):
    if int(item) % 7 == 3:
        sys.exit(5)
    return score(arm, item)
"""


WORDS = [
    *("run", "--arms", "low,mid,high", "--items", "items.txt", "--bounds", "0,1"),
    *("--store", "race.sqlite", "--json", "--quiet"),
]


@pytest.fixture(autouse=True)
def _files(folder: Path) -> None:
    """A module to race, and its items."""
    (folder / "signal_bench.py").write_text(MODULE, encoding="utf-8")
    (folder / "items.txt").write_text("\n".join(map(str, range(200))), encoding="utf-8")


def score(arm: str, item: str) -> float:
    return ((int(item) * 37) % 64 + 16 * ARMS.index(arm)) / 128


def resumed_as_uninterrupted(folder: Path, **options: Any) -> None:
    """What is stored are true scores, and the race ends as if nothing had happened."""
    store = RaceFile(folder / "race.sqlite")
    rows = store.rows("SELECT arm, item, score, failure FROM scores JOIN rounds USING (round)")
    for arm, item, value, failure in rows:
        assert (value, failure) == (score(ARMS[arm], item), None)
    usual: dict[str, Any] = {"arms": ARMS, "items": [str(k) for k in range(200)], "bounds": (0, 1), "progress": False}
    in_flight = store.settings()["rounds_in_flight"]
    whole = bestarm.race(score, rounds_in_flight=in_flight, **usual | options)
    rest = bestarm.race(score, store=folder / "race.sqlite", **usual | options)
    assert str(rest) == str(whole)


# --- in this process --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_the_exit_code_names_the_signal(
    cli: Cli, sent: str, code: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SENT", sent)
    number = getattr(signal, sent)
    before = signal.getsignal(number)
    done = cli(*WORDS, "signal_bench:signalled", "--on-error", "disqualify")
    assert (done.exit_code, json.loads(done.stdout)["reason"]) == (code, "interrupted"), done.output
    assert done.stderr == "to continue: bestarm resume race.sqlite\n"
    assert signal.getsignal(number) is before
    shown = cli("show", "race.sqlite", "--json")
    assert (shown.exit_code, json.loads(shown.stdout)["reason"]) == (3, "running")
    resumed_as_uninterrupted(folder, on_error="disqualify")


INTERRUPTED_AS_IT_LOADS = """
import signal
try:
    signal.raise_signal(signal.{sent})
except KeyboardInterrupt:
    raise ImportError("initialization failed") from None  # as compiled modules do
"""


@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_an_interruption_while_a_library_is_loaded_is_no_error(
    cli: Cli, rejects: Rejects, sent: str, code: int, folder: Path
) -> None:
    (folder / "interrupted.py").write_text(INTERRUPTED_AS_IT_LOADS.format(sent=sent), encoding="utf-8")
    before = signal.getsignal(signal.SIGINT)
    done = cli(*WORDS, "interrupted:score")
    assert (done.exit_code, done.stderr) == (code, "")
    assert signal.getsignal(signal.SIGINT) is before
    (folder / "failing.py").write_text("raise ImportError('initialization failed')", encoding="utf-8")
    rejects("initialization failed", *WORDS, "failing:score")


def test_a_signal_that_was_ignored_stays_ignored(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENT", "SIGHUP")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        done = cli(*WORDS, "signal_bench:signalled")
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (done.exit_code, json.loads(done.stdout)["best"]) == (0, "high"), done.output


@pytest.mark.parametrize("more", [(), ("--workers", "2")], ids=["here", "workers"])
def test_a_function_that_exits_does_not_choose_the_exit_code(cli: Cli, folder: Path, more: tuple[str, ...]) -> None:
    done = cli(*WORDS, "signal_bench:exits", *more)
    assert done.exit_code == 4
    assert done.stderr.startswith("error: evaluate('")
    assert done.stderr.endswith(") called sys.exit(5) in place of returning a score\n")
    resumed_as_uninterrupted(folder)


# --- programs of their own --------------------------------------------------------------------------------------------

# Several signals take the same way: one of them is enough for the quick tests.
LINUX = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
SIGNALS = [
    pytest.param(signal.SIGINT, marks=pytest.mark.long),
    signal.SIGTERM,
    pytest.param(signal.SIGHUP, marks=pytest.mark.long),
    signal.SIGKILL,
]


def descendants(number: int) -> set[int]:
    children = {
        int(word) for task in Path(f"/proc/{number}/task").iterdir() for word in (task / "children").read_text().split()
    }
    return children.union(*map(descendants, children))


def alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(true: Callable[[], Any]) -> None:
    for _ in range(12_000):
        if true():
            return
        time.sleep(0.01)
    pytest.fail("it did not happen within two minutes")


def sent(number: signal.Signals, folder: Path, function: str, *more: str) -> tuple[int, str, set[int]]:
    """Start a race, send a signal when it hangs: the exit code, what was printed, and the processes that it had."""
    command = [sys.executable, "-W", "ignore", "-m", "bestarm", *WORDS, f"signal_bench:{function}", *more]
    said = folder / "said.txt"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:  # noqa: S603
        wait_until(lambda: said.exists() and said.read_text().endswith("\n"))
        processes = descendants(program.pid)
        program.send_signal(number)
        printed, complained = program.communicate()
    assert "Traceback" not in complained
    return program.returncode, printed, processes


@LINUX
@pytest.mark.parametrize("number", SIGNALS, ids=str)
def test_workers_and_what_they_started_end_with_the_race(folder: Path, number: signal.Signals) -> None:
    code, printed, processes = sent(number, folder, "slow", "--workers", "2")
    assert len(processes) >= 3  # two workers, and what one of them has started
    wait_until(lambda: not any(map(alive, processes)))
    if number is signal.SIGKILL:
        assert code == -signal.SIGKILL
    else:
        assert (code, json.loads(printed)["reason"]) == (128 + number, "interrupted")
    resumed_as_uninterrupted(folder)


@LINUX
def test_coroutines_that_cannot_be_cancelled_are_left_behind(folder: Path) -> None:
    code, printed, _ = sent(signal.SIGINT, folder, "stubborn")
    assert (code, json.loads(printed)["reason"]) == (130, "interrupted")
    resumed_as_uninterrupted(folder)
