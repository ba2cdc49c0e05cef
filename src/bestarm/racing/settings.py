"""The settings of a race: which algorithm, what may not change between a run and its continuation."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from bestarm import algorithms, comparisons
from bestarm.algorithms import LUCB, Algorithm, ConvexBAI, Game, PairwiseBAI
from bestarm.checks import check_at_least, check_bounds, check_choice, check_count, check_open_unit
from bestarm.comparisons import Betting, StudentMixture

ON_ERROR = ("raise", "worst", "disqualify")
FIRST_ROUNDS = 10  # real scores are only nearly Gaussian


@dataclass(frozen=True)
class RaceSettings:
    """All that decides the course of a race besides its scores."""

    algorithm: Algorithm
    lower_is_better: bool
    max_queries: int | None
    in_flight: int
    on_error: str
    seed: int
    items: str  # "pool", "stream" or "seeds"
    n_items: int | None
    items_digest: str | None
    arms_digest: str

    def to_json(self) -> dict[str, Any]:
        """The settings as plain values."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"algorithm": encode(self.algorithm)}


def missing_setting(plain: Mapping[str, Any]) -> str | None:
    """What is missing in the settings of a file, or None."""
    names = [field.name for field in fields(RaceSettings)]
    absent = [name for name in (*names, "reason", "source") if name not in plain]
    if not absent and not isinstance(plain["algorithm"], Mapping):
        absent = ["algorithm"]
    return f"the setting {absent[0]} is missing" if absent else None


def settings_from(plain: Mapping[str, Any]) -> RaceSettings:
    """The settings that `RaceSettings.to_json` made plain; ValueError for an algorithm that is not of bestarm."""
    inner = {field.name: plain[field.name] for field in fields(RaceSettings)}
    return RaceSettings(**inner | {"algorithm": decode(plain["algorithm"])})


def choose_algorithm(
    algorithm: Algorithm | None,
    delta: float,
    bounds: tuple[float, float] | None,
    epsilon: float,
    indifference_zone: float,
    first_rounds: int,
    pool: int | None,
) -> Algorithm:
    """The algorithm given, or Pairwise-BAI with the comparison that fits the scores and the items."""
    if algorithm is not None:
        if isinstance(algorithm, type) or not hasattr(algorithm, "start"):
            raise TypeError(f"algorithm must be one such as bestarm.PairwiseBAI(delta=0.05), got {algorithm!r}")
        given = {"delta": delta, "epsilon": epsilon, "indifference_zone": indifference_zone}
        for name, value in (*given.items(), ("first_rounds", first_rounds)):
            if value != DEFAULTS[name]:
                raise ValueError(f"{name} is a setting of the algorithm: give it there, not beside algorithm=")
        return algorithm
    check_open_unit("delta", delta)
    check_at_least("epsilon", epsilon, 0)
    check_at_least("indifference_zone", indifference_zone, 0)
    check_count("first_rounds", first_rounds, least=2)
    comparison: Betting | StudentMixture
    if bounds is None:
        comparison = StudentMixture(first_rounds=first_rounds)
    else:
        comparison = Betting(bounds=check_bounds(bounds), pool=pool)
    return PairwiseBAI(delta, comparison, epsilon=epsilon, indifference_zone=indifference_zone)


DEFAULTS = {"delta": 0.05, "epsilon": 0.0, "indifference_zone": 0.0, "first_rounds": FIRST_ROUNDS}


def check_settings(settings: RaceSettings, n_arms: int, bounds: tuple[float, float] | None) -> None:
    """Refuse what does not go together; ``bounds`` are those of the game."""
    check_choice("on_error", settings.on_error, ON_ERROR)
    if settings.max_queries is not None and settings.max_queries < n_arms:
        raise ValueError(f"max_queries must allow for one round of all {n_arms} arms, got {settings.max_queries}")
    if settings.on_error == "worst" and bounds is None:
        raise ValueError("on_error='worst' needs bounds=(low, high): without them there is no worst score")
    if settings.on_error == "disqualify" and isinstance(settings.algorithm, LUCB | ConvexBAI):
        raise ValueError("on_error='disqualify' needs an algorithm that compares arms pair by pair, as PairwiseBAI")
    if settings.in_flight > 1 and isinstance(settings.algorithm, LUCB):
        raise ValueError(
            f"LUCB chooses every round from the one before it: in_flight must be 1, got {settings.in_flight}"
        )


def check_algorithm(algorithm: Algorithm, game: Game, bounds: tuple[float, float] | None, n_items: int | None) -> None:
    """Refuse an algorithm made for other scores or items than those given beside it."""
    if bounds is not None and check_bounds(bounds) != game.bounds:
        raise ValueError(f"bounds {bounds!r} are not those of the algorithm, {game.bounds}: give them in one place")
    pool = getattr(getattr(algorithm, "comparison", None), "pool", None)
    if pool is not None and pool != n_items:
        have = "there is no pool of items" if n_items is None else f"there are {n_items} items"
        raise ValueError(f"the comparison of the algorithm is for a pool of {pool} items, but {have}")


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


def _flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings within settings under their own names: what users call delta is the algorithm's."""
    for name, value in settings.items():
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
    known = {kind: getattr(module, kind) for module in (algorithms, comparisons) for kind in module.__all__}
    if name not in known:
        raise ValueError(f"the algorithm of this race, {name}, is not one of bestarm: continue it from Python")
    return known[name](**{inner: decode(part) for inner, part in plain.items() if inner != "type"})
