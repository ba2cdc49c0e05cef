"""A race while it runs: how far it is and who is still in; in a terminal, in a notebook, or as lines of a log."""

import io
import logging
import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from threading import Event, Lock, RLock, Thread
from typing import TYPE_CHECKING, Any, Self, TextIO, cast

from bestarm.result.numbers import Format
from bestarm.text import distinct_names, name_of, shortened, with_noun

if TYPE_CHECKING:
    from rich.table import Table

    from bestarm.comparisons.evidence import Criterion
    from bestarm.result.outcome import FailureCount


TEXT = "preparing compiled code, once after an installation or an upgrade: this takes some seconds"
KERNELS = logging.getLogger("bestarm.kernels")
DELAY = 0.5  # seconds until the first picture: short races show none
PERIOD = 0.25  # seconds between two pictures
SHARE = 0.1  # of the time that may go into working out what to show: bounds of some tests take a while in long races
TICK = 1.0  # seconds after which the clock goes on, also while an evaluation takes longer
FIRST_LINE, LONGEST_PAUSE = 10.0, 300.0  # seconds: until the first line of a log, and between two lines at most
WARM = 5.0  # seconds until a rate says how long the rest may take: the first evaluations are often slow
NAMED = 3  # candidates that are shown by name, or one more if that is all
BAR = 20  # characters
WIDTH = 100  # characters of a picture in a notebook
LEADS = "leads"


@dataclass(frozen=True)
class Standing:
    """How a race stands, for a display; arms by name, candidates by their means.

    Differences are those of mean scores, or with the criterion ``"wins"`` shares of items: won minus lost.
    """

    n_rounds: int
    n_arms: int
    n_evaluations: int  # of all rounds opened, those in flight included
    everything: int | None  # evaluations of all arms on all items
    saved: int  # evaluations of arms that had left
    candidates: tuple[str, ...]  # none before the first round
    lead: float | None  # of the first over the second
    regret_bound: float | None  # how much better than the leader any arm can still be; None where it is not known
    behind: tuple[float, ...] = ()  # how far each of the candidates is behind the first
    widest_lead: float = math.inf  # the largest difference that there can be
    epsilon: float = 0.0  # the race ends when the regret bound is as small as this
    criterion: "Criterion" = "mean"
    unit: str = ""  # of the scores
    in_flight: int = 0  # evaluations of open rounds that have not come back
    rounds_in_flight: int = 0
    most_rounds_in_flight: int = 1
    max_evaluations: int | None = None
    most_left: int | None = None  # evaluations that can still come back; None where there is no end to them
    failures: "tuple[FailureCount[str], ...]" = ()  # by arm, in the rounds that are complete

    @property
    def n_done(self) -> int:
        """The evaluations that have come back."""
        return self.n_evaluations - self.in_flight

    @property
    def limit(self) -> int | None:
        """The budget, or all evaluations that there are if these are fewer; None where there is no end to them."""
        return min((n for n in (self.max_evaluations, self.everything) if n is not None), default=None)


# --- what is shown: functions of how a race stands, the seconds it has run, and its evaluations per second ------------


def picture(
    now: Standing, elapsed: float = 0.0, rate: float | None = None, width: int = 80, ascii_only: bool = False
) -> "Table":
    """A few lines: evaluations and time, the share that is spent, what is in flight, failures, who is still in.

    Lines that come and go are as far down as they can be, so that the others stay where they are.
    """
    from rich.table import Table
    from rich.text import Text

    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(style="dim", min_width=len("evaluations"))
    lines.add_column(no_wrap=True, overflow="ellipsis")
    pace = [f"{now.n_done:,} in {with_noun(now.n_rounds, 'round')}", *_rate(rate), duration(elapsed)]
    lines.add_row("evaluations", ", ".join(pace))
    if now.limit:
        what, spent = _spent(now)
        said = ", ".join([spent, *_time_left(now, elapsed, rate)])
        bar = _bar(now.n_done / now.limit, min(BAR, width - 58), ascii_only)
        lines.add_row(what, Text.assemble(*bar, f"  {said}"))
    if now.most_rounds_in_flight > 1:
        lines.add_row("in flight", _in_flight(now))
    if now.failures:
        lines.add_row("failures", Text(_failures(now)))
    lines.add_row("still in", Text(_still_in(now)))
    if now.candidates:
        lines.add_row("", _front(now, width))
    return lines


def _front(now: Standing, width: int) -> "Table":
    """The first candidates, and how far they are behind."""
    from rich.table import Table
    from rich.text import Text

    arms = Table.grid(padding=(0, 3, 0, 0))
    arms.add_column(no_wrap=True, overflow="ellipsis")
    arms.add_column(no_wrap=True)
    for name, behind in _behind(now, longest=max(12, width - 45)):
        arms.add_row(Text(name, "bold" if behind == LEADS else ""), Text(behind))
    return arms


def one_line(now: Standing, elapsed: float, rate: float | None = None) -> str:
    """The same as one line of a log."""
    share = f" ({_spent(now)[1]})" if now.limit else ""
    course = [
        duration(elapsed),
        f"{with_noun(now.n_done, 'evaluation')}{share}",
        *_rate(rate),
        *_time_left(now, elapsed, rate),
    ]
    course += [f"failures: {_failures(now)}"] if now.failures else []
    arms = ", ".join(f"{name} {behind}" for name, behind in _behind(now, longest=40))
    who = f"{len(now.candidates) or now.n_arms:,} of {now.n_arms:,} still in"
    return f"bestarm: {', '.join(course)}; {who}{f': {arms}' if arms else ''}"


def _spent(now: Standing) -> tuple[str, str]:
    """Of what a share is spent, and which; never all of it before the end."""
    limit = now.limit or 1
    what = "budget" if limit == now.max_evaluations else "everything"
    return what, f"{min(99, 100 * now.n_done // limit)}% of {limit:,}"


def _time_left(now: Standing, elapsed: float, rate: float | None) -> list[str]:
    """How long a race can still take at its present rate; it may be decided at any time before that."""
    if not rate or now.most_left is None or elapsed < WARM:
        return []
    return [f"at most {_rough_duration(now.most_left / rate)} left"]


def _bar(share: float, length: int, ascii_only: bool) -> list[tuple[str, str]]:
    done, rest = ("#", "-") if ascii_only else ("━", "─")
    n = min(length, int(length * share))
    return [(done * n, "cyan"), (rest * (length - n), "dim")]


def _in_flight(now: Standing) -> str:
    return f"{with_noun(now.in_flight, 'evaluation')} of {with_noun(now.rounds_in_flight, 'round')}"


def _failures(now: Standing) -> str:
    """What followed from failures, and whose they were."""
    followed = {
        "retried": sum(count.retried for count in now.failures),
        "counted as worst": sum(count.worst for count in now.failures),
        "timed out": sum(count.timed_out for count in now.failures),
        "disqualified": sum(count.disqualified for count in now.failures),
    }
    said = ", ".join(f"{n:,} {what}" for what, n in followed.items() if n)
    whose = [shortened(name_of(count.arm)) for count in now.failures]
    return f"{said} ({', '.join(whose) if len(whose) <= 2 else f'{len(whose)} arms'})"


def _still_in(now: Standing) -> str:
    """How many may be the best, and by how much at most the leader is wrong, where that says something."""
    n_left = len(now.candidates) or now.n_arms
    text, bound = f"{n_left:,} of {now.n_arms:,}", now.regret_bound
    if bound is None or not bound < 0.99 * now.widest_lead or n_left == 1:
        return text
    wins = now.criterion == "wins"
    form = Format(0, size=0.01, unit="%") if wins else Format(0, unit=now.unit)
    text += f", none better by more than {form.at_most(bound)}{' of the items' if wins else ''}"
    return f"{text} (ends at {form.exactly(now.epsilon)})" if now.epsilon else text


def _behind(now: Standing, longest: int) -> list[tuple[str, str]]:
    """The first candidates by name, each with its difference to the leader, and the rest in one line."""
    leads = [100.0 * lead if now.criterion == "wins" else lead for lead in now.behind]
    n_named = len(leads) if len(leads) == NAMED + 1 else NAMED  # "and 1 more" takes as much room as its name
    behind, rest = leads[:n_named], leads[n_named:]
    names = distinct_names(now.candidates[:n_named], longest)
    write = _digits([*behind, *rest[:1], *rest[-1:]])
    lines = [(names[0], LEADS)] if names else []
    lines += [(name, _difference(now, [lead], write)) for name, lead in zip(names[1:], behind[1:], strict=True)]
    if rest:
        lines.append((f"and {len(rest):,} more", _difference(now, [rest[0], rest[-1]], write)))
    return lines


def _difference(now: Standing, behind: Sequence[float], write: Callable[[float], str]) -> str:
    """How far an arm is behind, or several are, the first and the last of them given."""
    if not any(behind):
        return "level"
    sign = 1.0 if behind[-1] > 0.0 else -1.0
    written = " to ".join(dict.fromkeys(write(sign * lead) for lead in behind))
    if now.criterion == "wins":
        return f"{written}% more items {'lost than won' if sign > 0.0 else 'won than lost'}"
    return f"{f'{written} {now.unit}'.strip()} {'behind' if sign > 0.0 else 'ahead'}"


def _digits(values: Sequence[float]) -> Callable[[float], str]:
    """How to write differences with one number of decimals: two digits of the smallest, at most four of the largest."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes or max(sizes) >= 1e7 or max(sizes) < 1e-6:
        return "{:.3g}".format
    few, many = (math.floor(math.log10(size)) for size in (max(sizes), min(sizes)))
    return f"{{:,.{max(0, min(1 - many, 3 - few))}f}}".format


def _rate(rate: float | None) -> list[str]:
    if not rate:
        return []
    if rate >= 1.0:
        value, per = rate, "second"
    else:
        value, per = (60.0 * rate, "minute") if 60.0 * rate >= 1.0 else (3600.0 * rate, "hour")
    return [f"{value:,.{0 if value >= 9.95 else 1}f} per {per}"]


def duration(seconds: float) -> str:
    """A time that has passed."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole // 60 % 60:02d} min"
    return f"{with_noun(whole // 86400, 'day')} {whole // 3600 % 24} h"


def _rough_duration(seconds: float) -> str:
    """A time to come, in one unit, rounded up."""
    for most, size, unit in ((100.0, 1.0, "s"), (6000.0, 60.0, "min"), (172_800.0, 3600.0, "h")):
        if seconds <= most:
            return f"{math.ceil(seconds / size):,} {unit}"
    return f"{math.ceil(seconds / 86400.0):,} days"


class Pace:
    """Evaluations per second, over the later half of the time: the present rate, however long an evaluation takes."""

    def __init__(self, n_done: int) -> None:
        self._seen = deque([(0.0, n_done)])

    def rate(self, elapsed: float, n_done: int) -> float | None:
        """The rate after so many seconds and evaluations; None in the first second."""
        while len(self._seen) > 1 and self._seen[1][0] <= elapsed / 2:
            self._seen.popleft()
        begun, before = self._seen[0]
        if elapsed > self._seen[-1][0] * 1.02:  # a hundred points are enough
            self._seen.append((elapsed, n_done))
        return (n_done - before) / (elapsed - begun) if elapsed >= 1.0 else None


# --- where it is shown ------------------------------------------------------------------------------------------------


Render = Callable[[int, bool], "Table"]  # makes what is shown, for a width and for ASCII alone or not
# Codes of terminals: one line down in the same column; remember the cursor; back to it; erase all from the cursor on.
INDEX, SAVE, BACK, ERASE = "\x1bD", "\x1b7", "\x1b8", "\x1b[J"


class Terminal(AbstractContextManager["Terminal"]):
    """Lines below the cursor of a terminal, which stays where it is: whatever is printed appears above them.

    So nothing that others print is ever overwritten: another process, a compiled library, `input`, a Ctrl-C that is
    echoed. What is printed or logged here also takes the lines away first, so that it does not leave parts of them on
    the screen.
    """

    def __init__(self) -> None:
        from rich.console import Console

        self._stream = sys.stderr
        self._console = Console(file=self._stream)
        self._lines: list[str] = []
        self._shown = False
        self._column = 0  # of the cursor, as far as is known here
        self._process = os.getpid()
        self._lock = RLock()
        self._watched: list[_Above] = []

    def __enter__(self) -> Self:
        sys.stderr = self._watch(sys.stderr)
        if _is_terminal(sys.stdout):  # a file or a pipe gets what is printed as ever
            sys.stdout = self._watch(sys.stdout)
        watched = {id(above.stream): above for above in self._watched}
        for handler in _log_handlers():  # these keep the stream that they were made with
            if id(handler.stream) in watched:
                handler.setStream(watched[id(handler.stream)])
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._erase("" if self._column else "\r")  # a Ctrl-C may have left its echo there
            self._lines = []
            for name in ("stdout", "stderr"):
                if (stream := getattr(sys, name)) in self._watched:  # the user's code may have put another one there
                    setattr(sys, name, stream.stream)
            for handler in _log_handlers():
                if handler.stream in self._watched:
                    handler.setStream(handler.stream.stream)

    def _watch(self, stream: TextIO) -> TextIO:
        self._watched.append(_Above(stream, self))
        return cast("TextIO", self._watched[-1])

    def show(self, render: Render) -> None:
        """Draw as much as fits."""
        with self._lock:
            width, height = self._console.size
            table = render(width - 1, self._console.options.ascii_only)
            text = _text(table, width - 1, self._console.color_system)
            self._lines = text.splitlines()[: max(0, height - 2)]
            self._draw()

    def say(self, text: str) -> None:
        """Print a line that stays."""
        with suppress(OSError, ValueError):
            self.print(self._stream, f"{text}\n")

    def print(self, stream: TextIO, text: str) -> int:
        """Print a text of the user's program."""
        if os.getpid() != self._process:  # a fork, such as a worker of a pool: its parent draws the lines again
            stream.write(f"{ERASE}{text}")
            return len(text)
        with self._lock:
            self._erase()
            written = stream.write(text)
            if "\n" in text:
                stream.flush()
            self._follow(text)
            self._draw()
            return written

    def _follow(self, text: str) -> None:
        """Know the column of the cursor after a text."""
        from rich.cells import cell_len

        begun = max(text.rfind("\n"), text.rfind("\r")) + 1
        self._column = cell_len(text[begun:]) + (0 if begun else self._column)

    def _draw(self) -> None:
        """Draw the lines below that of the cursor, making room for them first."""
        full = self._column > 0 and self._column % self._console.width == 0
        if not self._lines or full:  # a cursor behind the last column does not come back to where it was
            return
        n, below = len(self._lines), "".join(f"\r\n{line}\x1b[K" for line in self._lines)
        self._write(f"\x1b[K{INDEX * n}\x1b[{n}A{SAVE}{below}{ERASE}{BACK}")
        self._shown = True

    def _erase(self, first: str = "") -> None:
        if self._shown:
            self._write(f"{first}{ERASE}")
            self._shown = False

    def _write(self, codes: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that is gone does not end a race
            self._stream.write(codes)
            self._stream.flush()


def _log_handlers() -> list["logging.StreamHandler[Any]"]:
    """The handlers of all loggers that write to a stream."""
    loggers = [logging.getLogger(), *logging.Logger.manager.loggerDict.values()]
    found = (handler for logger in loggers if isinstance(logger, logging.Logger) for handler in logger.handlers)
    return [handler for handler in found if isinstance(handler, logging.StreamHandler)]


class _Above:
    """Standard output or standard error while lines are shown below the cursor."""

    def __init__(self, stream: TextIO, terminal: Terminal) -> None:
        self.stream = stream
        self._terminal = terminal

    def write(self, text: str) -> int:
        return self._terminal.print(self.stream, text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class Notebook(AbstractContextManager["Notebook"]):
    """An output of a cell that is replaced by the next one, and by nothing at the end.

    (The live displays of rich need ipywidgets there, and turn what is printed meanwhile into outputs of their own.)
    """

    def __init__(self) -> None:
        self._handle: Any = None

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._handle.update({}, raw=True)

    def show(self, render: Render) -> None:
        """Show the lines as text."""
        self.say(_text(render(WIDTH, False), WIDTH))

    def say(self, text: str) -> None:
        """Show a text until there is another one."""
        from IPython.display import display as display_in_cell

        data = {"text/plain": text}
        if self._handle is None:
            self._handle = display_in_cell(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def _text(table: "Table", width: int, colours: Any = None) -> str:
    """A table as text, in colours if there are any, without blanks at the ends of its lines."""
    from rich.console import Console

    page = io.StringIO()
    console = Console(
        file=page,
        width=width,
        color_system=colours,
        force_terminal=colours is not None,
        force_jupyter=False,
        legacy_windows=False,
    )
    console.print(table, highlight=False)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


class LiveDisplay:
    """Shows how a race stands when that has changed, and the time that has passed once a second."""

    def __init__(self, look: Callable[[], Standing], place: Terminal | Notebook) -> None:
        self._look = look
        self._place = place
        self._begun = time.monotonic()
        self._next = self._begun + DELAY
        self._now = look()
        self._pace = Pace(self._now.n_done)
        self._lock = Lock()

    def update(self) -> None:
        """Draw, unless the last picture is fresh."""
        begun = time.monotonic()
        if begun < self._next:
            return
        self._now = self._look()
        self.draw()
        ended = time.monotonic()
        self._next = ended + max(PERIOD, (ended - begun) / SHARE)

    def draw(self) -> None:
        """Draw what was seen last; by any thread."""
        with self._lock:
            now, elapsed = self._now, time.monotonic() - self._begun
            rate = self._pace.rate(elapsed, now.n_done)
            self._place.show(lambda width, ascii_only: picture(now, elapsed, rate, width, ascii_only))


@contextmanager
def _ticking(draw: Callable[[], None]) -> Iterator[None]:
    """Draw once a second, in a thread of its own: one evaluation can take minutes."""
    over = Event()

    def go_on() -> None:
        while not over.wait(TICK):
            draw()

    thread = Thread(target=go_on, name="bestarm-display", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class LogLines:
    """Writes how a race stands as a line on standard error, now and then; nothing of a short race."""

    def __init__(self, look: Callable[[], Standing]) -> None:
        self._look = look
        self._begun = time.monotonic()
        self._pause = FIRST_LINE
        self._next = self._begun + FIRST_LINE
        self._pace = Pace(look().n_done)

    def update(self) -> None:
        """Write, if it is time to; then again after a pause twice as long."""
        seconds = time.monotonic()
        if seconds < self._next:
            return
        now, elapsed = self._look(), seconds - self._begun
        with suppress(OSError, ValueError):  # a log that cannot be written does not end a race
            sys.stderr.write(f"{one_line(now, elapsed, self._pace.rate(elapsed, now.n_done))}\n")
            sys.stderr.flush()
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._next = seconds + self._pause


@contextmanager
def display(look: Callable[[], Standing], wanted: bool) -> Iterator[Callable[[], None] | None]:
    """What a race calls when something has happened: it shows how the race stands. None where nothing is shown.

    In a terminal and in a notebook some lines are redrawn, and removed at the end. Elsewhere standard error gets a line
    after 10 s, and further ones after pauses that grow to five minutes.
    """
    if not wanted or sys.stderr is None or isinstance(sys.stderr, _Above):  # which another race shows itself on
        yield None
    elif (place := _place()) is None:
        yield LogLines(look).update
    else:
        with place, announce_compiling(place.say):
            shown = LiveDisplay(look, place)
            with _ticking(shown.draw):
                yield shown.update


def _place() -> Terminal | Notebook | None:
    """The terminal or the notebook that somebody looks at."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter:
        return Notebook()
    simple = console.is_dumb_terminal or console.legacy_windows
    taken = hasattr(sys.stderr, "rich_proxied_file")  # by a display of the user's
    return Terminal() if _is_terminal(sys.stderr) and not (simple or taken) else None


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # none, somebody's own, or closed
        return False


# --- that kernels are compiled ----------------------------------------------------------------------------------------


class _CompileNotice(logging.Handler):
    """Passes one text on when the first kernel is compiled, and nothing afterwards."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say: Callable[[str], None] | None = say

    def emit(self, record: logging.LogRecord) -> None:
        say, self._say = self._say, None
        if say is not None:
            say(TEXT)


@contextmanager
def announce_compiling(say: Callable[[str], None] | None) -> Iterator[None]:
    """Say once that kernels are compiled, if any are; not with None, nor within another of these."""
    if say is None or any(isinstance(handler, _CompileNotice) for handler in KERNELS.handlers):
        yield
        return
    handler, before = _CompileNotice(say), (KERNELS.level, KERNELS.propagate)
    KERNELS.setLevel(logging.INFO)
    KERNELS.propagate = False  # the user's own log is about other things
    KERNELS.addHandler(handler)
    try:
        yield
    finally:
        KERNELS.removeHandler(handler)
        KERNELS.level, KERNELS.propagate = before
