"""Values that nobody expects: texts, numbers and objects that break careless code."""

import datetime
import decimal
import enum
import fractions
import itertools
import pathlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from attacks.judging import OwnError

TEXTS = (
    "", " ", "\t", "\n", "\r", "\r\n", "\0", "a\0b", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\ufeff", "\ufeffa",
    "\x1b[2J", "\x1b]52;c;aGk=\x07", "\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\", "\x9b2J", "\x90q\x9c", "\x07", "\x7f",
    "\u202eabc", "\u2066x\u2069", "\u200b", "\u200d", "a\u3164", "\u2800", "\ufe0f", "e\u0301", "\U0001f600", "\udcff", "\ud800", "\uffff", "ﬀ", "İ", "ß",
    "=1+1", "=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "<script>alert(1)</script>", "</script>", "&amp;", "<!--", "]]>",
    "[red]x[/red]", "[/]", "[link=x]y", "{item}", "{", "}", "{0}", "{{x}}", "{% x %}", "%s", "%n", "$HOME", "`x`", "${x}",
    "'", '"', "''", "\\", "\\n", ";", ",", ",,", "a,b", "a\tb", "#", "--", "-", "--help", "-x", "/", "//", ".", "..", "../x",
    "nan", "NaN", "NA", "N/A", "None", "null", "true", "False", "inf", "-inf", "Infinity", "1e999", "-1e999", "1e-400", "1,5",
    "\u22125", "１２", "1_000", "0x10", "1e5", "1 000", "٣", "½", "1.", ".5", "+.5e+3", "1e", "--5", "12abc", "1" * 400,
    "a" * 5_000, "é" * 700, "a\n" * 300, "same", "same ", "SAME",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    0, -0.0, 1, -1, 2, 3, 7, 0.5, 0.05, 0.95, 1.0, 1.5, -0.5, 1e-9, 1e-17, 1e-300, 1e-320, 5e-324, 1e9, 1e16, 1e150, 1e154,
    1e155, 1e300, 1e308, -1e308, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), 255, 256, 2**31 - 1, 2**31,
    2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**18, 10**19, 10**400, -(10**400), 10**5000,
    True, False, 1j, complex("nan"), decimal.Decimal("0.5"), decimal.Decimal("NaN"), decimal.Decimal("sNaN"),
    decimal.Decimal("1e400"), decimal.Decimal("Infinity"), fractions.Fraction(1, 3), fractions.Fraction(10**400, 3),
    np.int8(3), np.uint8(200), np.int64(5), np.uint64(2**64 - 1), np.float16(0.5), np.float32("nan"), np.float64(1e308),
    np.longdouble("1e4000"), np.bool_(True), np.complex128(1), np.datetime64("NaT"), np.datetime64("2020-01-01"),
    np.timedelta64(5, "s"), np.str_("x"), np.bytes_(b"x"), datetime.date(2020, 1, 1), datetime.timedelta(days=1),
)  # fmt: skip
PAGE = 4096  # bytes that SQLite writes together
BIG = 1000  # whole numbers above this can mean honest work


class Hostile:
    """An object of which everything fails, or some of it: the parts are names of special methods."""

    def __init__(self, parts: tuple[str, ...]) -> None:
        self.parts = parts


def _item(key: Any) -> Any:
    if isinstance(key, int) and not 0 <= key < 3:
        raise IndexError(key)
    return key


# What the special methods of a hostile object give where they do not fail.
USUAL: dict[str, Callable[..., Any]] = {
    "repr": lambda: "<hostile>",
    "str": lambda: "hostile",
    "eq": lambda other: False,
    "hash": lambda: 7,
    "bool": lambda: True,
    "len": lambda: 3,
    "iter": lambda: iter((1, 2, 3)),
    "getitem": _item,
    "float": lambda: 0.5,
    "index": lambda: 3,
    "call": lambda *_, **__: 0.5,
}
PARTS = tuple(USUAL)


def _method(part: str) -> Callable[..., Any]:
    def method(self: Hostile, *given: Any, **named: Any) -> Any:
        if part in self.parts:
            raise OwnError(f"own {part}")
        return USUAL[part](*given, **named)

    return method


for _part in PARTS:
    setattr(Hostile, f"__{_part}__", _method(_part))


class Liar(list[Any]):
    """A list that lies about its length."""

    def __len__(self) -> int:
        return 5


class FullOfErrors(Exception):  # noqa: N818 - a thing to throw
    """An exception without a text."""

    def __str__(self) -> str:
        raise OwnError("own text of an error")


def nested(levels: int) -> list[Any]:
    """A list in a list in a list; without levels, one that holds itself."""
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    if not levels:
        inner.append(inner)
    return inner


def text(luck: random.Random) -> str:
    """A text; sometimes several in one."""
    one = luck.choice(TEXTS)
    return one if luck.random() < 0.8 else one + luck.choice(TEXTS)[:200]


def number(luck: random.Random, big: bool = True) -> Any:
    """A number; without ``big``, no whole number that means much honest work."""
    while True:
        value: Any = luck.choice(NUMBERS)
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)
        if big or not whole or abs(int(value)) < BIG:
            return value


def key(luck: random.Random, big: bool = True) -> Any:
    """A number that a mapping takes: all but one do."""
    one = number(luck, big)
    return "sNaN" if isinstance(one, decimal.Decimal) and one.is_snan() else one


THINGS: tuple[Any, ...] = (
    lambda luck: None,
    lambda luck: luck.choice(((), [], {}, set(), frozenset(), b"", bytearray(b"x"), memoryview(b"xy"), range(0), range(3))),
    lambda luck: object(),
    lambda luck: luck.choice((int, str, Exception, ValueError("own"), FullOfErrors(), NotImplemented, Ellipsis, enum.Enum("Colour", "red blue"))),
    lambda luck: Hostile(tuple(luck.sample(PARTS, luck.randint(1, 4)))),
    lambda luck: Hostile(PARTS),
    lambda luck: Liar([0.1, 0.2]),
    lambda luck: np.str_("same"),
    lambda luck: nested(luck.choice((0, 3, 50, 2_000, 20_000))),
    lambda luck: itertools.islice(itertools.count(), 20),
    lambda luck: iter([]),
    lambda luck: (k for k in (1, 2)),
    lambda luck: lambda *_: 0.5,
    lambda luck: pathlib.Path(luck.choice((".", "/", "nowhere/x", "items.txt", "x" * 300))),
    lambda luck: np.array(luck.choice(([], [1.0, 2.0], [[1.0, 2.0]], [["a", "b"]], [None, 1], [np.nan], 5.0, [[[1.0]]], ["x"]))),
    lambda luck: np.zeros((luck.choice((0, 1, 2, 3)), luck.choice((0, 1, 2, 3))), dtype=luck.choice("fdbBhiIqQ?FDOSUMm")),
    lambda luck: np.ma.masked_array([1.0, 2.0], [True, False]),
    lambda luck: [text(luck) for _ in range(luck.randint(0, 4))],
    lambda luck: [number(luck) for _ in range(luck.randint(0, 4))],
    lambda luck: tuple(number(luck) for _ in range(2)),
    lambda luck: {text(luck): number(luck) for _ in range(luck.randint(0, 4))},
    lambda luck: {key(luck, False): text(luck) for _ in range(2)},
    lambda luck: [Hostile(("eq", "hash")), Hostile(("str",))],
)  # fmt: skip


def mutated(data: bytes, luck: random.Random, times: int) -> bytes:
    """Bytes flipped, cut, moved, doubled, zeroed, replaced or put in, so many times; pages are moved as a whole."""
    for _ in range(times if data else 0):
        size = luck.choice((1, 1, 2, 16, 40, 512, PAGE))
        at, other = (luck.randrange(len(data) + 1) // size * size for _ in range(2))
        head, part, tail = data[:at], data[at : at + size], data[at + size :]
        flipped = bytes(byte ^ (1 << luck.randrange(8)) for byte in part[:2]) + part[2:]
        often = part * luck.choice((0, 2, 3, 50))
        random_or_text = luck.choice((luck.randbytes(size), text(luck).encode("utf-8", "surrogatepass")))
        new = luck.choice((flipped, often, random_or_text, bytes(size), data[other : other + size]))
        changed = (head + new + tail, head + new + part + tail, data.replace(part[:2], new[:2]))
        data = luck.choice((*changed, *changed, head, tail + head))[:2_000_000]
    return data


def value(luck: random.Random, big: bool = True) -> Any:
    """Anything."""
    kind = luck.random()
    if kind < 0.4:
        return number(luck, big)
    return text(luck) if kind < 0.6 else luck.choice(THINGS)(luck)


def shown(given: Any) -> str:
    """A value in the description of a case."""
    try:
        said = ascii(given)
    except RecursionError:
        return f"<nested {type(given).__name__}>"
    except Exception:
        return f"<{type(given).__name__} {getattr(given, 'parts', '')}>"
    return said if len(said) < 300 else f"{said[:300]}… ({len(said)} characters)"
