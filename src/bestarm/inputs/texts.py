"""Names for the user's objects in text."""

from collections.abc import Iterable, Sequence
from typing import Any

from bestarm.shown import cut_short, shown, storable


def label_text(arm: Any) -> str:
    """The name of an arm as it is, for files and comparisons; for functions and classes, their own name."""
    name = arm if isinstance(arm, str) else getattr(arm, "__name__", None)
    return storable(str(name if isinstance(name, str) else arm))  # texts that claim to be markup too


def name_of(arm: Any) -> str:
    """The name of an arm where people read it."""
    return shown(label_text(arm), "name")


FEW = 5  # names that a sentence holds
LONGEST_LIST = 300  # characters


def names(arms: Sequence[Any], last: str = "and") -> str:
    """The arms in a sentence: all of them, or the first and how many more there are."""
    return listed([name_of(arm) for arm in arms], last)


def listed(parts: Sequence[str], last: str = "and") -> str:
    """Some texts in a sentence: all of them, or the first and how many more there are."""
    if len(parts) > FEW:
        return f"{', '.join(parts[:FEW])} {last} {len(parts) - FEW} more"
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"


def counted(n: int, what: str) -> str:
    """A number with its noun: "1 round", "2,000 rounds"."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def short(text: str) -> str:
    """A text that fits into a message."""
    return cut_short(text, 80)


def quoted(text: str) -> str:
    """A text in quotes that fits into a message."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")


def legible(text: str) -> str:
    """A name that fits into a message."""
    return short(shown(text, "name"))


def hashable(value: Any) -> bool:
    """Whether something can be a key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def repeated(names: Iterable[str]) -> str | None:
    """The first name that appears a second time, if there is one."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def first_names(names: Sequence[str]) -> str:
    """The first ten names, for a message that compares two lists."""
    first = cut_short(", ".join(map(name_of, names[:10])), LONGEST_LIST)
    return first + (f" and {len(names) - 10} more" if len(names) > 10 else "")
