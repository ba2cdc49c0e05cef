"""What a store of races must do, and the checks of what it holds."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bestarm.algorithms import Algorithm, Elimination
from bestarm.errors import StoreError
from bestarm.record.record import Record, RecordError, RoundRow, ScoreRow
from bestarm.record.settings import FORMAT, check_plain, migrate
from bestarm.text import one_line, short_repr

MOST_TERMS = 100  # bets or precisions of a comparison: a round takes time for each
MOST_MEMORY = 2**30  # bytes of the state of a game
NUMBERS_OF_AN_ARM = 100  # at most so many are kept for an arm, not counting pairs and the rewards of first rounds
MOST_STEPS = 3e10  # of some nanoseconds each, together a minute or two
LARGEST_GROWTH = 0.1  # share by which rounds grow between two looks for combinations, at most


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

    While one race uses a store, refuse a second one with `bestarm.StoreError`: both would write the same rounds. One
    object may be given to several races in a row, so `load` may follow `close` of the race before: open it again, or
    raise `bestarm.StoreError`.
    """

    def load(self) -> StoredRace | None:
        """The race that is kept here, or None if there is none yet. `Record.of_rows` takes rows in any order."""
        ...

    def create(self, settings: dict[str, Any], arms: Sequence[str]) -> None:
        """Begin a race: its settings (plain values, for JSON) and the names of its arms."""
        ...

    def update(self, settings: dict[str, Any]) -> None:
        """Replace the values of these settings."""
        ...

    def save(self, rounds: Sequence[RoundRow], scores: Sequence[ScoreRow]) -> None:
        """Keep rounds that are new, and scores: all of them or none.

        No row that was kept comes again, except those that ``drop_failures`` has forgotten; rows of a call that raised
        were not kept, and may come again.
        """
        ...

    def save_eliminations(self, eliminations: Iterable[Elimination[int]]) -> None:
        """Who is out so far, for readers of the store: a race that is continued recomputes them."""
        ...

    def close(self) -> None:
        """Close what is held open."""
        ...


def load_race(store: Store) -> StoredRace | None:
    """The race in a store; StoreError for rows that no race has written, and for what is no stored race."""
    try:
        stored: Any = store.load()
    except RecordError as error:
        raise StoreError(f"the race in {store} cannot be continued: it is damaged: {one_line(error)}") from error
    if stored is None:
        return None
    what = "None or a bestarm.racing.StoredRace of settings (a dict), names of arms and a Record"
    if not isinstance(stored, StoredRace):
        raise StoreError(f"{store}: load must return {what}, got {short_repr(stored)}")
    parts = {"settings": dict, "arms": tuple | list, "record": Record}
    for name, kind in parts.items():
        if not isinstance(part := getattr(stored, name), kind):
            raise StoreError(f"{store}: load must return {what}, got {name}={short_repr(part)}")
    return stored


def check_stored(where: object, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings of a store, migrated; StoreError if they are of a later format, or not those of a race."""
    version = settings.get("format", FORMAT)
    if not isinstance(version, int):
        raise damage_error(where, "its format is not a number")
    if version != FORMAT:
        made = f"has format {short_repr(version)}, and this bestarm reads format {FORMAT}"
        raise StoreError(f"the race in {where} {made}: use the version of bestarm that made it, or a later one")
    try:
        present = migrate(settings)
        check_plain(present)
    except (ValueError, TypeError, RecursionError) as error:
        raise damage_error(where, str(error)) from error
    return present


def damage_error(where: object, what: str) -> StoreError:
    """The error of a store that holds what no race has written there."""
    return StoreError(f"the race in {where} is damaged ({one_line(what)}): the file was not changed")


def check_cost(algorithm: Algorithm, n_arms: int, n_rounds: int) -> None:
    """Refuse a game that takes more memory or time than to look at somebody else's race may take."""
    comparison = getattr(algorithm, "comparison", None)
    n_terms = max(len(getattr(comparison, name, ())) for name in ("bets", "precisions"))
    if n_terms > MOST_TERMS:
        raise ValueError(f"its comparison has {n_terms:,} terms, more than {MOST_TERMS:,}")
    needed = 8 * n_arms * (NUMBERS_OF_AN_ARM + n_arms * _numbers_of_a_pair(algorithm, comparison, n_arms))
    if needed > MOST_MEMORY:
        raise ValueError(
            f"a game of {n_arms:,} arms with this comparison takes {needed / 2**30:,.1f} GiB of memory: to show it all "
            "the same, give large=True to bestarm.load_result"
        )
    if getattr(comparison, "role", None) != "combinations":
        return
    if _looks_for_combinations(algorithm, n_rounds) * float(n_arms) ** 3 > MOST_STEPS:
        raise ValueError(
            f"to compare {n_arms:,} arms with combinations of each other in {n_rounds:,} rounds takes minutes: to show "
            "it all the same, give large=True to bestarm.load_result"
        )


def _numbers_of_a_pair(algorithm: Algorithm, comparison: Any, n_arms: int) -> int:
    """How many numbers a game keeps for each pair of arms: a few, and with bets some more for each bet on a pair.

    With epsilon there are two of each bet. Bets on leaders keep numbers for each arm in place of these.
    """
    pairs = comparison.on_pairs(n_arms) if hasattr(comparison, "on_pairs") else comparison
    if pairs is None:
        return 0
    n_bets, n_purses = len(getattr(pairs, "bets", ())), 2 if getattr(algorithm, "epsilon", 0.0) > 0.0 else 1
    beside = 1 if n_bets > 0 and getattr(pairs, "role", None) == "pairs" else 4
    return beside + (n_purses * (2 + 3 * n_bets) if n_bets > 0 else 0)


def _looks_for_combinations(algorithm: Algorithm, n_rounds: int) -> float:
    """How often a game looks for combinations that beat an arm, which takes some ``n_arms^3`` steps each time.

    It does so in each of the first rounds, later whenever the rounds have grown by a share.
    """
    growth = min(getattr(algorithm, "check_growth", 1.0) - 1.0, LARGEST_GROWTH)
    first = n_rounds if growth == 0.0 else min(n_rounds, 1.0 / growth)
    return first * (1.0 + (math.log(n_rounds / first) if n_rounds > first else 0.0))
