"""What is shown of a race while it runs: the words, the terminal, the log; and that compiling is said once."""

import io
import logging
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import bestarm
from bestarm.cli.app import clear_errors
from bestarm.racing import Standing
from bestarm.result import live
from bestarm.result.outcome import FailureCount
from terminals import Screen

KERNELS = logging.getLogger("bestarm.kernels")

# --- the words --------------------------------------------------------------------------------------------------------


def lines_of(now: Standing, width: int = 80, elapsed: float = 222.0, rate: float | None = 4.71) -> list[str]:
    """The lines of the display."""
    page = io.StringIO()
    console = Console(file=page, width=width, color_system=None)
    console.print(live.picture(now, elapsed, rate, width), highlight=False)
    return [line.rstrip() for line in page.getvalue().splitlines()]


RACE = Standing(
    n_rounds=212,
    n_arms=8,
    n_evaluations=1054,
    everything=None,
    saved=642,
    candidates=("step by step", "few shots", "plain"),
    lead=0.034,
    regret_bound=0.2071,
    behind=(0.0, 0.034, 0.205),
    widest_lead=1.0,
)
FAILED = (FailureCount("few shots", retried=12, worst=3), FailureCount("plain", retried=1, timed_out=2))


@pytest.mark.parametrize("width", [80, 160])
def test_the_display_of_a_race_with_a_budget_on_an_executor_that_fails_at_times(width: int) -> None:
    in_flight = {"in_flight": 11, "rounds_in_flight": 4, "most_rounds_in_flight": 4}
    now = replace(RACE, max_evaluations=6000, most_left=4957, failures=FAILED, **in_flight)  # type: ignore[arg-type]
    assert lines_of(now, width) == [
        "evaluations  1,043 in 212 rounds, 4.7 per second, 3 min 42 s",
        "budget       ━━━─────────────────  17% of 6,000, at most 18 min left",
        "in flight    11 evaluations of 4 rounds",
        "failures     13 retried, 3 counted as worst, 2 timed out (few shots, plain)",
        "still in     3 of 8, none better by more than 0.21",
        "             step by step   leads",
        "             few shots      0.034 behind",
        "             plain          0.205 behind",
    ]


def test_without_a_budget_the_share_is_one_of_everything_or_there_is_none() -> None:
    listed = replace(RACE, everything=4000, most_left=2000)
    assert lines_of(listed)[1] == "everything   ━━━━━───────────────  26% of 4,000, at most 8 min left"
    assert lines_of(replace(listed, max_evaluations=9000))[1] == lines_of(listed)[1]
    assert lines_of(RACE) == [
        "evaluations  1,054 in 212 rounds, 4.7 per second, 3 min 42 s",
        "still in     3 of 8, none better by more than 0.21",
        "             step by step   leads",
        "             few shots      0.034 behind",
        "             plain          0.205 behind",
    ]


def test_the_time_left_is_not_said_before_a_rate_is_known() -> None:
    listed = replace(RACE, everything=4000, most_left=2000)
    for elapsed, rate in ((222.0, None), (222.0, 0.0), (4.0, 4.71)):
        assert lines_of(listed, 80, elapsed, rate)[1].endswith("  26% of 4,000")


def test_before_the_first_round_nobody_leads() -> None:
    begun = replace(RACE, n_rounds=0, n_evaluations=8, in_flight=8, candidates=(), behind=(), regret_bound=None)
    assert lines_of(begun, 80, 0.7, None) == ["evaluations  0 in 0 rounds, 0 s", "still in     8 of 8"]


@pytest.mark.parametrize("width", [80, 160])
def test_many_arms_with_long_names_stay_apart_and_within_the_width(width: int) -> None:
    long = [f"meta-llama/Llama-3.1-{n}B-Instruct-Turbo-FP8-with-retrieval" for n in (405, 70, 8)]
    now = replace(
        RACE,
        n_arms=49,
        n_evaluations=1_234_567,
        everything=49_000_000,
        most_left=46_000_000,
        candidates=(*long, *(f"m{k}" for k in range(20))),
        behind=(0.0, 0.0004, 0.0123, *(0.02 + 0.01 * k for k in range(20))),
        regret_bound=0.00312,
        epsilon=0.002,
    )
    lines = lines_of(now, width)
    assert lines[1:3] == [
        "everything   ────────────────────  2% of 49,000,000, at most 114 days left",
        "still in     23 of 49, none better by more than 0.0032 (ends at 0.002)",
    ]
    short = [f"meta-llama/Llama-3.1-{n}…h-retrieval" for n in ("40", "70", "8B")]
    assert [line[13:].split("   ")[0] for line in lines[3:]] == [*(short if width == 80 else long), "and 20 more"]
    behind = ["leads", "0.0004 behind", "0.0123 behind", "0.0200 to 0.2100 behind"]
    assert [line.split("   ")[-1].strip() for line in lines[3:]] == behind


def test_the_fourth_of_four_is_shown_by_its_name() -> None:
    four = replace(RACE, candidates=(*RACE.candidates, "zero"), behind=(*RACE.behind, 0.3))
    assert [" ".join(line.split()) for line in lines_of(four)[2:]] == [
        "step by step leads",
        "few shots 0.034 behind",
        "plain 0.205 behind",
        "zero 0.300 behind",
    ]


@pytest.mark.parametrize(
    ("behind", "more", "said"),
    [
        ((0.12, 0.333), {"criterion": "wins"}, ["12% more items lost than won", "33% more items lost than won"]),
        ((-0.12, 0.0), {"criterion": "wins"}, ["12% more items won than lost", "level"]),
        ((0.0042, 1.5), {"unit": "s"}, ["0.004 s behind", "1.500 s behind"]),
        ((0.0, 0.0), {}, ["level", "level"]),
        ((-0.25, 31.0), {}, ["0.25 ahead", "31.00 behind"]),
        ((1500.0, 23456.0), {}, ["1,500 behind", "23,456 behind"]),
        ((2.5e-9, 1e-8), {}, ["2.5e-09 behind", "1e-08 behind"]),
        ((2.0, 1e150), {}, ["2 behind", "1e+150 behind"]),
    ],
)
def test_differences_are_said_in_words(behind: tuple[float, ...], more: dict[str, Any], said: list[str]) -> None:
    lines = lines_of(replace(RACE, behind=(0.0, *behind), **more))
    assert [line.split("   ")[-1].strip() for line in lines[-2:]] == said


@pytest.mark.parametrize(
    ("bound", "more", "said"),
    [
        (None, {}, ""),
        (math.inf, {"widest_lead": math.inf}, ""),
        (0.999, {}, ""),  # nobody can be better by more than 1
        (0.2071, {"candidates": ("a",), "behind": (0.0,)}, ""),
        (0.98, {}, ", none better by more than 0.98"),
        (0.20001, {}, ", none better by more than 0.21"),
        (0.2, {}, ", none better by more than 0.2"),
        (0.0, {}, ", none better by more than 0"),
        (1234.5, {"widest_lead": math.inf}, ", none better by more than 1,300"),
        (0.0213, {"unit": "s"}, ", none better by more than 0.022 s"),
        (
            0.41,
            {"criterion": "wins", "epsilon": 0.1},
            ", none better by more than 41% of the items (ends at 10%)",
        ),
    ],
)
def test_the_bound_is_rounded_up_and_said_only_where_it_says_something(
    bound: float | None, more: dict[str, Any], said: str
) -> None:
    n_left = len(more.get("candidates", RACE.candidates))
    assert lines_of(replace(RACE, regret_bound=bound, **more))[1] == f"still in     {n_left} of 8{said}"


@pytest.mark.parametrize(
    ("elapsed", "rate", "said"),
    [
        (0.99, None, "0 s"),
        (59.9, 12345.6, "12,346 per second, 59 s"),
        (60.0, 1.0, "1.0 per second, 1 min 00 s"),
        (3599.0, 0.5, "30 per minute, 59 min 59 s"),
        (3661.0, 1 / 60, "1.0 per minute, 1 h 01 min"),
        (90000.0, 0.001, "3.6 per hour, 1 day 1 h"),
    ],
)
def test_rates_and_times_are_in_units_that_one_can_read(elapsed: float, rate: float | None, said: str) -> None:
    assert lines_of(RACE, 80, elapsed, rate)[0] == f"evaluations  1,054 in 212 rounds, {said}"


def test_names_that_look_like_markup_are_shown_as_they_are() -> None:
    names = ("[/red]", "[bold]", ":dog:")
    lines = lines_of(replace(RACE, candidates=names, failures=(FailureCount("[/red]", worst=1),)))
    assert [line.split()[0] for line in lines[-3:]] == list(names)
    assert lines[1] == "failures     1 counted as worst ([/red])"


def test_a_terminal_that_knows_ascii_alone_gets_a_bar_in_it() -> None:
    page = io.StringIO()
    Console(file=page, width=80).print(live.picture(replace(RACE, everything=4000), 9.0, None, 80, ascii_only=True))
    assert "#####---------------  26% of 4,000" in page.getvalue()


def test_the_line_of_a_log_says_the_same() -> None:
    now = replace(RACE, max_evaluations=6000, most_left=4957, failures=FAILED)
    assert live.one_line(now, 222.0, 4.71) == (
        "bestarm: 3 min 42 s, 1,054 evaluations (17% of 6,000), 4.7 per second, at most 18 min left, failures: 13 "
        "retried, 3 counted as worst, 2 timed out (few shots, plain); 3 of 8 still in: step by step leads, few shots "
        "0.034 behind, plain 0.205 behind"
    )
    begun = replace(RACE, n_rounds=0, candidates=(), behind=(), regret_bound=None)
    assert live.one_line(begun, 10.0) == "bestarm: 10 s, 1,054 evaluations; 8 of 8 still in"


def test_the_present_rate_is_that_of_the_later_half_of_the_time() -> None:
    pace, rates = live.Pace(100), {}
    for second in range(1, 1001):  # compiled for 10 s, then ten evaluations a second, then one
        n_done = 100 + 10 * max(0, min(second, 100) - 10) + max(0, second - 100)
        rates[second] = pace.rate(second, n_done)
    assert rates[1] == rates[10] == 0.0
    assert rates[100] == pytest.approx(10.0)
    assert rates[1000] == pytest.approx(1.0)
    assert live.Pace(100).rate(0.5, 200) is None


# --- how a race stands ------------------------------------------------------------------------------------------------


def test_a_race_says_how_it_stands(level: dict[str, float]) -> None:
    contest = bestarm.Race(list(level), items=range(1000), bounds=(0, 1))
    for number in range(1, 13):
        contest.ask()
        contest.tell(number, {arm: level[arm] for arm in level if arm != "low" or number <= 9})
    now = contest.standing()
    assert (now.n_rounds, now.n_arms, now.n_evaluations, now.n_done, now.in_flight) == (12, 3, 35, 33, 2)
    assert (now.candidates, now.saved) == (("high", "mid"), 4)
    assert [now.lead, *now.behind] == pytest.approx([0.4, 0.0, 0.4])
    assert now.regret_bound == contest.result().regret_bound
    assert (now.everything, now.max_evaluations, now.limit) == (3000, None, 3000)
    assert now.most_left == 2 + 2 * (1000 - 13)  # of two arms, on the items that are left
    assert (now.widest_lead, now.epsilon, now.criterion, now.failures) == (1.0, 0.0, "mean", ())


def test_what_is_in_flight_and_what_is_left_of_a_budget() -> None:
    contest = bestarm.Race(["a", "b"], rounds_in_flight=3, max_evaluations=100, epsilon=0.5)
    now = contest.standing()
    assert (now.n_evaluations, now.n_done, now.in_flight, now.rounds_in_flight) == (6, 0, 6, 3)
    assert (now.most_rounds_in_flight, now.limit, now.most_left, now.epsilon) == (3, 100, 100, 0.5)
    assert (now.candidates, now.behind, now.everything, now.widest_lead) == ((), (), None, math.inf)
    contest.ask()
    contest.tell(2, {"a": 0.5})
    now = contest.standing()
    assert (now.n_done, now.in_flight, now.rounds_in_flight, now.most_left) == (1, 5, 3, 99)
    contest.tell(1, {"a": 0.5, "b": 0.7})  # the fourth round is opened
    now = contest.standing()
    assert (now.n_evaluations, now.n_done, now.rounds_in_flight, now.most_left) == (8, 3, 3, 97)


def test_groups_count_by_their_items() -> None:
    contest = bestarm.Race(["a", "b"], items=range(9), groups=[0, 0, 0, 1, 1, 1, 2, 2, 2], bounds=(0, 1))
    now = contest.standing()
    assert (now.n_evaluations, now.in_flight, now.rounds_in_flight, now.most_left, now.everything) == (6, 6, 1, 18, 18)


def test_failures_are_counted_by_arm() -> None:
    contest = bestarm.Race(["a", "b"], items=range(9), bounds=(0, 1), on_error="worst")
    contest.tell(contest.ask()[0], {"a": 0.5, "b": OSError("disk full")})
    assert contest.standing().failures == (FailureCount("b", worst=1),)


def test_a_smaller_score_is_not_behind_where_smaller_is_better() -> None:
    contest = bestarm.Race(["slow", "fast"], items=range(9), bounds=(0, 1), lower_is_better=True)
    contest.tell(contest.ask()[0], {"slow": 0.9, "fast": 0.2})
    assert contest.standing().candidates == ("fast", "slow")
    assert contest.standing().behind == pytest.approx([0.0, 0.7])


# --- the terminal -----------------------------------------------------------------------------------------------------


@pytest.fixture
def always_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every round is a picture, and nothing else is: neither time nor another thread decides what is seen."""
    monkeypatch.setattr(live, "DELAY", 0.0)
    monkeypatch.setattr(live, "PERIOD", 0.0)
    monkeypatch.setattr(live, "SHARE", math.inf)
    monkeypatch.setattr(live, "TICK", 3600.0)


@pytest.fixture
def screen(always_drawn: None) -> Screen:
    """A terminal of 60 columns and 12 rows."""
    return Screen(60, 12)


@contextmanager
def looking_at(screen: Screen, stdout: Any = None) -> Iterator[None]:
    """A terminal in place of standard error, and of standard output too unless that is something else."""
    before = stdout or screen, screen
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"TERM": "xterm-256color", "COLUMNS": "60", "LINES": "12"}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdout", before[0])
        patch.setattr(sys, "stderr", screen)
        yield
        assert (sys.stdout, sys.stderr) == before  # a race gives them back


def seen_by(screen: Screen, say: Callable[[int], object], stdout: Any = None) -> list[list[str]]:
    """The lines below the cursor at each evaluation of a race, which says something before."""
    seen: list[list[str]] = []

    def score(arm: str, item: int) -> float:
        say(len(seen))
        seen.append(["".join(line).rstrip() for line in screen.lines[screen.row + 1 :]])
        return {"a": 0.7, "b": 0.6}[arm]

    with looking_at(screen, stdout):
        bestarm.race(score, arms=["a", "b"], items=range(100), bounds=(0, 1), max_evaluations=40)
    return seen


def is_shown(below: list[str]) -> bool:
    return below[0].startswith("evaluations  ") and below[1].startswith("budget ") and below[2].startswith("still in")


def test_the_display_is_below_the_cursor_while_a_race_runs_and_nothing_is_left_of_it(screen: Screen) -> None:
    screen.write("$ python race.py\n")
    seen = seen_by(screen, lambda n: None)
    assert all(map(is_shown, seen[2:]))
    assert seen[-1][0].startswith("evaluations  38 in 19 rounds, ")
    assert seen[-1][1].startswith("budget       ─  95% of 40")
    assert seen[-1][3:5] == ["             a   leads", "             b   0.10 behind"]
    assert screen.text == ["$ python race.py"]
    assert (screen.row, screen.column) == (1, 0)


def say(n: int, stream: Any = None) -> None:
    """Print a line, as `print` does: the text, then its end."""
    for part in (f"evaluation {n}", "\n"):
        (stream or sys.stdout).write(part)


SAYINGS: dict[str, tuple[Callable[[int], object], list[str]]] = {
    "lines": (say, [f"evaluation {n}" for n in range(40)]),
    "lines of both streams": (
        lambda n: say(n, sys.stderr if n % 2 else sys.stdout),
        [f"evaluation {n}" for n in range(40)],
    ),
    "several lines": (lambda n: sys.stdout.writelines(["one\n", "two\n"]), ["one", "two"] * 40),
    "several lines at once": (lambda n: sys.stdout.write("one\ntwo\n"), ["one", "two"] * 40),
    "dots": (lambda n: sys.stdout.write("."), ["." * 40]),
    "more dots than a line holds": (lambda n: sys.stdout.write("..."), ["." * 60, "." * 60]),
    "lines as long as the terminal is wide": (lambda n: sys.stdout.write(f"{'x' * 60}\n"), ["x" * 60] * 40),
    "longer lines": (lambda n: sys.stdout.writelines(["x" * 70, "\n"]), ["x" * 60, "x" * 10] * 40),
    "a bar of its own": (lambda n: sys.stderr.write(f"\rdone {n}"), ["done 39"]),
    "a line every other time": (lambda n: None if n % 2 else say(n), [f"evaluation {n}" for n in range(0, 40, 2)]),
}


@pytest.mark.parametrize(("speak", "said"), SAYINGS.values(), ids=SAYINGS.keys())
def test_what_is_printed_meanwhile_is_there_in_order_above_the_display(
    speak: Callable[[int], object], said: list[str], screen: Screen
) -> None:
    screen.write("before\n")
    seen = seen_by(screen, speak)
    assert [line for line in screen.text if line] == ["before", *said]
    assert [is_shown(below) for below in seen[2:]].count(False) <= 2  # where a line of dots is full


def test_what_others_write_to_the_terminal_is_not_lost(screen: Screen) -> None:
    # A child process, or a compiled library: once a round, at the cursor.
    seen_by(screen, lambda n: n % 2 or screen.write(f"from C {n}\n"))
    assert screen.text == [f"from C {n}" for n in range(0, 40, 2)]


def test_the_echo_of_an_interruption_is_not_left_on_the_line_of_the_answer(screen: Screen) -> None:
    def stop(n: int) -> None:
        if n == 9:
            screen.write("^C")
            raise KeyboardInterrupt

    seen_by(screen, stop)
    assert (screen.text, screen.column) == ([], 0)


def test_what_is_logged_is_above_the_display_too(screen: Screen) -> None:
    logger, handler = logging.getLogger("a client of some model"), logging.StreamHandler(screen)
    logger.addHandler(handler)
    try:
        seen_by(screen, lambda n: logger.warning("one %d\ntwo", n))
        assert handler.stream is screen
    finally:
        logger.removeHandler(handler)
    assert screen.text == [line for n in range(40) for line in (f"one {n}", "two")]


def say_in_a_fork(n: int) -> None:
    """Print what a worker of a pool prints that was forked from this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "getpid", lambda: -1)
        sys.stdout.write(f"one {n}\ntwo {n}\n")


def test_what_a_forked_worker_prints_takes_the_display_away_until_its_parent_draws_again(screen: Screen) -> None:
    seen_by(screen, say_in_a_fork)
    assert screen.text == [f"{what} {n}" for n in range(40) for what in ("one", "two")]


def test_standard_output_that_is_no_terminal_gets_what_is_printed_as_ever(screen: Screen) -> None:
    file = io.StringIO()
    assert all(map(is_shown, seen_by(screen, say_in_a_fork, file)[2:]))
    assert file.getvalue() == "".join(f"one {n}\ntwo {n}\n" for n in range(40))


def test_a_stream_that_the_user_puts_in_place_meanwhile_stays(screen: Screen) -> None:
    mine = io.StringIO()

    def score(arm: str, item: int) -> float:
        sys.stdout = mine
        return {"a": 0.7, "b": 0.6}[arm]

    with looking_at(screen):
        bestarm.race(score, arms=["a", "b"], items=range(100), bounds=(0, 1))
        assert sys.stdout is mine
        sys.stdout = screen


def test_a_terminal_that_is_gone_does_not_end_a_race(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(text: str) -> int:
        raise OSError("Input/output error")

    monkeypatch.setattr(screen, "write", gone)
    assert len(seen_by(screen, lambda n: KERNELS.info("compiling something"))) == 40


INNER: dict[str, Any] = {"arms": [0.1, 0.9], "items": range(99), "bounds": (0, 1)}


@pytest.mark.parametrize("thread", [False, True], ids=["inside an evaluation", "in another thread"])
def test_another_race_leaves_the_terminal_to_the_first(thread: bool, screen: Screen) -> None:
    below: list[str] = []

    def inner(arm: float, item: int) -> float:
        below.extend("".join(line) for line in screen.lines[screen.row + 1 :])
        return arm

    def another(n: int) -> None:
        if n == 9:
            beside = threading.Thread(target=bestarm.race, args=(inner,), kwargs=INNER)
            (beside.start if thread else beside.run)()
            if thread:
                beside.join()

    seen = seen_by(screen, another)
    assert all(map(is_shown, seen[2:]))
    assert any("a   leads" in line for line in below)
    assert not any("0.9   leads" in line for line in below)


def test_the_log_is_about_the_race_around_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live, "FIRST_LINE", 0.0)  # a line after each round
    bestarm.race(lambda arm, item: bestarm.race(lambda arm, item: arm, **INNER).best - arm, **INNER)
    written = capsys.readouterr().err
    assert ": 0.1 leads" in written
    assert ": 0.9 leads" not in written  # in the races inside


def test_a_round_that_is_stored_in_parts_is_shown_in_parts(screen: Screen) -> None:
    seen: list[str] = []

    def score(arm: str, item: int) -> float:
        if arm == "fails":
            raise OSError("disk full")
        seen.append("".join(screen.lines[screen.row + 1]).split(" rounds")[0])
        return 0.9

    with looking_at(screen):
        bestarm.race(score, arms=["fails", "b"], items=range(9), bounds=(0, 1), on_error="worst", max_evaluations=6)
    assert [line.split()[1] for line in seen] == ["1", "3", "5"]


def test_warnings_are_lines_above_the_display(screen: Screen) -> None:
    def score(arm: str, item: int) -> float:
        raise OSError("disk full")

    with looking_at(screen), clear_errors():
        bestarm.race(score, arms=["a", "b"], items=range(200), bounds=(0, 1), max_evaluations=40, on_error="worst")
    text = "".join("".join(screen.text).split())
    assert text.startswith("warning:everyevaluationofthefirstroundfailed")
    assert "stillin" not in text


def test_the_clock_goes_on_during_a_long_evaluation(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "TICK", 0.001)
    shown = threading.Event()
    draw = live.LiveDisplay.draw

    def note(display: live.LiveDisplay) -> None:
        draw(display)
        shown.set()

    monkeypatch.setattr(live.LiveDisplay, "draw", note)
    seen_by(screen, lambda n: None if n else require(shown.wait(60)))
    assert screen.text == []


def require(true: bool) -> None:
    if not true:
        raise TimeoutError


def test_the_display_is_drawn_at_most_so_often_and_takes_a_tenth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock: Any = SimpleNamespace(now=99.5, monotonic=lambda: clock.now)
    drawn, cost = list[float](), 0.0

    def draw(render: Any) -> None:
        drawn.append(clock.now)
        clock.now += cost

    monkeypatch.setattr(live, "time", clock)
    place: Any = SimpleNamespace(show=draw)
    display = live.LiveDisplay(bestarm.Race(["a", "b"]).standing, place)
    for clock.now in (99.75, 100.0, 100.125, 100.1875, 100.25, 100.375, 100.5):  # nothing in the first half second
        display.update()
    assert drawn == [100.0, 100.25, 100.5]
    cost = 2.0
    for clock.now in (101.0, 104.0, 122.5, 123.0):  # drawn in 101 to 103, so not again before 123
        display.update()
    assert drawn[3:] == [101.0, 123.0]


@pytest.mark.parametrize(
    ("stream", "terminal", "wanted"),
    [(Screen, "dumb", True), (io.StringIO, "xterm", True), (Screen, "xterm", False)],
    ids=["a terminal that cannot move its cursor", "no terminal", "not wanted"],
)
def test_nothing_is_drawn_elsewhere(
    stream: type[io.StringIO], terminal: str, wanted: bool, always_drawn: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as logs of continuous integration have it: colours, and no cursor
    monkeypatch.setattr(sys, "stderr", error := stream())
    bestarm.race(lambda arm, item: arm, arms=[0.1, 0.9], items=range(99), bounds=(0, 1), progress=wanted)
    assert (error.text if isinstance(error, Screen) else error.getvalue()) in ([], "")


# --- the log ----------------------------------------------------------------------------------------------------------


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(live, "time", clock)
    looks = []

    def look() -> Standing:
        looks.append(clock.now)
        return RACE

    written = []
    with live.display(look, True) as show:
        assert show is not None
        for clock.now in range(1600):
            show()
            if text := capsys.readouterr().err:
                written.append((clock.now, text))
    assert [second for second, _ in written] == [10, 30, 70, 150, 310, 610, 910, 1210, 1510]
    assert looks == [0.0, *(second for second, _ in written)]  # nothing else is worked out
    assert written[0][1] == f"{live.one_line(RACE, 10.0)}\n"


def test_a_log_that_cannot_be_written_does_not_end_a_race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "FIRST_LINE", 0.0)
    closed = io.StringIO()
    closed.close()
    for stream in (closed, None):
        monkeypatch.setattr(sys, "stderr", stream)
        result = bestarm.race(lambda arm, item: arm, arms=[0.1, 0.9], items=range(99), bounds=(0, 1))
        assert result.best == 0.9


# --- that kernels are compiled ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "quiet", "kernels", "times"),
    [(Screen, False, 2, 1), (Screen, False, 0, 0), (Screen, True, 2, 0), (io.StringIO, False, 2, 0)],
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
    said = "".join(error.text) if isinstance(error, Screen) else error.getvalue()
    assert "".join(said.split()) == "".join(live.TEXT.split()) * times


@pytest.mark.parametrize("command", [False, True])
def test_a_race_that_is_shown_says_it_too_unless_its_command_does(command: bool, screen: Screen) -> None:
    look = bestarm.Race(["a", "b"]).standing
    with looking_at(screen):
        with clear_errors() if command else nullcontext(), live.display(look, True):
            KERNELS.info("compiling something")
        assert "".join(screen.text).count("preparing") == 1
        with live.display(look, False):
            KERNELS.info("compiling something")
    assert "".join(screen.text).count("preparing") == 1


def test_a_unit_that_looks_like_markup_is_shown_as_it_is() -> None:
    assert any("[/]" in line for line in lines_of(replace(RACE, unit="[/]")))
