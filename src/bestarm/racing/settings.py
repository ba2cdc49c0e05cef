"""The settings of a race: all that decides its course besides its scores."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, get_args

from bestarm.algorithms import Algorithm, Game, Guarantee
from bestarm.algorithms.algorithm import check_algorithm
from bestarm.checks import LONGEST, check_bounds, check_choice, check_count, check_flag, check_in_flight
from bestarm.inputs.items import Items, Kind
from bestarm.inputs.options import OnError, Options, Target, as_chosen_then, choose_algorithm
from bestarm.inputs.plain import FORMAT, as_written, decode, encode, flat, renamed, up_to_date
from bestarm.shown import described
from bestarm.values import shortest_call


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


def race_settings(options: Options, items: Items, arms_digest: str) -> RaceSettings:
    """The settings of a race on these items."""
    check_flag("lower_is_better", options.lower_is_better)
    ahead = options.usual_in_flight if options.rounds_in_flight is None else options.rounds_in_flight
    budget = options.max_evaluations
    return RaceSettings(
        algorithm=choose_algorithm(_in_units(options, items), items.n_rounds),
        lower_is_better=bool(options.lower_is_better),
        max_evaluations=None if budget is None else check_count("max_evaluations", budget, most=LONGEST),
        rounds_in_flight=check_in_flight(ahead),
        on_error=options.on_error,
        seed=int(options.seed),
        items=items.kind,
        n_items=items.n_items,
        items_digest=items.digest,
        arms_digest=arms_digest,
        own_range=options.own_range,
        group_sizes=items.sizes,
        hashed_seeds=items.kind == "seeds",
    )


def _in_units(options: Options, items: Items) -> Options:
    """Epsilon and the zone in the units of the game, which `unit_of` explains."""
    sizes = items.sizes
    if sizes is None or options.algorithm is not None:
        return options
    promise = choose_algorithm(options, items.n_rounds).start(2).guarantee
    if promise.pool is None or promise.criterion == "wins":  # groups count the same
        return options
    share = sum(sizes) / (max(sizes) * len(sizes))
    epsilon, zone = options.epsilon, options.indifference_zone
    return replace(
        options,
        epsilon=None if epsilon is None else epsilon * share,
        indifference_zone=None if zone is None else zone * share,
    )


def target_of(settings: RaceSettings, guarantee: Guarantee) -> Target:
    """What the answer of a race is about: the items of its list, or what they are a sample of."""
    return "items" if guarantee.pool is not None or settings.items == "drawn" else "population"


def unit_of(settings: RaceSettings, guarantee: Guarantee) -> float:
    """What one point of a difference in the game is worth in the mean over all items.

    Rounds of a pool of groups weigh ``size / largest size``: their mean is that of the items times the mean weight.
    """
    sizes = settings.group_sizes if guarantee.pool is not None and guarantee.criterion == "mean" else None
    return 1.0 if sizes is None else max(sizes) * len(sizes) / sum(sizes)


def _check_target(target: Target, game: Game, settings: RaceSettings) -> None:
    """Refuse a target that these items cannot have, or that the test is not about."""
    check_choice("target", target, get_args(Target))
    if target == target_of(settings, game.guarantee):
        return
    if settings.n_items is None:
        raise ValueError("target='items' needs a list of items: a stream and fresh seeds have no end")
    if settings.items == "drawn":
        raise ValueError(
            "items drawn with replacement, as times of programs are unless replace=False is given, say nothing about "
            "a population: give replace=False, or leave target='population' out"
        )
    if target == "population":
        raise ValueError(
            f"target='population' does not fit {described(settings.algorithm)}, which is for a pool of items"
        )
    raise ValueError(
        "target='items' needs bounds=(low, high) or criterion='wins', and a comparison that can use the number of "
        "items: without them the items can only be taken as a sample"
    )


def _check_given(given: Options, game: Game, settings: RaceSettings) -> None:
    """Refuse bounds, a target or a criterion that the test is not about."""
    test = getattr(settings.algorithm, "comparison", settings.algorithm)
    if given.bounds is not None and check_bounds(given.bounds) != game.bounds:
        own = "uses no bounds" if game.bounds is None else f"is for scores in {_interval(game.bounds)}"
        raise ValueError(
            f"bounds={_interval(given.bounds)} do not fit {described(test)}, which {own}: leave one of the two out"
        )
    if given.criterion is not None and given.criterion != game.guarantee.criterion:
        raise ValueError(
            f"criterion={described(given.criterion)} does not fit {described(test)}: leave one of the two out"
        )
    if given.target is not None:
        _check_target(given.target, game, settings)


def start_game(settings: RaceSettings, n_arms: int, given: Options | None = None) -> Game:
    """The game of a race; refuses what does not go together, with what was ``given``, also beside an algorithm."""
    game = settings.algorithm.start(n_arms)
    if given is not None:
        _check_given(given, game, settings)
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


def as_begun(settings: RaceSettings, stored: Mapping[str, Any], given: Options) -> RaceSettings:
    """The settings of a race that is continued; where nothing was given, its rounds in flight and its test stay."""
    if given.rounds_in_flight is None:
        settings = replace(settings, rounds_in_flight=stored["rounds_in_flight"])
    if given.comparison is None and given.algorithm is None:
        settings = replace(settings, algorithm=as_chosen_then(settings.algorithm, stored["algorithm"]))
    if settings.items == "drawn" and stored["items"] == "stream":  # as it was called in earlier files
        settings = replace(settings, items="stream", n_items=None, items_digest=None)
    return replace(settings, algorithm=as_written(settings.algorithm, stored["algorithm"]))


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
