"""Programs that give a score: run without a shell, with a timeout, and what they print read."""

import shlex
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, get_args

from bestarm.checks import check_choice, check_timeout
from bestarm.errors import BestarmError, ParameterError, ParameterTypeError
from bestarm.sources.items import full_text
from bestarm.sources.processes import Ended, run_program
from bestarm.text import first_repeated, short, short_repr

Measured = Literal["time", "stdout"]
Commands = Mapping[str, str | Sequence[str]] | Sequence[str]
PLACE = "{item}"
TIMEOUT = 60.0
TAIL = 200  # characters of what a program printed that an error shows


class CommandError(BestarmError):
    """A program that did not give a score: the text says it all."""


class TimedOutError(CommandError):
    """A program whose time is the score, and that reached its time-out: it counts as that, and is not tried again."""

    def __init__(self, text: str, score: float) -> None:
        super().__init__(text)
        self.score = score


class Stops:
    """How often this process went on after it was stopped, as far as it is counted."""

    count = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count from now on, where SIGCONT can be handled and what handled it before can be put back."""
        before = signal.getsignal(signal.SIGCONT) if hasattr(signal, "SIGCONT") else None  # not on Windows

        def goes_on(number: int, frame: FrameType | None) -> None:
            self.count += 1
            if callable(before):
                before(number, frame)

        if before is None or threading.current_thread() is not threading.main_thread():  # which alone can
            yield
            return
        signal.signal(signal.SIGCONT, goes_on)
        try:
            yield
        finally:
            signal.signal(signal.SIGCONT, before)


STOPS = Stops()


@dataclass(frozen=True)
class Command:
    """A program and its arguments, in which ``{item}`` stands for the item; no shell is involved."""

    words: tuple[str, ...]
    score: Measured
    timeout: float
    folder: str | None = None  # where it runs

    def __call__(self, item: Any) -> float:
        """Run on an item; its wall time in seconds, or the number that it printed last."""
        text = full_text(item)
        words = [word.replace(PLACE, text) for word in self.words]
        if any("\0" in word for word in words):
            raise CommandError("no argument of a program can hold a NUL character, and this item does")
        try:
            ended = self._run(words)
        except (OSError, ValueError) as error:
            raise CommandError(_not_run(words[0], self.folder, error)) from error
        if ended.late:
            why = f"{ended.late} the timeout of {self.timeout:g} seconds"
            raise TimedOutError(why, self.timeout) if self.score == "time" else CommandError(why)
        if ended.returncode != 0:
            raise CommandError(f"{_how(ended.returncode)}{_tail(ended.complained)}")
        if self.score == "stdout":
            return last_number(ended.printed, ended.cut)
        return min(ended.seconds, self.timeout)  # nobody is slower than those that were killed

    def _run(self, words: Sequence[str]) -> Ended:
        """Run it, and again if its time is wanted, or was over, and this process was stopped meanwhile."""
        while True:
            stops = STOPS.count
            ended = run_program(words, self.timeout, self.folder, whole_output=self.score == "stdout")
            if stops == STOPS.count or (self.score == "stdout" and not ended.late):
                return ended


def _not_run(program: str, folder: str | None, error: Exception) -> str:
    """Why a program was not run."""
    if isinstance(error, FileNotFoundError | NotADirectoryError) and folder is not None and error.filename == folder:
        return f"there is no folder {short(folder)!r} to run it in"
    if isinstance(error, FileNotFoundError):
        return f"there is no program {short(program)!r}"
    return f"{short(program)!r} cannot be run: {error}"


def _how(returncode: int) -> str:
    """How a program ended that did not succeed."""
    if returncode >= 0:
        return f"exit code {returncode}"
    known = {number.value: number.name for number in signal.Signals}
    return f"it was ended by signal {known.get(-returncode, -returncode)}"


def last_number(printed: bytes, cut: bool = False) -> float:
    """The last word of what a program printed, as `float` reads it; ``cut`` says that the beginning was dropped.

    Anything else there ("1,234", "0.93.", "93%", "12ms") is refused: no part of a word is taken for a number, nor is a
    number further in front.
    """
    words = printed.decode("utf-8", "replace").split()
    whole = words[1:] if cut else words  # the first one may have lost its beginning
    try:
        return float(whole[-1])
    except (IndexError, ValueError) as error:
        raise CommandError(f"it printed no number as its last word{_tail(printed)}") from error


def _tail(printed: bytes) -> str:
    text = " ".join(printed.decode("utf-8", "replace").split())[-TAIL:]
    return f" ({text})" if text else ""


@dataclass(frozen=True)
class Measure:
    """What is measured, and how programs are run."""

    score: Measured = "time"
    timeout: float = TIMEOUT
    folder: str | None = None

    def __post_init__(self) -> None:
        check_choice("score", self.score, get_args(Measured))
        check_timeout("timeout", self.timeout)

    def of(self, commands: Commands, with_items: bool) -> dict[str, Command]:
        """The commands by name, split into words as a shell would, without any other shell features."""
        return {name: self._command(name, command, with_items) for name, command in _by_name(commands).items()}

    def _command(self, name: str, command: str | Sequence[str], with_items: bool) -> Command:
        words = _words(name, command)
        if not words:
            raise ValueError("a command must name a program, got an empty one")
        if with_items and not any(PLACE in word for word in words):
            raise ValueError(f"the command {short_repr(name)} has no {PLACE} in it: the items would make no difference")
        return Command(words, self.score, float(self.timeout), self.folder)


def _by_name(commands: Any) -> dict[str, Any]:
    """The commands of a mapping, or those that are their own names."""
    if isinstance(commands, Mapping):
        return dict(commands)
    if isinstance(commands, str):
        problem = f"must be a sequence of commands, got the string {short_repr(commands)}"
        raise ParameterError("commands", problem, commands)
    given = list(commands) if isinstance(commands, Iterable) else [commands]
    for command in given:
        if not isinstance(command, str):
            rule = "must be texts, or a mapping of names to texts or to lists of words"
            raise ParameterTypeError("commands", f"{rule}, got {short_repr(command)}", command)
    if (twice := first_repeated(given)) is not None:
        raise ParameterError("commands", f"must be different, but {short_repr(twice)} appears more than once", commands)
    return {command: command for command in given}


def _words(name: str, command: Any) -> tuple[str, ...]:
    """A command split into words as a shell would do it, unless it is given in words."""
    if isinstance(command, str):
        try:
            return tuple(shlex.split(command))
        except ValueError as error:
            raise ValueError(f"the command {short_repr(command)} cannot be split into words: {error}") from error
    words = tuple(command) if isinstance(command, Iterable) else (command,)
    for word in words:
        if not isinstance(word, str):
            raise TypeError(f"the command {short_repr(name)} must be a text or a list of words, got {short_repr(word)}")
    return words


def changed_measure(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str | None:
    """What is measured in another way than when a race began, in words, or None.

    Times are counted up to the time-out, so it belongs to the score; files of earlier versions may not hold it.
    """
    before, now = before or {}, now or {}
    both_timed = now.get("score") == "time" and "timeout" in before
    for name in ("score", "timeout") if both_timed else ("score",):
        was, is_now = before.get(name), now.get(name)
        if was != is_now:
            return f"{name} was {short_repr(was)} when the race began and is {short_repr(is_now)} now"
    return None
