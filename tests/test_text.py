"""Texts from outside: made safe before they are shown, and every output with names that try to steer a terminal.

A new output is one more entry of `OUTPUTS`: a function that returns all it shows.
"""

import csv
import io
import json
import re
import unicodedata
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner

import bestarm
from attacks.bad_values import Hostile, nested
from bestarm.cli import app
from bestarm.comparisons import StudentMixture
from bestarm.planning import PlannedRule
from bestarm.result.live import Standing, one_line, picture
from bestarm.result.outcome import FailureCount
from bestarm.text import (
    LONGEST_DESCRIPTION,
    RULES,
    Target,
    cut_short,
    distinct_names,
    in_ascii,
    join_arm_names,
    sanitize,
    short_repr,
)

CUT: tuple[Target, ...] = ("name", "failure", "message", "page")
OFTEN = "\x00\x1b\x9b\n\t\r\u202e\u200d\u200d\ud800\U000e0041=+\u0301\u0301\u0301\u0301\ufe0f\U000e0100\u3164\u034féa "
TEXTS = st.text(st.characters() | st.sampled_from(OFTEN), max_size=60)
LETTERS = "".join(map(chr, range(0x110000)))
JOINERS = {"\u200c", "\u200d"}
UNSEEN = re.compile("(HANGUL|KHITAN).* FILLER|PATTERN BLANK|GRAPHEME JOINER|VOWEL INHERENT|NULL NOTEHEAD")


def steers(letter: str) -> bool:
    """By its category or its name, whether a character controls, hides or turns text, is not seen, or is none."""
    if UNSEEN.search(unicodedata.name(letter, "")):
        return True
    no_letter = ord(letter) & 0xFFFE == 0xFFFE and ord(letter) < 0x10000
    return no_letter or unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")


STEER = {letter for letter in LETTERS if steers(letter)} - JOINERS


def test_all_characters_that_steer_are_known_and_letters_are_left() -> None:
    known = {letter for letter in LETTERS if sanitize(f"é{letter}", "name") != f"é{letter}"}
    assert known >= STEER
    assert {unicodedata.category(letter) for letter in known - STEER} <= {"Cn", "Co"}  # unassigned, private use


# A heart in colour, a key, an eye in a bubble, the variant of a Chinese letter, blanks of French and Japanese, accents.
MARKED = ["❤\ufe0f", "1\ufe0f\u20e3", "👁\ufe0f\u200d🗨\ufe0f", "葛\U000e0100", "5\xa0€ 名\u3000前", "e" + "\u0301" * 8]


@pytest.mark.parametrize("text", ["a  b", "héllo", "長い", "👩\u200d👩\u200d👧", "می\u200cخواهم", "क्\u200dष", *MARKED])
def test_letters_of_all_languages_stay(text: str) -> None:
    assert {sanitize(text, target) for target in RULES} == {text}


@pytest.mark.parametrize(
    ("target", "text", "shown"),
    [
        ("name", "\x1b]52;c;ZQ==\x07", r"\x1b]52;c;ZQ==\x07"),
        ("name", "a\x00b\x7f\x9b2J", r"a\x00b\x7f\x9b2J"),
        ("name", "two\nlines\r\n\tand a tab", r"two\nlines\r\n\tand a tab"),
        ("name", "\u202eevil\u2066\u200e\ufeff\u2028", r"\u202eevil\u2066\u200e\ufeff\u2028"),
        ("name", "\udcff\U000e0041", r"\udcff\U000e0041"),
        ("name", "a\u3164\u115f\u2800\xadb\u034f\uffa0", r"a\u3164\u115f\u2800\xadb\u034f\uffa0"),
        ("name", "\u200da\u200d é\u200d\u200d", "\\u200da\\u200d é\u200d\\u200d"),
        ("name", "\u3164\u200d\ue000", r"\u3164\u200d\ue000"),
        ("message", "one\r\n\ttwo\nthree\rx", "one\n    two\nthree\\rx"),
        ("csv", "\t=1+1", r"\t=1+1"),
    ],
)
def test_what_steers_becomes_visible_and_lines_of_a_message_stay(target: Target, text: str, shown: str) -> None:
    assert sanitize(text, target) == shown


@given(TEXTS, st.sampled_from(list(RULES)))
def test_what_was_shown_is_harmless_and_stays(text: str, target: Target) -> None:
    once = sanitize(text, target)
    assert sanitize(once, target) == once
    assert set(once) & STEER <= {"\n"}
    assert RULES[target].lines or "\n" not in once
    once.encode()


@pytest.mark.parametrize("target", CUT)
@pytest.mark.parametrize("letter", ["n", "\x1b", "\U000e0041", "長"])
def test_long_texts_lose_their_middle_and_are_told_apart(letter: str, target: Target) -> None:
    long = [letter * 50_000, letter * 50_001, letter * 25_000 + "x" + letter * 24_999]
    cut, limit = [sanitize(text, target) for text in long], RULES[target].longest or 0
    assert len(set(cut)) == 3
    assert all(len(text) <= limit for text in cut)
    assert "[50,000 characters, " in cut[0]
    assert [sanitize(text, target) for text in cut] == cut
    assert sanitize("n" * limit, target) == "n" * limit


def test_a_text_is_cut_short_after_its_escapes() -> None:
    assert cut_short("a" * 80, 80) == "a" * 80
    assert cut_short("a" * 81, 80) == "a" * 79 + "…"
    assert cut_short("\x1b" * 30, 80) == (r"\x1b" * 20)[:79] + "…"


@given(st.dictionaries(TEXTS, TEXTS, max_size=3) | st.lists(TEXTS, max_size=3))
def test_a_document_in_json_stays_the_same(value: object) -> None:
    document = sanitize(json.dumps(value, indent=1, ensure_ascii=False), "json")
    assert json.loads(document) == json.loads(in_ascii(document)) == value
    assert in_ascii(document).isascii()
    assert set(document) & STEER <= {"\n"}


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-A1", "@SUM(A1)", "＝1+1", "=cmd|' /C calc'!A0", "-"])
def test_a_cell_is_no_formula(text: str) -> None:
    assert sanitize(text, "csv") == f"'{text}"


@pytest.mark.parametrize("text", ["-1.5", "+2", "1e-3", "-inf", "plain", "a=b", "", "\\t=1"])
def test_numbers_and_other_texts_stay_as_they_are_in_a_cell(text: str) -> None:
    assert sanitize(text, "csv") == text


@pytest.mark.parametrize(
    ("n", "words"), [(1, "a"), (2, "a and b"), (5, "a, b, c, d and e"), (6, "a, b, c, d, e and 1 more")]
)
def test_five_names_fit_into_a_sentence(n: int, words: str) -> None:
    assert join_arm_names(tuple("abcdefgh"[:n])) == words


# --- values in messages ----------------------------------------------------------------------------------------------


MUTE = Hostile(("repr",))  # an object that cannot say what it is
VALUES = [MUTE, [MUTE], 10**5000, [10**5000], np.eye(3), "a" * 5000, "a\nb\x1b", nested(20_000)]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_a_value_is_described_in_one_short_line(place: int) -> None:
    text = short_repr(VALUES[place])
    assert 0 < len(text) <= LONGEST_DESCRIPTION
    assert text.isprintable()


def test_an_array_is_described_without_its_line_ends() -> None:
    assert short_repr(np.eye(2)) == "array([[1., 0.], [0., 1.]])"


# --- all outputs ------------------------------------------------------------------------------------------------------

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
    for name, table in (("scores", [named, *rows]), ("same", [named[:2], *[row[:1] * 2 for row in rows]])):
        with (place / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(table)
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
    page, behind = io.StringIO(), (0.0, 0.1, 0.2, 0.3, 0.4)
    failures = tuple(FailureCount(name, worst=1) for name in NAMES[:2])
    for names in (NAMES[:5], NAMES[-5:]):
        now = Standing(3, len(NAMES), 9, None, 1, tuple(names), 0.1, None, behind, failures=failures)
        Console(file=page, width=200).print(picture(now, width=200))
        page.write(one_line(now, 10.0))
    return page.getvalue()


def warning(folder: Path) -> str:
    coins = np.random.default_rng(0).integers(2, size=(60, 2))
    return "".join(bestarm.race_table(coins, arms=[NAMES[0], NAMES[4]], comparison=StudentMixture()).warnings)


def race(**more: Any) -> Any:
    usual: dict[str, Any] = {"arms": NAMES, "items": range(40), "bounds": (0, 1), "progress": False}
    return bestarm.race(score, **usual | more)


EVIL = "\x1b]52;c;eA==\x07\x1b[2J"
RULE = PlannedRule("a race", dict.fromkeys((0.1, 0.5, 0.9), 9.0))
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
    "plan": lambda folder: str(bestarm.Plan(9, 2, None, 0.1, NAMES[0], (RULE,), (1.0, 9.0), twins=(NAMES[-1],))),
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
    shown = {plain["best"]} if "plan" in output else {record["arm"] for record in plain["arms"]}
    assert shown <= set(result(folder).arms)


def test_results_hold_the_names_as_they_are(folder: Path) -> None:
    def given(arm: str) -> str:
        return arm.replace("\udcff", r"\udcff")  # a file holds Unicode

    assert result(folder).arms == tuple(map(given, NAMES))
    assert set(result(folder).to_frame().index) == set(map(given, NAMES))
    assert race(arms=NAMES[7:], items=range(12)).arms == tuple(NAMES[7:])


def test_a_page_of_long_names_stays_small(folder: Path) -> None:
    many = [f"{k} {'n' * 50_000} {k}" for k in range(50)]
    table = np.random.default_rng(0).random((60, 50))
    bestarm.race_table(table, arms=many, bounds=(0, 1)).to_html(folder / "many.html")
    assert (folder / "many.html").stat().st_size < 500_000


def test_failures_are_short_before_they_are_stored(folder: Path) -> None:
    (failed,) = result(folder).disqualified
    assert len(failed.failure) <= 500
    assert re.search(r"failed: ValueError: \\x1b\[2Jx+… \[50,\d+ characters, [0-9a-f]{8}\] …x+\\u202e$", failed.failure)


def test_names_that_would_look_alike_begin_where_they_differ() -> None:
    long = [f"organisation/a-model-of-ours-{size}B-instruct-with-retrieval" for size in (405, 70)]
    assert len(set(distinct_names([*long, "b"], 20))) == 3
    assert [name[:1] for name in distinct_names(long, 20)] == ["…", "…"]
    assert max(map(len, distinct_names(long, 20))) <= 20
    same = ["x" * 40, "x" * 40]
    assert distinct_names(same, 20) == [distinct_names(same, 20)[0]] * 2  # what is the same stays the same
