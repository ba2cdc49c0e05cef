"""What is shown of a race while it runs, and that compiling is said once, to whoever looks."""

import io
import logging
import sys
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import bestarm
from bestarm.cli.app import clear_errors
from bestarm.result import live

KERNELS = logging.getLogger("bestarm.kernels")


def shown(contest: bestarm.Race[Any]) -> list[str]:
    """The lines of the display, with single blanks."""
    page = io.StringIO()
    Console(file=page, width=120, color_system=None).print(live.picture(contest.standing()))
    return [" ".join(line.split()) for line in page.getvalue().splitlines()]


def test_the_display_shows_who_is_in_the_lead_and_what_is_spent(level: dict[str, float]) -> None:
    assert shown(bestarm.Race(["a", "b"])) == ["round 0", "evaluations 2", "saved so far 0"]
    contest = bestarm.Race(list(level), items=range(1000), bounds=(0, 1))
    for number in range(1, 13):
        contest.ask()
        contest.tell(number, {arm: level[arm] for arm in level if arm != "low" or number <= 9})
    lines = shown(contest)
    assert lines[:2] == ["round 12", "evaluations 35 of 3,000"]
    assert lines[3:] == [
        "saved so far 4",
        "still in 2 of 3: high and mid",
        f"leader high, 0.4 ahead of mid; no arm is better by more than {contest.result().regret_bound:.3g}",
    ]


def test_names_that_look_like_markup_are_shown_as_they_are() -> None:
    names = ["[/red]", "[bold]", ":dog:"]
    contest = bestarm.Race(names, items=range(9), bounds=(0, 1))
    contest.tell(contest.ask()[0], {"[/red]": 0.9, "[bold]": 0.5, ":dog:": 0.1})
    assert shown(contest)[4] == "still in 3 of 3: [/red], [bold] and :dog:"


def test_the_display_is_drawn_at_most_so_often_and_takes_a_tenth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Any = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    drawn, cost = list[float](), 0.0

    def draw(picture: Any, refresh: bool) -> None:
        drawn.append(clock.now)
        clock.now += cost

    monkeypatch.setattr(live, "time", clock)
    terminal: Any = SimpleNamespace(update=draw)
    display = live.LiveDisplay(bestarm.Race(["a", "b"]).standing, terminal)
    for clock.now in (100.0, 100.125, 100.1875, 100.25, 100.375, 100.5):
        display.update()
    assert drawn == [100.0, 100.25, 100.5]
    cost = 2.0
    for clock.now in (101.0, 104.0, 122.5, 123.0):  # drawn in 101 to 103, so not again before 123
        display.update()
    assert drawn[3:] == [101.0, 123.0]


@pytest.mark.parametrize("wanted", [True, False])
def test_the_display_is_on_standard_error_of_a_terminal(
    race: Callable[..., Any], wanted: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    race(progress=True)
    assert capsys.readouterr() == ("", "")  # no terminal
    monkeypatch.setenv("FORCE_COLOR", "1")
    race(progress=wanted)
    out, err = capsys.readouterr()
    assert (out, "still in" in err) == ("", wanted)


class Terminal(io.StringIO):
    """A standard error that somebody looks at."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "quiet", "kernels", "times"),
    [(Terminal, False, 2, 1), (Terminal, False, 0, 0), (Terminal, True, 2, 0), (io.StringIO, False, 2, 0)],
    ids=["said once", "nothing compiled", "quiet", "no terminal"],
)
def test_a_command_says_once_that_it_compiles(
    stream: type[io.StringIO], quiet: bool, kernels: int, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = stream()
    monkeypatch.setattr(sys, "stderr", error)
    before = KERNELS.level, KERNELS.propagate, list(KERNELS.handlers)
    with clear_errors(quiet):
        for _ in range(kernels):
            KERNELS.info("compiling something")
    assert (KERNELS.level, KERNELS.propagate, list(KERNELS.handlers)) == before
    assert error.getvalue().split("\n") == [*[live.TEXT] * times, ""]


def nothing_yet() -> Any:
    raise AssertionError("nothing has happened that could be shown")


@pytest.mark.parametrize("command", [False, True])
def test_a_race_that_is_shown_says_it_too_unless_its_command_does(
    command: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with clear_errors() if command else nullcontext(), live.display(nothing_yet, True):
        KERNELS.info("compiling something")
    assert " ".join(stream.getvalue().split()).count(live.TEXT) == 1
    with live.display(nothing_yet, False):
        KERNELS.info("compiling something")
    assert stream.getvalue().count("preparing") == 1
