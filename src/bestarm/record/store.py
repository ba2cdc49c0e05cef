"""Where races are kept: what a store must do, and the checks of what it holds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, get_args

from bestarm.algorithms import Algorithm, Elimination
from bestarm.checks import check_choice, check_count, check_flag, check_in_flight, check_mapping, check_seed, check_text
from bestarm.errors import StoreError
from bestarm.record.record import Record, RoundRow, ScoreRow
from bestarm.record.settings import FORMAT, OnError, missing_setting, present_settings
from bestarm.sources.items import Kind
from bestarm.text import described

MOST_ITEMS = 2**53
MOST_TERMS = 100  # bets or precisions of a comparison: a round takes time for each
MOST_MEMORY = 2**30  # bytes of the state of a game
OF_AN_ARM = 100  # numbers that a game keeps for each arm, at most, but for some first rounds beside those of pairs
MOST_WORK = 3e10  # steps of some nanoseconds: a minute or two
LARGEST_SHARE = 0.1  # by which rounds grow between two looks for combinations, at most


def check_values(present: Mapping[str, Any]) -> None:
    """ValueError or TypeError for settings that are missing, or that no race has."""
    if (lack := missing_setting(present)) is not None:
        raise ValueError(lack)
    for name in ("lower_is_better", "own_range", "hashed_seeds"):
        check_flag(name, present[name])
    check_choice("on_error", present["on_error"], get_args(OnError))
    check_choice("items", present["items"], get_args(Kind))
    check_seed(present["seed"])
    check_in_flight(present["rounds_in_flight"])
    if present["max_evaluations"] is not None:
        check_count("max_evaluations", present["max_evaluations"])
    for name in ("items_digest", "arms_digest", "reason"):
        if not isinstance(present[name], str | None):
            raise TypeError(f"{name} must be text, got {described(present[name])}")
    if present["source"] is not None:
        check_mapping("source", present["source"], "names to values")
    check_mapping("algorithm", present["algorithm"], "names to values")
    _check_kinds(present["algorithm"])
    _check_items(present)


def _check_kinds(plain: Any) -> None:
    """Refuse settings within settings that do not say of what they are."""
    parts = plain.values() if isinstance(plain, Mapping) else plain if isinstance(plain, list) else ()
    if isinstance(plain, Mapping):
        check_text("type", plain.get("type", None))
    for part in parts:
        _check_kinds(part)


def _check_items(present: Mapping[str, Any]) -> None:
    """Refuse numbers of items that do not go together."""
    n_items, sizes, listed = present["n_items"], present["group_sizes"], present["items"] in ("pool", "drawn")
    if listed != (n_items is not None):
        raise ValueError(f"n_items must be the length of the list of items, got {described(n_items)}")
    if n_items is not None:
        check_count("n_items", n_items, most=MOST_ITEMS)
    if sizes is None:
        return
    if not isinstance(sizes, list) or present["items"] != "pool":
        raise ValueError("group_sizes must be those of a list of items")
    if sum(check_count("a group", size) for size in sizes) != n_items:
        raise ValueError(f"group_sizes must add up to the number of items, {n_items}")


def check_work(algorithm: Algorithm, n_arms: int, n_rounds: int) -> None:
    """Refuse a game against combinations of arms that would take minutes to play again.

    A look takes some ``n_arms^3`` steps. There is one in each of the first rounds, later one whenever the rounds have
    grown by a share.
    """
    if getattr(getattr(algorithm, "comparison", None), "role", None) != "combinations":
        return
    share = min(getattr(algorithm, "check_growth", 1.0) - 1.0, LARGEST_SHARE)
    often = n_rounds if share == 0.0 else min(n_rounds, 1.0 / share)
    n_looks = often * (1.0 + (math.log(n_rounds / often) if n_rounds > often else 0.0))
    if n_looks * float(n_arms) ** 3 > MOST_WORK:
        raise ValueError(
            f"to compare {n_arms:,} arms with combinations of each other in {n_rounds:,} rounds takes minutes: to show "
            "it all the same, give large=True to bestarm.load_result"
        )


def check_game(algorithm: Algorithm, n_arms: int) -> None:
    """Refuse a game that would take more memory than a race of somebody who is not known may have.

    A game keeps a few numbers for each pair of arms, and with bets some more for each bet on a pair; with epsilon there
    are two of each bet. Bets on leaders keep numbers for each arm.
    """
    comparison = getattr(algorithm, "comparison", None)
    n_bets, n_precisions = (len(getattr(comparison, name, ())) for name in ("bets", "precisions"))
    if max(n_bets, n_precisions) > MOST_TERMS:
        raise ValueError(f"its comparison has {max(n_bets, n_precisions):,} terms, more than {MOST_TERMS:,}")
    needed = 8 * n_arms * (OF_AN_ARM + n_arms * _numbers_of_a_pair(algorithm, comparison, n_arms))
    if needed > MOST_MEMORY:
        raise ValueError(
            f"a game of {n_arms:,} arms with this comparison takes {needed / 2**30:,.1f} GiB of memory: to show it all "
            "the same, give large=True to bestarm.load_result"
        )


def _numbers_of_a_pair(algorithm: Algorithm, comparison: Any, n_arms: int) -> int:
    """How many numbers the game keeps for each pair of arms."""
    pairs = comparison.on_pairs(n_arms) if hasattr(comparison, "on_pairs") else comparison
    if pairs is None:
        return 0
    n_bets, n_purses = len(getattr(pairs, "bets", ())), 2 if getattr(algorithm, "epsilon", 0.0) > 0.0 else 1
    beside = 1 if n_bets > 0 and getattr(pairs, "role", None) == "pairs" else 4
    return beside + (n_purses * (2 + 3 * n_bets) if n_bets > 0 else 0)


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
