"""The one function that texts from outside pass before they are shown."""

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestarm.text import RULES, Target, cut_short, in_ascii, join_arm_names, sanitize, storable

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
    assert {unicodedata.category(letter) for letter in known - STEER} <= {
        "Cn",
        "Co",
    }  # unassigned, private use


# A heart in colour, a key, an eye in a bubble, the variant of a Chinese letter, blanks of French and Japanese, accents.
MORE_LETTERS = [
    "❤\ufe0f",
    "1\ufe0f\u20e3",
    "👁\ufe0f\u200d🗨\ufe0f",
    "葛\U000e0100",
    "5\xa0€ 名\u3000前",
    "e" + "\u0301" * 8,
]


@pytest.mark.parametrize(
    "text", ["a  b", "héllo", "長い名前", "👩\u200d👩\u200d👧", "می\u200cخواهم", "क्\u200dष", *MORE_LETTERS]
)
def test_letters_of_all_languages_stay(text: str) -> None:
    assert {sanitize(text, target) for target in RULES} == {text}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("\x1b]52;c;ZQ==\x07", r"\x1b]52;c;ZQ==\x07"),
        ("a\x00b\x7f\x9b2J", r"a\x00b\x7f\x9b2J"),
        ("two\nlines\r\n\tand a tab", r"two\nlines\r\n\tand a tab"),
        ("\u202eevil\u2066\u200e\ufeff\u2028", r"\u202eevil\u2066\u200e\ufeff\u2028"),
        ("\udcff\U000e0041", r"\udcff\U000e0041"),
        ("a\u3164\u115f\u2800\xadb\u034f\uffa0", r"a\u3164\u115f\u2800\xadb\u034f\uffa0"),
        ("\u200da\u200d é\u200d\u200d", "\\u200da\\u200d é\u200d\\u200d"),
        ("\u3164\u200d\ue000", r"\u3164\u200d\ue000"),
    ],
)
def test_what_steers_becomes_visible(text: str, name: str) -> None:
    assert sanitize(text, "name") == name


def test_lines_of_a_message_stay_lines() -> None:
    assert sanitize("one\r\n\ttwo\nthree\rx", "message") == "one\n    two\nthree\\rx"


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
    cut = [sanitize(text, target) for text in long]
    assert len(set(cut)) == 3
    assert all(len(text) <= (RULES[target].longest or 0) for text in cut)
    assert "[50,000 characters, " in cut[0]
    assert [sanitize(text, target) for text in cut] == cut
    limit = RULES[target].longest or 0
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


def test_a_tab_before_a_formula_is_seen() -> None:
    assert sanitize("\t=1+1", "csv") == r"\t=1+1"


def test_a_name_of_bytes_can_be_stored() -> None:
    assert [storable(text) for text in ("x\udcff", "é", "e")] == [r"x\udcff", "é", "e"]


@pytest.mark.parametrize(
    ("n", "said"), [(1, "a"), (2, "a and b"), (5, "a, b, c, d and e"), (6, "a, b, c, d, e and 1 more")]
)
def test_five_names_fit_into_a_sentence(n: int, said: str) -> None:
    assert join_arm_names(tuple("abcdefgh"[:n])) == said
