"""Text: the user's objects by name, and whatever comes from outside made safe to show."""

import hashlib
import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

Target = Literal["name", "path", "failure", "message", "page", "terminal", "json", "csv"]


class _Rule(NamedTuple):
    """How a target wants a text."""

    lines: bool  # it may have several
    longest: int | None  # characters; what is longer loses its middle


RULES: dict[Target, _Rule] = {
    "name": _Rule(lines=False, longest=200),  # of an arm or an item, within a sentence or a table
    "path": _Rule(lines=False, longest=250),  # two of them fit into a sentence
    "failure": _Rule(lines=True, longest=500),  # when it is made, before it is stored
    "message": _Rule(lines=True, longest=2000),  # an error, a warning, a remark
    "page": _Rule(lines=True, longest=5000),  # a sentence, a cell, the points of a curve; the template escapes markup
    "terminal": _Rule(lines=True, longest=None),  # anything; its parts are as short as they should be
    "json": _Rule(lines=True, longest=None),  # a whole document, which stays the same document
    "csv": _Rule(lines=False, longest=None),  # a cell
}
# Letters, marks and symbols that `str.isprintable` accepts and nobody sees: fillers, blanks and joiners.
UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U00016fe4\U0001d159"
JOINERS = "\u200c\u200d"  # which emoji and scripts such as Persian need; behind a Latin letter they only hide
UNUSUAL = re.compile(r"[^\x20-\x7e]")
LINE_ENDS = re.compile(r"\s*\n\s*")  # of an array as code, with the blanks that align its rows
LONGEST_DESCRIPTION = 80
FORMULA = re.compile(r"[=+\-@＝＋－＠]")  # what a spreadsheet computes


def sanitize(text: str, target: Target) -> str:
    """A text as its target may show it; what was shown once stays as it is."""
    if target == "json":  # line breaks are between strings: those inside of them were escaped before
        return UNUSUAL.sub(lambda found: found[0] if found[0] == "\n" or _is_seen(found) else _in_json(found), text)
    rule = RULES[target]
    said = text.replace("\r\n", "\n") if rule.lines else text
    said = _escaped(said, rule) if rule.longest is None else _cut(said, rule, rule.longest)
    return f"'{said}" if target == "csv" and FORMULA.match(said) and not _is_number(said) else said


def storable(text: str) -> str:
    """A text as a file in UTF-8 can hold it: bytes in names of files that are no letters become escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def cut_short(text: str, longest: int) -> str:
    """The beginning of a text, on one line, for a message that holds more than this text."""
    said = _escaped(text[: longest + 1], RULES["name"])
    return said if len(said) <= longest else f"{said[: longest - 1]}…"


def file_name(path: str | os.PathLike[str]) -> str:
    """The path of a file or folder in a message."""
    return sanitize(os.fspath(path), "path")


def reason_of(error: Exception) -> str:
    """Why something failed, without the path that the system adds to it: the message names that already."""
    return str(getattr(error, "strerror", None) or error)


def naming(error: OSError, path: str | os.PathLike[str]) -> OSError:
    """An error of the system that names the path that was given, as it may be shown."""
    return OSError(error.errno, reason_of(error), file_name(path))


def short_repr(value: Any) -> str:
    """A value of the user's in a message: as code, on one line and short, also if it cannot say what it is."""
    if isinstance(value, int) and abs(value) >= 10**30:  # thousands of digits cannot even be written
        return f"a number of more than {30 if abs(value) < 10**100 else 100} digits"
    return cut_short(LINE_ENDS.sub(" ", _text(repr, value)), LONGEST_DESCRIPTION)


def safe_str(value: Any) -> str:
    """An object as its own text, in full, or that it has none."""
    return _text(str, value)


def _text(write: Callable[[Any], str], value: Any) -> str:
    try:
        return write(value)
    except Exception as error:  # whatever a method of the user's does; a number too long; a list that holds itself
        return f"<{type(value).__name__} without a text: {type(error).__name__}>"


def _cut(text: str, rule: _Rule, longest: int) -> str:
    """A text of at most so many characters: the beginning, how long it is and which it is, and the end.

    The fingerprint tells texts apart that begin and end in the same way.
    """
    begins = _escaped(text[: longest + 1], rule)
    if len(begins) <= longest:
        return begins
    fingerprint = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    note = f"… [{len(text):,} characters, {fingerprint}] …"
    last = longest // 4
    return begins[: longest - last - len(note)] + note + _escaped(text[-last:], rule)[-last:]


def _escaped(text: str, rule: _Rule) -> str:
    text = text.replace("\t", "    ") if rule.lines else text
    kept = "\n" if rule.lines else ""
    return UNUSUAL.sub(lambda found: found[0] if found[0] == kept or _is_seen(found) else _escape(found[0]), text)


def _is_seen(found: re.Match[str]) -> bool:
    """Whether a character is seen, or is a joiner behind a letter that it changes."""
    if found[0] in JOINERS:
        before = found.string[max(0, found.start() - 1) : found.start()]
        return before > "\x7f" and before.isprintable() and before not in UNSEEN
    return (found[0].isprintable() or unicodedata.category(found[0]) == "Zs") and found[0] not in UNSEEN


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def _in_json(found: re.Match[str]) -> str:
    """A character inside a string of JSON."""
    return json.dumps(found[0])[1:-1]


def in_ascii(document: str) -> str:
    """A document in JSON for a terminal that knows ASCII alone."""
    return re.sub("[^\x00-\x7f]", _in_json, document)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def label_text(arm: Any) -> str:
    """The name of an arm as it is, for files and comparisons; for functions and classes, their own name."""
    name = arm if isinstance(arm, str) else getattr(arm, "__name__", None)
    return storable(str(name if isinstance(name, str) else arm))  # texts that claim to be markup too


def name_of(arm: Any) -> str:
    """The name of an arm where people read it."""
    return sanitize(label_text(arm), "name")


FEW = 5  # names that a sentence holds
LONGEST_LIST = 300  # characters


def join_arm_names(arms: Sequence[Any], last: str = "and") -> str:
    """The arms in a sentence: all of them, or the first and how many more there are."""
    return join_words([name_of(arm) for arm in arms], last)


def join_words(parts: Sequence[str], last: str = "and") -> str:
    """Some texts in a sentence: all of them, or the first and how many more there are."""
    if len(parts) > FEW:
        return f"{', '.join(parts[:FEW])} {last} {len(parts) - FEW} more"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def with_noun(n: int, what: str) -> str:
    """A number with its noun: "1 round", "2,000 rounds"."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def one_line(error: object) -> str:
    """What went wrong, in one line: it may quote a file at length."""
    return cut_short(" ".join(str(error).split()), LONGEST_LIST)


def short(text: str) -> str:
    """A text that fits into a message."""
    return cut_short(text, 80)


def quoted(text: str) -> str:
    """A text in quotes that fits into a message."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


def is_hashable(value: Any) -> bool:
    """Whether something can be a key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def first_repeated(names: Iterable[str]) -> str | None:
    """The first name that appears a second time, if there is one."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def first_ten_names(names: Sequence[str]) -> str:
    """The first ten names, for a message that compares two lists."""
    first = cut_short(", ".join(map(name_of, names[:10])), LONGEST_LIST)
    return first + (f" and {len(names) - 10} more" if len(names) > 10 else "")


LONGEST_BESIDE = 28  # characters of a name beside a curve or a bar


def distinct_names(arms: Sequence[Any], longest: int = LONGEST_BESIDE) -> list[str]:
    """Names of arms that fit beside something, and stay different where they can: what they begin with alike goes."""
    names = [" ".join(name_of(arm).split()) for arm in arms]
    short_names = [shortened(name, longest) for name in names]
    for text in [text for text, n_names in Counter(short_names).items() if n_names > 1]:
        places = [k for k, other in enumerate(short_names) if other == text]
        alike = _letters_alike([names[k] for k in places])
        for k in places:
            tail = names[k][max(0, alike - longest // 3) :]
            short_names[k] = shortened(f"…{tail}" if alike > longest // 3 else tail, longest)
    return short_names


def _letters_alike(names: Sequence[str]) -> int:
    """With how many characters all of these begin alike."""
    first, last = min(names), max(names)
    return next((k for k, letter in enumerate(first) if not last.startswith(letter, k)), len(first))


def shortened(name: str, longest: int = LONGEST_BESIDE) -> str:
    """A name on one line that fits beside something: names that begin alike often end otherwise."""
    line = " ".join(name.split())
    if len(line) <= longest:
        return line
    last = longest // 3
    return f"{line[: longest - last - 1]}…{line[-last:]}"
