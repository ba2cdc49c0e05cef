"""The settings of a race: all that decides its course besides its scores, and as plain values."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from bestarm import algorithms, comparisons
from bestarm.algorithms import Algorithm, Game, Guarantee
from bestarm.algorithms.game import check_algorithm
from bestarm.checks import check_choice
from bestarm.sources.items import Kind
from bestarm.text import described, label_text, name_of, short
from bestarm.values import shortest_call

OnError = Literal["raise", "worst", "disqualify"]
Target = Literal["items", "population"]
FORMAT = 1  # of the settings in a store, and of all JSON that is printed
# Settings that had another name in files of earlier versions, by the class that they are settings of.
FORMER_NAMES = {
    "RaceSettings": {"max_queries": "max_evaluations", "in_flight": "rounds_in_flight"},
    "StudentMixture": {"first_rounds": "min_rounds"},
    "KimNelson": {"first_rounds": "min_rounds"},
}
# Settings that earlier versions did not have: what they did is another value than the present default.
FORMER_DEFAULTS: dict[str, dict[str, Any]] = {"Betting": {"reserve": 0.0}, "Portfolio": {"reserve": 0.0}}


def renamed(kind: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a file by their present names; where a file has both, the present one counts."""
    former = FORMER_NAMES.get(kind, {})
    return {former[name]: value for name, value in plain.items() if name in former} | {
        name: value for name, value in plain.items() if name not in former
    }


def former_defaults(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What settings that are missing in a file meant when it was written, where that is not the present default."""
    former = {} if plain.get("own") else FORMER_DEFAULTS.get(plain.get("type", ""), {})
    return {name: value for name, value in former.items() if name not in plain}


def as_written(value: Any, plain: Any) -> Any:
    """Present settings as the file of a race means them that is to go on: former defaults in place of present ones.

    Only where the file has no such setting, and none was given now.
    """
    if not is_dataclass(value) or isinstance(value, type) or not isinstance(plain, Mapping):
        return value
    former, parts = former_defaults(plain), {field.name: field for field in fields(value) if field.init}
    changed = {name: as_written(getattr(value, name), plain.get(name)) for name in parts} | {
        name: was for name, was in former.items() if name in parts and getattr(value, name) == parts[name].default
    }
    changed = {name: part for name, part in changed.items() if part is not getattr(value, name)}
    return replace(value, **changed) if changed else value


def encode(value: Any) -> Any:
    """Frozen settings as plain values; their class under ``type``."""
    if is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: encode(getattr(value, field.name)) for field in fields(value) if field.init}
        return _kind(value) | inner
    if isinstance(value, np.ndarray | tuple | list):
        return [encode(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | None) else _kind(value)


def not_plain(value: Any) -> str | None:
    """What in some settings cannot be kept in a file, or None: races with different settings must not look the same."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f"{type(value).__name__}.{field.name}": getattr(value, field.name) for field in fields(value)}
    elif isinstance(value, np.ndarray | tuple | list):
        parts = {f"part {k}": part for k, part in enumerate(value)}
    else:
        return None if isinstance(value, str | int | float | np.generic | None) else f"it is {described(value)}"
    for name, part in parts.items():
        if (what := not_plain(part)) is not None:
            return f"{name}: {what}"
    return None


def _kind(value: Any) -> dict[str, Any]:
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
    given = former_defaults(plain) | renamed(name, plain)
    return known[name](**{inner: decode(part) for inner, part in given.items() if inner != "type"})


def up_to_date(plain: Any) -> Any:
    """Plain settings as this version writes them: present names, and a default for what is missing.

    A user's own settings stay as they are, but for the settings of bestarm within them.
    """
    if isinstance(plain, list):
        return [up_to_date(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    present = {name: up_to_date(part) for name, part in renamed(plain["type"], plain).items()}
    return present if _has_own(present) else encode(decode(present))


def _has_own(plain: Any) -> bool:
    """Whether settings of a user are among these."""
    if isinstance(plain, list):
        return any(map(_has_own, plain))
    return isinstance(plain, dict) and ("own" in plain or any(map(_has_own, plain.values())))


def flat(plain: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Settings within settings, each with the way to it."""
    for name, value in plain.items():
        where = (*path, name)
        if isinstance(value, Mapping):
            yield where, value.get("type")
            yield from flat({inner: part for inner, part in value.items() if inner not in ("type", "own")}, where)
        else:
            yield where, value


def jsonable(value: Any) -> Any:
    """Plain values: text for what JSON does not know, null for what is not a finite number."""
    if isinstance(value, Mapping):
        return {label_text(name): jsonable(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [jsonable(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else label_text(value)


@dataclass(frozen=True, kw_only=True, repr=False)
class RaceSettings:
    """All that decides the course of a race besides its scores.

    ``items`` is the kind of items: a ``"pool"`` in random order, ``"drawn"`` from a list with replacement, a
    ``"stream"``, or fresh ``"seeds"``; ``n_items`` is the length of the list, if there is one. ``own_range`` says that
    the bounds are the range of a recorded table. ``group_sizes`` are those of the groups of a pool, by round.
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
        present = present_settings(plain)
        values = {field.name: present[field.name] for field in fields(cls)}
        sizes = present["group_sizes"]
        groups = None if sizes is None else tuple(map(int, sizes))
        algorithm = decode(present["algorithm"])
        check_algorithm(algorithm)
        return cls(**values | {"algorithm": algorithm, "group_sizes": groups})


def target_of(settings: RaceSettings, guarantee: Guarantee) -> Target:
    """What the answer of a race is about: the items of its list, or what they are a sample of."""
    return "items" if guarantee.pool is not None or settings.items == "drawn" else "population"


def unit_of(settings: RaceSettings, guarantee: Guarantee) -> float:
    """What one point of a difference in the game is worth in the mean over all items.

    Rounds of a pool of groups weigh ``size / largest size``: their mean is that of the items times the mean weight.
    """
    sizes = settings.group_sizes if guarantee.pool is not None and guarantee.criterion == "mean" else None
    return 1.0 if sizes is None else max(sizes) * len(sizes) / sum(sizes)


def start_game(settings: RaceSettings, n_arms: int) -> Game:
    """The game of a race; refuses settings that do not go together."""
    game = settings.algorithm.start(n_arms)
    check_choice("on_error", settings.on_error, get_args(OnError))
    budget = settings.max_evaluations
    if budget is not None and budget < n_arms:
        raise ValueError(f"max_evaluations must allow for one round of all {n_arms} arms, got {budget}")
    if settings.on_error == "worst" and game.bounds is None:
        raise ValueError("on_error='worst' needs bounds=(low, high): without them there is no worst score")
    if settings.on_error == "disqualify" and game.no_disqualification is not None:
        need = "on_error='disqualify' needs an algorithm that compares arms pair by pair, such as PairwiseBAI"
        raise ValueError(f"{need}: {game.no_disqualification}")
    if settings.rounds_in_flight > 1 and not game.works_ahead:
        name, ahead = type(settings.algorithm).__name__, settings.rounds_in_flight
        raise ValueError(f"{name} chooses every round from the one before it: rounds_in_flight must be 1, got {ahead}")
    pool = game.guarantee.pool
    if pool is not None and pool != settings.pool:
        have = "there is no pool of items" if settings.pool is None else f"there are {settings.pool} items"
        raise ValueError(f"the comparison is for a pool of {pool} items, but {have}")
    return game


def _interval(bounds: tuple[float, float]) -> str:
    return f"({bounds[0]:g}, {bounds[1]:g})"


def present_settings(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a file by their present names; a setting that is missing has its default, if it has one."""
    optional = {field.name: field.default for field in fields(RaceSettings) if field.default is not MISSING}
    return optional | {"reason": None, "source": None, "format": FORMAT} | renamed("RaceSettings", plain)


def missing_setting(present: Mapping[str, Any]) -> str | None:
    """What is missing in the settings of a file, or None."""
    for name in (field.name for field in fields(RaceSettings)):
        if name not in present or (name == "algorithm" and "type" not in getattr(present[name], "keys", tuple)()):
            return f"the setting {name} is missing"
    return None


def _changed_items(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """How the items are drawn otherwise than before, in words, or None."""
    if {stored["items"], now["items"]} == {"pool", "drawn"}:
        was, is_now = (plain["items"] == "drawn" for plain in (stored, now))
        return f"replace was {was} when the race began and is {is_now} now"
    had, has = (plain["group_sizes"] is not None for plain in (stored, now))
    if had != has:
        was, is_now = ("given" if one else "not given" for one in (had, has))
        return f"groups were {was} when the race began and are {is_now} now"
    if has and stored["items_digest"] != now["items_digest"]:
        return "the items or their groups are not the same"
    won, wins = (plain["algorithm"].get("comparison", {}).get("type") == "Wins" for plain in (stored, now))
    if won != wins:
        was, is_now = ("wins" if one else "mean" for one in (won, wins))
        return f"criterion was {described(was)} when the race began and is {described(is_now)} now"
    return None


def difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first setting that is not the same, in words, or None.

    The budget may change: stopping is allowed at any time, so a larger one continues the same race.
    """
    stored = {**stored, "algorithm": up_to_date(stored["algorithm"])}
    if (changed := _changed_items(stored, now)) is not None:
        return changed
    if stored["items_digest"] != now["items_digest"] and stored["n_items"] == now["n_items"]:
        return "the items are not the same"
    compared = [name for name in now if name != "max_evaluations"]
    before, after = (dict(flat({name: plain[name] for name in compared})) for plain in (stored, now))
    ways = sorted(dict.fromkeys([*before, *after]), key=lambda way: way[-1] not in ("n_items", "bounds"))
    for way in ways:  # first what users gave, then what followed from it
        if before.get(way) != after.get(way) and way[-1] == "pool":
            was, is_now = ("population" if one.get(way) is None else "items" for one in (before, after))
            return f"target was {described(was)} when the race began and is {described(is_now)} now"
        if before.get(way) != after.get(way):
            return (
                f"{way[-1]} was {described(before.get(way))} when the race began and is {described(after.get(way))} now"
            )
    return None
