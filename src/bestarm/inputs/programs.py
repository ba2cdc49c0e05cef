"""Programs that give a score: run without a shell, with a timeout, and what they print read."""

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bestarm.checks import check_choice, check_positive
from bestarm.inputs.items import full_text
from bestarm.inputs.scores import PlainError, ScoredError

Measured = Literal["time", "stdout"]
PLACE = "{item}"
NUMBER = re.compile(r"(?<![\w.+-])[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?(?!\w|\.\w)")
TIMEOUT = 60.0
TAIL = 200  # characters of what a program printed that an error shows


class CommandError(PlainError):
    """A program that did not give a score, and why."""


class TimedOutError(CommandError, ScoredError):
    """A program whose time is the score, and that reached its time-out: it counts as that."""


@dataclass(frozen=True)
class Command:
    """A program and its arguments, in which ``{item}`` stands for the item; no shell is involved."""

    words: tuple[str, ...]
    score: Measured
    timeout: float
    folder: str | None = None  # where it runs

    def __call__(self, item: Any) -> float:
        """Run on an item; its wall time in seconds, or the last number it printed."""
        words = [word.replace(PLACE, full_text(item)) for word in self.words]
        begun = time.perf_counter()
        try:
            returncode, printed, complained = _run(words, self.timeout, self.folder)
        except FileNotFoundError as error:
            raise CommandError(f"there is no program {words[0]!r}") from error
        except OSError as error:
            raise CommandError(f"{words[0]!r} cannot be run: {error}") from error
        except subprocess.TimeoutExpired as error:
            why = f"it took longer than the timeout of {self.timeout:g} seconds"
            raise (TimedOutError(why, self.timeout) if self.score == "time" else CommandError(why)) from error
        seconds = min(time.perf_counter() - begun, self.timeout)  # nobody is slower than those that were killed
        if returncode != 0:
            raise CommandError(f"exit code {returncode}{_tail(complained)}")
        return seconds if self.score == "time" else last_number(printed)


def _run(words: list[str], timeout: float, folder: str | None) -> tuple[int, bytes, bytes]:
    """Run a program to its end: exit code, output, errors. If the wait is cut short, all it started is killed."""
    process = subprocess.Popen(  # noqa: S603 - running the user's programs is what this is for
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        start_new_session=True,
    )
    with process:
        try:
            printed, complained = process.communicate(timeout=timeout)
        except BaseException:
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            raise
    return process.returncode, printed, complained


def last_number(printed: bytes) -> float:
    """The last number in what a program printed."""
    numbers = NUMBER.findall(printed.decode("utf-8", "replace"))
    if not numbers:
        raise CommandError(f"it printed no number{_tail(printed)}")
    return float(numbers[-1])


def _tail(printed: bytes) -> str:
    text = " ".join(printed.decode("utf-8", "replace").split())[-TAIL:]
    return f" ({text})" if text else ""


def changed_measure(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str | None:
    """What is measured in another way than when a race began, in words, or None.

    Times are counted up to the time-out, so it belongs to the score; files of earlier versions may not hold it.
    """
    before, now = before or {}, now or {}
    if before.get("score") != now.get("score"):
        return f"score was {before.get('score')!r} when the race began and is {now.get('score')!r} now"
    if now.get("score") == "time" and before.get("timeout", now.get("timeout")) != now.get("timeout"):
        return f"timeout was {before['timeout']!r} when the race began and is {now.get('timeout')!r} now"
    return None


Commands = Mapping[str, str | Sequence[str]] | Sequence[str]


@dataclass(frozen=True)
class Measure:
    """What is measured, and how programs are run."""

    score: Measured = "time"
    timeout: float = TIMEOUT
    folder: str | None = None

    def __post_init__(self) -> None:
        check_choice("score", self.score, get_args(Measured))
        check_positive("timeout", self.timeout)

    def of(self, commands: Commands, with_items: bool) -> dict[str, Command]:
        """The commands by name, split into words as a shell would, without any other shell features."""
        if isinstance(commands, str):
            raise ValueError(f"commands must be a sequence of commands, got the string {commands!r}")
        named = dict(commands) if isinstance(commands, Mapping) else {command: command for command in commands}
        if not isinstance(commands, Mapping) and len(named) < len(commands):
            twice = next(command for k, command in enumerate(commands) if command in commands[:k])
            raise ValueError(f"commands must be different, but {twice!r} appears more than once")
        return {name: self._command(name, command, with_items) for name, command in named.items()}

    def _command(self, name: str, command: str | Sequence[str], with_items: bool) -> Command:
        try:
            words = tuple(shlex.split(command)) if isinstance(command, str) else tuple(command)
        except ValueError as error:
            raise ValueError(f"the command {command!r} cannot be split into words: {error}") from error
        if not words:
            raise ValueError("a command must name a program, got an empty one")
        if with_items and not any(PLACE in word for word in words):
            raise ValueError(f"the command {name!r} has no {PLACE} in it: the items would make no difference")
        return Command(words, self.score, float(self.timeout), self.folder)
