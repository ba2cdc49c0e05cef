"""Every output, with names and failures that try to steer a terminal or a page: none of them gets through.

A new output is one more entry of `OUTPUTS`: a function that returns all it shows.
"""

import csv
import io
import json
import re
import warnings
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import bestarm
from bestarm.cli import app
from bestarm.result.live import Standing, picture
from bestarm.result.shape import Shape, shape_warning
from bestarm.text import name_of
from test_shown import STEER

NAMES = [
    "\x1b]52;c;ZXZpbA==\x07clipboard",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[2J\x1b[Hcleared",
    "\x9b2Jcleared too",
    "\u202eturned\u2066",
    "zero\x00byte",
    "<script>alert(1)</script>",
    "[red]markup[/red] :smile:",
    "[text](http://evil.example) **bold**",
    r"$\frac{1}{0$",
    "=cmd|' /C calc'!A0",
    "two\nlines\tand\rmore\u2028here",
    "no letter \udcff",
    "n" * 50_000 + "1",
    "n" * 50_000 + "2",
]
FAILS = NAMES[6]
LONGEST_PAGE, LONGEST_OTHER = 300_000, 60_000  # characters; names of 50 kB are in JSON as they are


def score(arm: str, item: int) -> float:
    if arm == FAILS:
        raise ValueError("\x1b[2J" + "x" * 50_000 + "\u202e")
    return float(np.random.default_rng(item).random() * 0.3 + NAMES.index(arm) / 30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("hostile")
    usual: Any = {"bounds": (0, 1), "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bestarm.AssumptionWarning)
        bestarm.race(score, arms=NAMES, items=range(40), on_error="disqualify", store=place / "race.sqlite", **usual)
    named = [name for name in NAMES if "\x00" not in name and "\udcff" not in name]  # what a table can hold
    rows = [[f"{score(name, item) if name != FAILS else 0.1:.3f}" for name in named] for item in range(40)]
    with (place / "scores.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([named, *rows])
    with (place / "same.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([named[:2], *[row[:1] * 2 for row in rows]])
    (place / "items\n\x1b[2J.txt").write_text("a\nb\n", encoding="utf-8")
    return place


@cache
def result(folder: Path) -> Any:
    return bestarm.load_result(folder / "race.sqlite")


def typed(*words: str) -> Callable[[Path], str]:
    """What a command prints, on both streams."""

    def printed(folder: Path) -> str:
        ended = CliRunner().invoke(app, [word.format(folder=folder) for word in words])
        assert ended.exit_code in (0, 2, 3, 4), ended.exception
        return ended.output

    return printed


def message(call: Callable[[Path], object]) -> Callable[[Path], str]:
    """What an error says."""

    def said(folder: Path) -> str:
        with pytest.raises((ValueError, bestarm.BestarmError, KeyError)) as error:
            call(folder)
        return str(error.value.args[0] if isinstance(error.value, KeyError) else error.value)

    return said


def page(folder: Path) -> str:
    result(folder).to_html(folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


def pictured(folder: Path) -> str:
    """The texts of the picture, which is drawn as well: formulas would be read then."""
    from matplotlib.text import Text

    drawn = result(folder).plot()
    drawn.draw_without_rendering()
    return "\n".join(text.get_text() for text in drawn.findobj(Text))


def live(folder: Path) -> str:
    page = io.StringIO()
    for lead in (None, 0.1):
        now = Standing(3, len(NAMES), 9, None, 1, tuple(NAMES[:5]), lead, None)
        Console(file=page, width=200).print(picture(now))
    return page.getvalue()


def warning(folder: Path) -> str:
    return shape_warning((Shape(NAMES[0], NAMES[4], 9, 9, 1, 9, 0.0, 0.1, 0.1),)) or ""


def race(**more: Any) -> Any:
    usual: dict[str, Any] = {"arms": NAMES, "items": range(40), "bounds": (0, 1), "progress": False}
    return bestarm.race(score, **usual | more)


EVIL = "\x1b]52;c;eA==\x07\x1b[2J"
PROGRAM = "sh -c 'printf \"\\033[2Jgone\\233\" >&2; exit 3'"
OUTPUTS: dict[str, Callable[[Path], str]] = {
    "verdict": lambda folder: result(folder).verdict,
    "text": lambda folder: str(result(folder)),
    "repr": lambda folder: repr(result(folder)),
    "json": lambda folder: result(folder).to_json(),
    "page": page,
    "picture": pictured,
    "live display": live,
    "warning": warning,
    "no such arm": message(lambda folder: result(folder)["absent"]),
    "other arms": message(lambda folder: race(arms=NAMES[:3], store=folder / "race.sqlite")),
    "no such race": message(lambda folder: bestarm.load_result(folder / EVIL)),
    "failure": message(lambda folder: race(arms=[FAILS, "b"])),
    "not a number": message(lambda folder: bestarm.race(lambda arm, item: EVIL, arms=NAMES, items=[EVIL, 2])),
    "failure of a program": message(lambda folder: bestarm.race_commands([PROGRAM, "true"], items=None)),
    "plan": lambda folder: str(bestarm.Plan(9, 2, None, 0.1, NAMES[0], (), (1.0, 9.0), twins=(NAMES[-1],))),
    "show": typed("show", "{folder}/race.sqlite"),
    "show --json": typed("show", "{folder}/race.sqlite", "--json"),
    "report": typed("report", "{folder}/race.sqlite", "-o", "{folder}/a\n\x1b[2J.html"),
    "report refused": typed("report", "{folder}/race.sqlite", "-o", "{folder}/items\n\x1b[2J.txt"),
    "table": typed("table", "{folder}/scores.csv"),
    "table --json": typed("table", "{folder}/scores.csv", "--json"),
    "plan --json": typed("plan", "{folder}/same.csv", "--repetitions", "10", "--n-items", "20", "--json"),
    "limit": typed("limit", "{folder}/scores.csv", "--repetitions", "2", "-o", "{folder}/a\n\x1b[2J.png"),
    "limit refused": typed("limit", EVIL, "--repetitions", "2"),
    "commands": typed("commands", PROGRAM, "true", "--quiet"),
    "run": typed("run", f"{EVIL}:f", "--arms", "a,b"),
    "no such column": typed("table", "{folder}/scores.csv", "--item-column", EVIL),
    "no such file": typed("show", EVIL),
    "no such command": typed(EVIL),
    "no such option": typed("show", f"--{EVIL}"),
    "too many words": typed("show", "a", EVIL, "x" * 50_000),
    "wrong value": typed("table", "x.csv", "--missing", EVIL),
}


@pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")
@pytest.mark.parametrize("output", OUTPUTS)
def test_nothing_that_is_shown_steers_a_terminal(output: str, folder: Path) -> None:
    text = OUTPUTS[output](folder)
    assert text
    assert sorted(set(text) & STEER - {"\n"}) == []
    if "json" not in output:
        assert len(text) < (LONGEST_PAGE if output == "page" else LONGEST_OTHER)


@pytest.mark.parametrize("output", ["json", "show --json", "table --json", "plan --json"])
def test_json_holds_the_names_as_they_are(output: str, folder: Path) -> None:
    plain = json.loads(OUTPUTS[output](folder))
    stored = set(result(folder).arms)
    assert {plain["best"]} if "plan" in output else {record["arm"] for record in plain["arms"]} <= stored


def test_results_hold_the_names_as_they_are(folder: Path) -> None:
    def given(arm: str) -> str:
        return arm.replace("\udcff", r"\udcff")  # a file holds Unicode

    assert result(folder).arms == tuple(map(given, NAMES))
    assert set(result(folder).to_frame().index) == set(map(given, NAMES))
    assert race(arms=NAMES[7:], items=range(12)).arms == tuple(NAMES[7:])


def test_a_page_shows_markup_as_text_and_stays_small(folder: Path) -> None:
    tags = list[str]()
    browser: Any = HTMLParser()
    browser.handle_starttag = lambda tag, attributes: tags.extend([tag, *(name for name, _ in attributes)])
    browser.feed(page(folder))
    assert not {"script", "a", "img", "onclick", "href"} & set(tags)
    many = [f"{k} {'n' * 50_000} {k}" for k in range(50)]
    table = np.random.default_rng(0).random((60, 50))
    bestarm.race_table(table, arms=many, bounds=(0, 1)).to_html(folder / "many.html")
    assert (folder / "many.html").stat().st_size < 500_000


def test_failures_are_short_before_they_are_stored(folder: Path) -> None:
    (failed,) = result(folder).disqualified
    assert len(failed.failure) <= 500
    assert re.search(r"failed: ValueError: \\x1b\[2Jx+… \[50,\d+ characters, [0-9a-f]{8}\] …x+\\u202e$", failed.failure)


def test_long_names_that_begin_and_end_alike_are_told_apart() -> None:
    names = [f"{'n' * 300}{k}{'n' * 300}" for k in range(9)]
    assert len(set(map(name_of, names))) == 9
    assert max(len(name_of(name)) for name in names) <= 200
