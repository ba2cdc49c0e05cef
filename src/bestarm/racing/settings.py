"""The settings of a race: all that decides its course besides its scores."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, get_args

from bestarm.algorithms import Algorithm, Game
from bestarm.checks import check_bounds, check_choice, check_count, check_flag
from bestarm.inputs.items import Items, Kind
from bestarm.inputs.options import OnError, Options, choose_algorithm
from bestarm.inputs.plain import FORMAT, decode, encode, flat, renamed, up_to_date
from bestarm.values import shortest_call


@dataclass(frozen=True, kw_only=True, repr=False)
class RaceSettings:
    """All that decides the course of a race besides its scores."""

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
    hashed_seeds: bool = False  # fresh seeds of versions without this setting are in progression

    __repr__ = shortest_call

    def to_plain(self) -> dict[str, Any]:
        """The settings as plain values, for JSON."""
        return {field.name: encode(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "RaceSettings":
        """The inverse of `to_plain`; ValueError for an algorithm that is not one of bestarm's."""
        present = present_settings(plain)
        values = {field.name: present[field.name] for field in fields(cls)}
        return cls(**values | {"algorithm": decode(present["algorithm"])})


def race_settings(options: Options, items: Items, arms_digest: str) -> RaceSettings:
    """The settings of a race on these items."""
    check_flag("lower_is_better", options.lower_is_better)
    ahead = options.usual_in_flight if options.rounds_in_flight is None else options.rounds_in_flight
    budget = options.max_evaluations
    return RaceSettings(
        algorithm=choose_algorithm(options, items.n_items),
        lower_is_better=bool(options.lower_is_better),
        max_evaluations=None if budget is None else check_count("max_evaluations", budget),
        rounds_in_flight=check_count("rounds_in_flight", ahead),
        on_error=options.on_error,
        seed=int(options.seed),
        items=items.kind,
        n_items=items.n_items,
        items_digest=items.digest,
        arms_digest=arms_digest,
        hashed_seeds=items.kind == "seeds",
    )


def start_game(settings: RaceSettings, n_arms: int, bounds: tuple[float, float] | None = None) -> Game:
    """The game of a race; refuses what does not go together. ``bounds`` are those given beside an algorithm."""
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
    if bounds is not None and check_bounds(bounds) != game.bounds:
        test = getattr(settings.algorithm, "comparison", settings.algorithm)
        own = "uses no bounds" if game.bounds is None else f"is for scores in {_interval(game.bounds)}"
        raise ValueError(f"bounds={_interval(bounds)} do not fit {test!r}, which {own}: leave one of the two out")
    pool = game.guarantee.pool
    if pool is not None and pool != settings.n_items:
        have = "there is no pool of items" if settings.n_items is None else f"there are {settings.n_items} items"
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


def difference(stored: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """The first setting that is not the same, in words, or None.

    The budget may change: stopping is allowed at any time, so a larger one continues the same race.
    """
    stored = {**stored, "algorithm": up_to_date(stored["algorithm"])}
    if stored["items_digest"] != now["items_digest"] and stored["n_items"] == now["n_items"]:
        return "the items are not the same"
    compared = [name for name in now if name != "max_evaluations"]
    before, after = (dict(flat({name: plain[name] for name in compared})) for plain in (stored, now))
    ways = sorted(dict.fromkeys([*before, *after]), key=lambda way: way[-1] not in ("n_items", "bounds"))
    for way in ways:  # first what users gave, then what followed from it
        if before.get(way) != after.get(way):
            return f"{way[-1]} was {before.get(way)!r} when the race began and is {after.get(way)!r} now"
    return None
