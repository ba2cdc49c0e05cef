"""Where races are kept: what a store must do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bestarm.algorithms import Elimination
from bestarm.errors import StoreError
from bestarm.inputs.plain import FORMAT
from bestarm.racing.record import Record, RoundRow, ScoreRow
from bestarm.racing.settings import present_settings
from bestarm.racing.stored_values import check_values
from bestarm.shown import described

LONGEST_REASON = 300  # characters


@dataclass(frozen=True)
class StoredRace:
    """All that a store holds: settings as plain values, the names of the arms, and the record."""

    settings: dict[str, Any]
    arms: tuple[str, ...]
    record: Record


class Store(Protocol):
    """Where a race is kept: an SQLite file, or an object of your own given as ``store=``.

    A score counts only after `save` has returned, so what it was given must be durable then. The text form of a store
    is what messages call it. When something goes wrong, raise `bestarm.StoreError`. A method ``drop_failures(first)``
    may forget the rows without a score from a round on: it is needed to continue a race that an outage has ended.
    """

    def load(self) -> StoredRace | None:
        """The race that is kept here, or None if there is none yet."""
        ...

    def create(self, settings: dict[str, Any], arms: Sequence[str]) -> None:
        """Begin a race: its settings (plain values, for JSON) and the names of its arms."""
        ...

    def update(self, settings: dict[str, Any]) -> None:
        """Replace the values of these settings."""
        ...

    def save(self, rounds: Sequence[RoundRow], scores: Sequence[ScoreRow]) -> None:
        """Keep rounds that are new, and scores: all of them or none."""
        ...

    def save_eliminations(self, eliminations: Iterable[Elimination[int]]) -> None:
        """Who is out so far, for readers of the store: a race that is continued recomputes them."""
        ...

    def close(self) -> None:
        """Close what is held open."""
        ...


def check_stored(where: object, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a store by their present names; refused if they are of a later format, or not all there."""
    present = present_settings(settings)
    if not isinstance(present["format"], int):
        raise damaged(where, "its format is not a number")
    if present["format"] != FORMAT:
        made = f"has format {described(present['format'])}, and this bestarm reads format {FORMAT}"
        raise StoreError(f"the race in {where} {made}: use the version of bestarm that made it, or a later one")
    try:
        check_values(present)
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(where, str(error)) from error
    return present


def damaged(path: object, what: str) -> StoreError:
    """The error of a damaged file."""
    return StoreError(f"the race in {path} is damaged ({in_short(what)}): the file was not changed")


def in_short(error: object) -> str:
    """What is wrong with a file, in one line: it may quote the file at length."""
    line = " ".join(str(error).split())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"
