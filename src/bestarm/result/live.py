"""A race while it runs: who is still in, the leader's lead, what is spent."""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bestarm.text import join_arm_names, name_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live


TEXT = "preparing compiled code, once after an installation or an upgrade: this takes some seconds"
KERNELS = logging.getLogger("bestarm.kernels")
PERIOD = 0.25  # seconds between two pictures
SHARE = 0.1  # of the time that may go into working out what to show: bounds of some tests take a while in long races


@dataclass(frozen=True)
class Standing:
    """How a race stands, for a display; arms by name, candidates by their means."""

    n_rounds: int
    n_arms: int
    n_evaluations: int
    everything: int | None  # evaluations of all arms on all items
    saved: int  # evaluations of arms that had left
    candidates: tuple[str, ...]  # none before the first round
    lead: float | None  # of the first over the second
    regret_bound: float | None  # how much better than the leader any arm can still be; None where it is not known


class LiveDisplay:
    """A few lines that are redrawn as the race goes on."""

    def __init__(self, look: Callable[[], Standing], live: "Live") -> None:
        self._look = look
        self._live = live
        self._next = 0.0

    def update(self) -> None:
        """Draw, unless the last picture is fresh."""
        begun = time.monotonic()
        if begun < self._next:
            return
        self._live.update(picture(self._look()), refresh=True)
        ended = time.monotonic()
        self._next = ended + max(PERIOD, (ended - begun) / SHARE)


@contextmanager
def display(look: Callable[[], Standing], wanted: bool) -> Iterator[Callable[[], None] | None]:
    """What a race calls when something has happened: it draws how the race stands. None where nothing is drawn."""
    from rich.console import Console

    console = Console(stderr=True)
    if not wanted or not (console.is_terminal or console.is_jupyter):
        yield None
        return
    from rich.live import Live

    with announce_compiling(console.print), Live(console=console, transient=True, auto_refresh=False) as live:
        yield LiveDisplay(look, live).update


def picture(now: Standing) -> "RenderableType":
    """Who is still in, the leader and its lead, evaluations spent and saved."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    lines = Table.grid(padding=(0, 2))
    lines.add_row("round", f"{now.n_rounds:,}")
    if now.everything is None:
        lines.add_row("evaluations", f"{now.n_evaluations:,}")
    else:
        lines.add_row("evaluations", f"{now.n_evaluations:,} of {now.everything:,}")
        lines.add_row("", ProgressBar(total=now.everything, completed=now.n_evaluations, width=40))
    lines.add_row("saved so far", f"{now.saved:,}")
    if now.candidates:
        lines.add_row("still in", Text(f"{len(now.candidates)} of {now.n_arms}: {join_arm_names(now.candidates)}"))
        lines.add_row("leader", Text(leader_line(now)))
    return lines


def leader_line(now: Standing) -> str:
    """The leader, by how much it leads the next, and how much better any arm can still be."""
    leader = name_of(now.candidates[0])
    if now.lead is None:
        return leader
    text = f"{leader}, {now.lead:.3g} ahead of {name_of(now.candidates[1])}"
    known = now.regret_bound is not None and math.isfinite(now.regret_bound)
    return f"{text}; no arm is better by more than {now.regret_bound:.3g}" if known else text


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
