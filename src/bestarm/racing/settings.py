"""The settings of a race: what users give, what decides its course, and both as plain values for files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from bestarm import algorithms, comparisons
from bestarm.algorithms import Algorithm, Game, PairwiseBAI
from bestarm.checks import check_at_least, check_bounds, check_choice, check_count, check_flag, check_open_unit
from bestarm.comparisons import Betting, Comparison, StudentMixture
from bestarm.racing.items import Items, Kind

if TYPE_CHECKING:
    from bestarm.racing.store import Store

ON_ERROR = ("raise", "worst", "disqualify")
FIRST_ROUNDS = 10  # real scores are only nearly Gaussian


class _Aim(TypedDict, total=False):
    delta: float
    epsilon: float
    indifference_zone: float
    first_rounds: int
    seed: int


class _Course(TypedDict, total=False):
    bounds: tuple[float, float] | None
    max_queries: int | None
    on_error: str
    store: "str | Path | Store | None"
    algorithm: Algorithm | None


class PlanOptions(_Aim, total=False):
    """Options of `bestarm.race` that say what is tested; described there, as are the others."""

    lower_is_better: bool


class TableOptions(PlanOptions, total=False):
    """Options that make sense for scores that are recorded already."""

    algorithm: Algorithm | None


class CommandOptions(_Aim, _Course, total=False):
    """Options of a race of programs, which are run one after the other."""


class RaceOptions(_Aim, _Course, total=False):
    """Options of a race, whoever evaluates."""

    lower_is_better: bool
    in_flight: int | None


@dataclass(frozen=True)
class Options:
    """The options of a race with their defaults: what is not among them is refused."""

    delta: float = 0.05
    bounds: tuple[float, float] | None = None
    lower_is_better: bool = False
    epsilon: float = 0.0
    indifference_zone: float = 0.0
    max_queries: int | None = None
    in_flight: int | None = None
    on_error: str = "raise"
    store: "str | Path | Store | None" = None
    seed: int = 0
    algorithm: Algorithm | None = None
    first_rounds: int = FIRST_ROUNDS


def known_options(function: str, options: Mapping[str, Any], known: type) -> Options:
    """Options that were given by name, checked as Python itself would check them."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return Options(**options)


@dataclass(frozen=True)
class RaceSettings:
    """All that decides the course of a race besides its scores."""

    algorithm: Algorithm
    lower_is_better: bool
    max_queries: int | None
    in_flight: int
    on_error: str
    seed: int
    items: Kind
    n_items: int | None
    items_digest: str | None
    arms_digest: str

    def to_plain(self) -> dict[str, Any]:
        """The settings as plain values, for JSON."""
        return {field.name: encode(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "RaceSettings":
        """The inverse of `to_plain`; ValueError for an algorithm that is not of bestarm."""
        values = {field.name: plain[field.name] for field in fields(cls)}
        return cls(**values | {"algorithm": decode(plain["algorithm"])})


def race_settings(options: Options, items: Items, arms_digest: str, usual_in_flight: int = 1) -> RaceSettings:
    """The settings of a race on these items."""
    check_flag("lower_is_better", options.lower_is_better)
    in_flight = usual_in_flight if options.in_flight is None else options.in_flight
    return RaceSettings(
        algorithm=choose_algorithm(options, items.n_items),
        lower_is_better=bool(options.lower_is_better),
        max_queries=None if options.max_queries is None else check_count("max_queries", options.max_queries),
        in_flight=check_count("in_flight", in_flight),
        on_error=options.on_error,
        seed=int(options.seed),
        items=items.kind,
        n_items=items.n_items,
        items_digest=items.digest,
        arms_digest=arms_digest,
    )


def choose_algorithm(options: Options, pool: int | None) -> Algorithm:
    """The algorithm given, or Pairwise-BAI with the comparison that fits the scores and the items."""
    if options.algorithm is not None:
        return _given_algorithm(options, options.algorithm)
    check_open_unit("delta", options.delta)
    check_at_least("epsilon", options.epsilon, 0)
    check_at_least("indifference_zone", options.indifference_zone, 0)
    check_count("first_rounds", options.first_rounds, least=2)
    comparison: Comparison
    if options.bounds is None:
        comparison = StudentMixture(first_rounds=options.first_rounds)
    else:
        comparison = Betting(bounds=check_bounds(options.bounds), pool=pool)
    return PairwiseBAI(options.delta, comparison, epsilon=options.epsilon, indifference_zone=options.indifference_zone)


def _given_algorithm(options: Options, algorithm: Algorithm) -> Algorithm:
    if isinstance(algorithm, type) or not hasattr(algorithm, "start"):
        raise TypeError(f"algorithm must be one such as bestarm.PairwiseBAI(delta=0.05), got {algorithm!r}")
    for name in ("delta", "epsilon", "indifference_zone", "first_rounds"):
        if getattr(options, name) != getattr(Options, name):
            raise ValueError(f"{name} is a setting of the algorithm: give it there, not beside algorithm=")
    return algorithm


def start_game(settings: RaceSettings, n_arms: int, bounds: tuple[float, float] | None = None) -> Game:
    """The game of a race; refuses what does not go together. ``bounds`` are those given beside an algorithm."""
    game = settings.algorithm.start(n_arms)
    check_choice("on_error", settings.on_error, ON_ERROR)
    if settings.max_queries is not None and settings.max_queries < n_arms:
        raise ValueError(f"max_queries must allow for one round of all {n_arms} arms, got {settings.max_queries}")
    if settings.on_error == "worst" and game.bounds is None:
        raise ValueError("on_error='worst' needs bounds=(low, high): without them there is no worst score")
    if settings.on_error == "disqualify" and game.no_disqualification is not None:
        raise ValueError("on_error='disqualify' needs an algorithm that compares arms pair by pair, as PairwiseBAI")
    if settings.in_flight > 1 and not game.works_ahead:
        name = type(settings.algorithm).__name__
        raise ValueError(
            f"{name} chooses every round from the one before it: in_flight must be 1, got {settings.in_flight}"
        )
    if bounds is not None and check_bounds(bounds) != game.bounds:
        raise ValueError(f"bounds {bounds!r} are not those of the algorithm, {game.bounds}: give them in one place")
    pool = game.guarantee.pool
    if pool is not None and pool != settings.n_items:
        have = "there is no pool of items" if settings.n_items is None else f"there are {settings.n_items} items"
        raise ValueError(f"the comparison of the algorithm is for a pool of {pool} items, but {have}")
    return game


def missing_setting(plain: Mapping[str, Any]) -> str | None:
    """What is missing in the settings of a file, or None."""
    names = [field.name for field in fields(RaceSettings)]
    absent = [name for name in (*names, "reason", "source") if name not in plain]
    if not absent and not isinstance(plain["algorithm"], Mapping):
        absent = ["algorithm"]
    return f"the setting {absent[0]} is missing" if absent else None


def difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first setting that is not the same, in words, or None.

    The budget may change: stopping is allowed at any time, so a larger one continues the same race.
    """
    if stored["items_digest"] != now["items_digest"] and stored["n_items"] == now["n_items"]:
        return "the items are not the same"
    compared = [name for name in now if name != "max_queries"]
    flat_stored = dict(_flat({name: stored[name] for name in compared}))
    flat_now = dict(_flat({name: now[name] for name in compared}))
    for name in dict.fromkeys([*flat_stored, *flat_now]):
        before, after = flat_stored.get(name), flat_now.get(name)
        if before != after:
            return f"{name} is {before!r} in the file and {after!r} now"
    return None


def _flat(plain: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings within settings under their own names: what users call delta is the algorithm's."""
    for name, value in plain.items():
        if isinstance(value, Mapping):
            yield name, value.get("type")
            yield from _flat({inner: part for inner, part in value.items() if inner != "type"})
        else:
            yield name, value


def encode(value: Any) -> Any:
    """Frozen settings as plain values; their class under ``type``."""
    if is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: encode(getattr(value, field.name)) for field in fields(value) if field.init}
        return {"type": type(value).__name__} | inner
    if isinstance(value, np.ndarray | tuple | list):
        return [encode(part) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, str | int | float | None) else {"type": type(value).__name__}


def decode(plain: Any) -> Any:
    """The inverse of `encode` for the algorithms and comparisons of bestarm."""
    if isinstance(plain, list):
        return tuple(decode(part) for part in plain)
    if not isinstance(plain, dict):
        return plain
    name = plain["type"]
    known = {
        kind: getattr(module, kind)
        for module, method in ((algorithms, "start"), (comparisons, "evidence"))
        for kind in module.__all__
        if is_dataclass(getattr(module, kind)) and hasattr(getattr(module, kind), method)
    }
    if name not in known:
        raise ValueError(f"the algorithm of this race, {name}, is not one of bestarm: continue it from Python")
    return known[name](**{inner: decode(part) for inner, part in plain.items() if inner != "type"})
