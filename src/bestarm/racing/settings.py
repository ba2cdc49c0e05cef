"""The settings of a race: all that decides its course besides its scores."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from bestarm.algorithms import Algorithm, Game
from bestarm.checks import check_bounds, check_choice, check_count, check_flag
from bestarm.inputs.items import Items, Kind
from bestarm.inputs.options import Options, choose_algorithm
from bestarm.inputs.plain import decode, encode, flat

ON_ERROR = ("raise", "worst", "disqualify")


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


def race_settings(options: Options, items: Items, arms_digest: str) -> RaceSettings:
    """The settings of a race on these items."""
    check_flag("lower_is_better", options.lower_is_better)
    in_flight = options.usual_in_flight if options.in_flight is None else options.in_flight
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


def start_game(settings: RaceSettings, n_arms: int, bounds: tuple[float, float] | None = None) -> Game:
    """The game of a race; refuses what does not go together. ``bounds`` are those given beside an algorithm."""
    game = settings.algorithm.start(n_arms)
    check_choice("on_error", settings.on_error, ON_ERROR)
    if settings.max_queries is not None and settings.max_queries < n_arms:
        raise ValueError(f"max_queries must allow for one round of all {n_arms} arms, got {settings.max_queries}")
    if settings.on_error == "worst" and game.bounds is None:
        raise ValueError("on_error='worst' needs bounds=(low, high): without them there is no worst score")
    if settings.on_error == "disqualify" and game.no_disqualification is not None:
        need = "on_error='disqualify' needs an algorithm that compares arms pair by pair, as PairwiseBAI"
        raise ValueError(f"{need}: {game.no_disqualification}")
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
    for name in (*(field.name for field in fields(RaceSettings)), "reason", "source"):
        if name not in plain or (name == "algorithm" and "type" not in getattr(plain[name], "keys", tuple)()):
            return f"the setting {name} is missing"
    return None


def difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first setting that is not the same, in words, or None.

    The budget may change: stopping is allowed at any time, so a larger one continues the same race.
    """
    if stored["items_digest"] != now["items_digest"] and stored["n_items"] == now["n_items"]:
        return "the items are not the same"
    compared = [name for name in now if name != "max_queries"]
    flat_stored = dict(flat({name: stored[name] for name in compared}))
    flat_now = dict(flat({name: now[name] for name in compared}))
    for name in dict.fromkeys([*flat_stored, *flat_now]):
        before, after = flat_stored.get(name), flat_now.get(name)
        if before != after:
            return f"{name} is {before!r} in the file and {after!r} now"
    return None
