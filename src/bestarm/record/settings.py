"""The settings of a race: all that decides its course besides its scores, as values and as plain values for files."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from bestarm import algorithms, comparisons
from bestarm.algorithms import Algorithm, Game, Guarantee, PairwiseBAI
from bestarm.algorithms.game import require_algorithm
from bestarm.checks import check_choice, check_count, check_flag, check_in_flight, check_mapping, check_seed, check_text
from bestarm.comparisons import Betting, LeaderBetting
from bestarm.errors import ParameterError
from bestarm.sources.items import Kind
from bestarm.text import label_text, name_of, short, short_repr
from bestarm.values import shortest_call

OnError = Literal["raise", "worst", "disqualify"]
Target = Literal["items", "population"]
FORMAT = 1  # of the settings in a store, and of all JSON that is printed
MOST_ITEMS = 2**53
LONGEST_UNIT = 16


# --- values and plain values ------------------------------------------------------------------------------------------


def encode(value: Any) -> Any:
    """Frozen settings as plain values; their class under ``type``."""
    if is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: encode(getattr(value, field.name)) for field in fields(value) if field.init}
        return _type_of(value) | inner
    if isinstance(value, np.ndarray | tuple | list):
        return [encode(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | None) else _type_of(value)


def find_unstorable(value: Any) -> str | None:
    """What in some settings cannot be kept in a file, or None: races with different settings must not look the same."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f"{type(value).__name__}.{field.name}": getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, np.ndarray | tuple | list):
        parts = {f"part {k}": part for k, part in enumerate(value)}
    else:
        return None if isinstance(value, str | int | float | np.generic | None) else f"it is {short_repr(value)}"
    for name, part in parts.items():
        if (what := find_unstorable(part)) is not None:
            return f"{name}: {what}"
    return None


def _type_of(value: Any) -> dict[str, Any]:
    """The class of a value; a user's own may have the same name as one of bestarm's."""
    own = {} if type(value).__module__.startswith("bestarm.") else {"own": True}
    return {"type": type(value).__name__} | own


def decode(plain: Any) -> Any:
    """The inverse of `encode` for the algorithms and comparisons of bestarm; what is missing has its default."""
    if isinstance(plain, list):
        return tuple(decode(part) for part in plain)
    if not isinstance(plain, dict):
        return plain
    name = plain.get("type")
    known = {
        kind: getattr(module, kind)
        for module, method in ((algorithms, "start"), (comparisons, "evidence"))
        for kind in module.__all__
        if is_dataclass(getattr(module, kind)) and hasattr(getattr(module, kind), method)
    }
    if not isinstance(name, str) or name not in known or plain.get("own"):
        what = f"the algorithm of this race, {short(name_of(name))}, is not one of bestarm's own"
        raise ValueError(f"{what}: continue the race from Python")
    return known[name](**{inner: decode(part) for inner, part in plain.items() if inner != "type"})


def jsonable(value: Any) -> Any:
    """Plain values: text for what JSON does not know, null for what is not a finite number."""
    if isinstance(value, Mapping):
        return {label_text(name): jsonable(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [jsonable(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else label_text(value)


# --- the settings of a race -------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, repr=False)
class RaceSettings:
    """All that decides the course of a race besides its scores.

    ``items`` is the kind of items: a ``"pool"`` in random order, ``"drawn"`` from a list with replacement, a
    ``"stream"``, or fresh ``"seeds"``; ``n_items`` is the length of the list, if there is one. ``own_range`` says that
    the bounds are the range of a recorded table. ``group_sizes`` are those of the groups of a pool, by round. ``unit``
    is that of the scores, where they are shown.
    """

    algorithm: Algorithm
    lower_is_better: bool = False
    max_evaluations: int | None = None
    rounds_in_flight: int = 1
    on_error: OnError = "raise"
    seed: int = 0
    items: Kind
    n_items: int | None
    items_digest: str | None
    arms_digest: str
    own_range: bool = False
    group_sizes: tuple[int, ...] | None = None
    unit: str | None = None  # of the scores, where they are shown
    hashed_seeds: bool = False  # fresh seeds of versions without this setting are in progression

    __repr__ = shortest_call

    @property
    def pool(self) -> int | None:
        """The number of rounds after which the items are used up; None where they never are."""
        if self.items != "pool":
            return None
        return self.n_items if self.group_sizes is None else len(self.group_sizes)

    @property
    def everything(self) -> int | None:
        """The number of items that all rounds together have; None where they have no end."""
        return self.n_items if self.items == "pool" else None

    def size_of(self, number: int) -> int:
        """How many items a round has."""
        return 1 if self.group_sizes is None else self.group_sizes[number - 1]

    def to_plain(self) -> dict[str, Any]:
        """The settings as plain values, for JSON."""
        return {field.name: encode(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "RaceSettings":
        """The inverse of `to_plain`; ValueError or TypeError for an algorithm that is not one of bestarm's."""
        present = migrate(plain)
        values = {field.name: present[field.name] for field in fields(cls)}
        sizes = present["group_sizes"]
        groups = None if sizes is None else tuple(map(int, sizes))
        algorithm = decode(present["algorithm"])
        require_algorithm(algorithm)
        return cls(**values | {"algorithm": algorithm, "group_sizes": groups})


def check_unit(unit: Any) -> None:
    """Refuse a unit of scores that cannot be shown beside every number."""
    check_text("unit", unit)
    if len(unit) > LONGEST_UNIT or not unit.isprintable():
        problem = f"must be at most {LONGEST_UNIT} visible characters, such as 's', got {short_repr(unit)}"
        raise ParameterError("unit", problem, unit)


def target_of(settings: RaceSettings, guarantee: Guarantee) -> Target:
    """What the answer of a race is about: the items of its list, or what they are a sample of."""
    return "items" if guarantee.pool is not None or settings.items == "drawn" else "population"


def weighing_sizes(group_sizes: tuple[int, ...] | None, guarantee: Guarantee) -> tuple[int, ...] | None:
    """The sizes of groups where rounds weigh by them, for the mean over all items of a pool; else None."""
    return group_sizes if guarantee.pool is not None and guarantee.criterion == "mean" else None


def unit_of(settings: RaceSettings, guarantee: Guarantee) -> float:
    """What one point of a difference in the game is worth in the mean over all items.

    Rounds of a pool of groups weigh ``size / largest size``: their mean is that of the items times the mean weight.
    """
    sizes = weighing_sizes(settings.group_sizes, guarantee)
    return 1.0 if sizes is None else max(sizes) * len(sizes) / sum(sizes)


def start_game(settings: RaceSettings, n_arms: int) -> Game:
    """The game of a race; refuses settings that do not go together."""
    game = settings.algorithm.start(n_arms)
    check_choice("on_error", settings.on_error, get_args(OnError))
    budget = settings.max_evaluations
    if budget is not None and budget < n_arms:
        raise ParameterError("max_evaluations", f"must allow for one round of all {n_arms} arms, got {budget}", budget)
    if settings.on_error == "worst" and game.bounds is None:
        problem = "cannot be 'worst' without {bounds}: there is no worst score then"
        raise ParameterError("on_error", problem, "worst", {"bounds": "bounds=(low, high)"})
    if settings.on_error == "disqualify" and game.no_disqualification is not None:
        need = "cannot be 'disqualify' without an algorithm that compares arms pair by pair, such as PairwiseBAI"
        raise ParameterError("on_error", f"{need}: {game.no_disqualification}", "disqualify")
    if settings.rounds_in_flight > 1 and not game.works_ahead:
        name, ahead = type(settings.algorithm).__name__, settings.rounds_in_flight
        raise ValueError(f"{name} chooses every round from the one before it: rounds_in_flight must be 1, got {ahead}")
    pool = game.guarantee.pool
    if pool is not None and pool != settings.pool:
        have = "there is no pool of items" if settings.pool is None else f"there are {settings.pool} items"
        if settings.group_sizes is not None:
            have = f"there are {settings.pool} groups, each of which counts as one"
        raise ValueError(f"the comparison is for a pool of {pool} items, but {have}")
    return game


# --- files of earlier versions ---------------------------------------------------------------------------------------

# Settings that had another name, by the class that they are settings of.
FORMER_NAMES = {
    "RaceSettings": {"max_queries": "max_evaluations", "in_flight": "rounds_in_flight"},
    "StudentMixture": {"first_rounds": "min_rounds"},
    "KimNelson": {"first_rounds": "min_rounds"},
}
# Settings that there were not, where the race was run by another value than the present default.
FORMER_DEFAULTS: dict[str, dict[str, Any]] = {"Betting": {"reserve": 0.0}, "Portfolio": {"reserve": 0.0}}


def migrate(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file of any version by their present names; a setting that is missing has its default, if any.

    TypeError or ValueError if settings within settings do not say of what they are.
    """
    optional = {field.name: field.default for field in fields(RaceSettings) if field.default is not MISSING}
    present = optional | {"reason": None, "source": None, "format": FORMAT} | _rename("RaceSettings", plain)
    return present | ({"algorithm": _migrate_rule(present["algorithm"])} if "algorithm" in present else {})


def _migrate_rule(plain: Any) -> Any:
    """An algorithm or a comparison as plain values, and those within it, as `migrate` does it."""
    if isinstance(plain, list):
        return [_migrate_rule(part) for part in plain]
    if not isinstance(plain, Mapping):
        return plain
    check_text("type", plain.get("type", None))
    parts = {name: _migrate_rule(part) for name, part in _rename(plain["type"], plain).items()}
    return _former_defaults(plain) | parts


def _rename(kind: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by their present names; where a file has both, the present one counts."""
    former = FORMER_NAMES.get(kind, {})
    renamed = {former[name]: value for name, value in plain.items() if name in former}
    return renamed | {name: value for name, value in plain.items() if name not in former}


def _former_defaults(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What the settings that are missing in a file meant when it was written, where that is not the present default."""
    former = {} if plain.get("own") else FORMER_DEFAULTS.get(plain["type"], {})
    return {name: value for name, value in former.items() if name not in plain}


def settings_to_continue(
    settings: RaceSettings, stored: Mapping[str, Any], *, ahead_given: bool, test_given: bool
) -> RaceSettings:
    """The settings of a call that continues the race in a file: where nothing was given, as the race was begun.

    ``settings`` are those of a new race by this call, ``stored`` those in the file. The rounds in flight stay as they
    were unless ``ahead_given``, and unless ``test_given`` so does the comparison that an earlier version chose.
    """
    begun = migrate(stored)
    if settings.unit is None:
        settings = replace(settings, unit=begun["unit"])
    if not ahead_given:
        settings = replace(settings, rounds_in_flight=begun["rounds_in_flight"])
    if not test_given:
        settings = replace(settings, algorithm=_comparison_as_begun(settings.algorithm, begun["algorithm"]))
    if settings.items == "drawn" and begun["items"] == "stream":  # as it was called in earlier files
        settings = replace(settings, items="stream", n_items=None, items_digest=None)
    if not begun["hashed_seeds"]:  # its seeds are an arithmetic progression
        settings = replace(settings, hashed_seeds=False)
    return replace(settings, algorithm=_use_former_defaults(settings.algorithm, stored["algorithm"]))


def was_about_items(stored: Mapping[str, Any]) -> bool:
    """Whether the target of a race in a file was the items of its list: by default it was, in earlier versions."""
    algorithm = migrate(stored)["algorithm"]
    comparison = algorithm.get("comparison") if isinstance(algorithm, Mapping) else None  # a file may hold anything
    return isinstance(comparison, Mapping) and comparison.get("pool") is not None


def _comparison_as_begun(algorithm: Algorithm, plain: Mapping[str, Any]) -> Algorithm:
    """The algorithm chosen for a race, with `Betting` if the file has that: for bounded scores it was the default."""
    chosen, begun = getattr(algorithm, "comparison", None), plain.get("comparison")
    by_pairs = isinstance(begun, Mapping) and begun.get("type") == "Betting"  # a file may hold anything
    if isinstance(algorithm, PairwiseBAI) and isinstance(chosen, LeaderBetting) and by_pairs:
        return replace(algorithm, comparison=Betting(chosen.bounds, pool=chosen.pool))
    return algorithm


def _use_former_defaults(value: Any, plain: Any) -> Any:
    """Frozen settings with former defaults in place of present ones, where the file has no such setting."""
    if not is_dataclass(value) or isinstance(value, type) or not isinstance(plain, Mapping):
        return value
    former, parts = _former_defaults(plain), {field.name: field for field in fields(value) if field.init}
    changed = {name: _use_former_defaults(getattr(value, name), plain.get(name)) for name in parts} | {
        name: was for name, was in former.items() if name in parts and getattr(value, name) == parts[name].default
    }
    changed = {name: part for name, part in changed.items() if part is not getattr(value, name)}
    return replace(value, **changed) if changed else value


# --- files of anybody -------------------------------------------------------------------------------------------------


def check_plain(present: Mapping[str, Any]) -> None:
    """ValueError or TypeError for settings, migrated, of which one is missing or has a value that no race has.

    The algorithm may be a user's own: its settings are checked where it is made.
    """
    for field in fields(RaceSettings):
        if field.name not in present:
            raise ValueError(f"the setting {field.name} is missing")
    for name in ("lower_is_better", "own_range", "hashed_seeds"):
        check_flag(name, present[name])
    for name in ("items_digest", "arms_digest", "reason"):
        if not isinstance(present[name], str | None):
            raise TypeError(f"{name} must be text, got {short_repr(present[name])}")
    check_choice("on_error", present["on_error"], get_args(OnError))
    check_choice("items", present["items"], get_args(Kind))
    check_seed(present["seed"])
    check_in_flight(present["rounds_in_flight"])
    if present["unit"] is not None:
        check_unit(present["unit"])
    if present["max_evaluations"] is not None:
        check_count("max_evaluations", present["max_evaluations"])
    if present["source"] is not None:
        check_mapping("source", present["source"], "names to values")
    check_mapping("algorithm", present["algorithm"], "names to values")
    _check_numbers_of_items(present["items"], present["n_items"], present["group_sizes"])


def _check_numbers_of_items(items: Kind, n_items: Any, group_sizes: Any) -> None:
    """Refuse numbers of items that do not go together."""
    if (n_items is not None) != (items in ("pool", "drawn")):
        raise ValueError(f"n_items must be the length of the list of items, got {short_repr(n_items)}")
    if n_items is not None:
        check_count("n_items", n_items, most=MOST_ITEMS)
    if group_sizes is None:
        return
    if not isinstance(group_sizes, list) or items != "pool":
        raise ValueError("group_sizes must be those of a list of items")
    if sum(check_count("group_sizes", size) for size in group_sizes) != n_items:
        raise ValueError(f"group_sizes must add up to the number of items, {n_items}")


# --- whether two races are the same -----------------------------------------------------------------------------------


def difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first of the stored settings, migrated, that is not the same now, in words, or None.

    The budget may change: stopping is allowed at any time, so a larger one continues the same race. So may the unit of
    the scores, which changes no score. ValueError for an algorithm in a file that is not one of bestarm's.
    """
    before, after = _as_given({**stored, "algorithm": _fill_in(stored["algorithm"])}), _as_given(now)
    for way in sorted({**before, **after}, key=lambda way: way[-1] not in FIRST):  # others may follow from these
        was, is_now = before.get(way), after.get(way)
        if was != is_now and way[-1] == "items_digest":
            return f"the items {'' if now['group_sizes'] is None else 'or their groups '}are not the same"
        if was != is_now:
            return f"{way[-1]} was {short_repr(was)} when the race began and is {short_repr(is_now)} now"
    return None


FIRST = ("n_items", "replace", "groups", "criterion", "items_digest", "bounds")


def _as_given(plain: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Settings within settings, each by the way to it, and by the names and values that users give."""
    comparison = plain["algorithm"].get("comparison")
    by_wins = isinstance(comparison, Mapping) and comparison.get("type") == "Wins" and not comparison.get("own")
    given: dict[tuple[str, ...], Any] = {
        ("n_items",): plain["n_items"],
        ("replace",): plain["items"] == "drawn",
        ("groups",): "not given" if plain["group_sizes"] is None else "given",
        ("criterion",): "wins" if by_wins else "mean",
    }
    compared = [field.name for field in fields(RaceSettings) if field.name not in ("max_evaluations", "unit")]
    for way, value in _flatten({name: plain[name] for name in compared}):
        if way[-1] == "pool":
            given[*way[:-1], "target"] = "population" if value is None else "items"
        else:
            given[way] = value
    return given


def _fill_in(plain: Any) -> Any:
    """A rule as plain values, with the default of each setting that is missing.

    A user's own settings stay as they are, but for the settings of bestarm within them.
    """
    if isinstance(plain, list):
        return [_fill_in(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    filled = {name: _fill_in(part) for name, part in plain.items()}
    return filled if _has_own(filled) else encode(decode(filled))


def _has_own(plain: Any) -> bool:
    """Whether settings of a user's own classes are among these."""
    if isinstance(plain, list):
        return any(map(_has_own, plain))
    return isinstance(plain, dict) and ("own" in plain or any(map(_has_own, plain.values())))


def _flatten(plain: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Settings within settings, each with the way to it."""
    for name, value in plain.items():
        where = (*path, name)
        if isinstance(value, Mapping):
            yield where, f"{value.get('type')} of your own" if value.get("own") else value.get("type")
            yield from _flatten({inner: part for inner, part in value.items() if inner not in ("type", "own")}, where)
        else:
            yield where, value
