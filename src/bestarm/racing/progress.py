"""A race while it runs: who is still in, the leader's lead, what is spent."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from bestarm.racing.contest import Race
from bestarm.racing.words import names

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

PERIOD = 0.25  # seconds between two pictures
SHARE = 0.1  # of the time that may go into working out what to show: intervals of long races take a while


class Display(Protocol):
    """What a race tells that something has happened."""

    def update(self) -> None:
        """Something has happened."""
        ...


class Silent:
    """No display."""

    def update(self) -> None:
        """Nothing to show it on."""


class LiveDisplay:
    """A few lines that are drawn anew as the race goes on."""

    def __init__(self, contest: Race, live: "Live") -> None:
        self._contest = contest
        self._live = live
        self._next = 0.0

    def update(self) -> None:
        """Draw, unless the last picture is fresh."""
        begun = time.monotonic()
        if begun < self._next:
            return
        self._live.update(picture(self._contest), refresh=True)
        ended = time.monotonic()
        self._next = ended + max(PERIOD, (ended - begun) / SHARE)


@contextmanager
def display(contest: Race, wanted: bool) -> Iterator[Display]:
    """The display of a race: live on a terminal, none elsewhere."""
    if not wanted:
        yield Silent()
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield Silent()
        return
    from rich.live import Live

    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield LiveDisplay(contest, live)


def picture(contest: Race) -> "RenderableType":
    """Who is still in, the leader's lead and its interval, evaluations spent and saved."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    course, labels = contest.course, contest.entrants.labels
    game, settings = course.game, course.settings
    lines = Table.grid(padding=(0, 2))
    lines.add_row("round", f"{game.n_rounds:,}")
    total = None if settings.n_items is None else settings.n_items * game.n_arms
    if total is None:
        lines.add_row("evaluations", f"{course.spent:,}")
    else:
        lines.add_row("evaluations", f"{course.spent:,} of {total:,}")
        lines.add_row("", ProgressBar(total=total, completed=course.spent, width=40))
    lines.add_row("saved so far", f"{game.n_arms * course.n_decided - course.spent:,}")
    if game.n_rounds:
        order = sorted(game.candidates, key=lambda arm: -game.means[arm])
        lines.add_row("still in", Text(f"{len(order)} of {game.n_arms}: {names(tuple(labels[arm] for arm in order))}"))
        lines.add_row("leader", Text(leader_line(contest, order)))
    return lines


def leader_line(contest: Race, order: list[int]) -> str:
    """The leader and by how much it leads the next; the interval has an elimination's level on each side."""
    game, label = contest.course.game, contest.entrants.names
    if len(order) < 2:
        return label[order[0]]
    leader, rival = order[:2]
    text = f"{label[leader]}, {game.means[leader] - game.means[rival]:.3g} ahead of {label[rival]}"
    lead = game.lead(rival, leader)
    return text if lead is None else f"{text} ({lead[0]:.3g} to {lead[1]:.3g})"
