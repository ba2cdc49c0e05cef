"""The options of a race: their names, their defaults, and the algorithm that they ask for."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, get_args

from bestarm.algorithms import Algorithm, ConvexBAI, Game, PairwiseBAI
from bestarm.algorithms.game import require_algorithm
from bestarm.checks import (
    LARGEST_STORED,
    check_bounds,
    check_choice,
    check_count,
    check_delta,
    check_difference,
    check_flag,
    check_in_flight,
    is_real,
)
from bestarm.comparisons import Comparison, LeaderBetting, StudentMixture, Wins
from bestarm.comparisons.boundaries import MIN_ROUNDS
from bestarm.comparisons.evidence import Criterion, check_adapts, require_comparison
from bestarm.errors import ParameterError
from bestarm.record.settings import OnError, RaceSettings, Target, check_unit, start_game, target_of, weighing_sizes
from bestarm.sources.items import Groups, Items
from bestarm.text import short_repr

if TYPE_CHECKING:
    from bestarm.record.store import Store


DELTA = 0.05
MOST_DELTA = 0.5  # more is nearly always a confidence, given by mistake


class _Aim(TypedDict, total=False):
    criterion: Criterion | None
    target: Target | None
    delta: float | None
    epsilon: float | None
    indifference_zone: float | None
    min_rounds: int | None
    seed: int


class _Test(TypedDict, total=False):
    max_evaluations: int | None
    comparison: Comparison | None
    algorithm: Algorithm | None


class _Course(TypedDict, total=False):
    bounds: tuple[float, float] | None
    on_error: OnError
    store: "str | Path | Store | None"
    replace: bool | None


class PlanOptions(_Aim, total=False):
    """Options of `bestarm.race` that say what is tested; described there, as are the others."""

    lower_is_better: bool


class TableOptions(PlanOptions, _Test, total=False):
    """Options that make sense for scores that are recorded already."""


class CommandOptions(_Aim, _Test, _Course, total=False):
    """Options of a race of programs, which are run one after the other."""


class RaceOptions(_Aim, _Test, _Course, total=False):
    """Options of a race, whoever evaluates."""

    lower_is_better: bool
    rounds_in_flight: int | None
    groups: Groups | None
    unit: str | None


@dataclass(frozen=True)
class Options:
    """The options of a race: what is not among them is refused.

    None means not given, and gets its default where it depends on the others; what always has the same is here.
    """

    delta: float | None = None
    bounds: tuple[float, float] | None = None
    lower_is_better: bool = False
    criterion: Criterion | None = None
    epsilon: float | None = None
    indifference_zone: float | None = None
    max_evaluations: int | None = None
    rounds_in_flight: int | None = None
    target: Target | None = None
    replace: bool | None = None
    groups: Groups | None = None
    on_error: OnError = "raise"
    store: "str | Path | Store | None" = None
    seed: int = 0
    comparison: Comparison | None = None
    algorithm: Algorithm | None = None
    min_rounds: int | None = None
    unit: str | None = None
    # What those who evaluate add: users cannot give them.
    usual_in_flight: int = 1
    own_range: bool = False  # the bounds are the range of a recorded table
    origin: Mapping[str, Any] | None = None  # where a race came from: the `source` of its store


def known_options(function: str, options: Mapping[str, Any], known: type) -> Options:
    """Options that were given by name, checked as Python itself would check them."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {short_repr(name)}")
    return Options(**options)


def checked_aim(options: Options) -> tuple[float, float, float]:
    """Delta, epsilon and the zone: as given, or their defaults."""
    delta = DELTA if options.delta is None else options.delta
    epsilon = 0.0 if options.epsilon is None else options.epsilon
    zone = 0.0 if options.indifference_zone is None else options.indifference_zone
    check_delta(delta)
    if delta > MOST_DELTA:
        sure = "delta is the accepted probability of a wrong answer, at most 0.5 in a race"
        raise ValueError(f"{sure}, got {short_repr(delta)}: for 95% certainty give 0.05")
    check_difference("epsilon", epsilon)
    check_difference("indifference_zone", zone)
    return delta, epsilon, zone


def choose_algorithm(options: Options, pool: int | None) -> Algorithm:
    """The algorithm given; or the comparison given, or the one that fits the scores, on these items.

    A comparison is told of the pool only where the target is its items: otherwise they are a sample.
    """
    if options.algorithm is not None:
        return _given_algorithm(options, options.algorithm)
    delta, epsilon, zone = checked_aim(options)
    if options.target is not None:
        check_choice("target", options.target, get_args(Target))
    _check_leads(options, epsilon, zone)
    comparison = _comparison(options, pool if options.target == "items" else None)
    if comparison.role == "pairs":
        return PairwiseBAI(delta, comparison=comparison, epsilon=epsilon, indifference_zone=zone)
    if zone:
        raise ValueError(
            f"indifference_zone needs a comparison of pairs, got {short_repr(zone)} with {short_repr(comparison)}"
        )
    return ConvexBAI(delta, comparison=comparison, epsilon=epsilon)


def _check_leads(options: Options, epsilon: float, zone: float) -> None:
    """Refuse an epsilon or a zone that no two arms can be apart."""
    wins = options.criterion == "wins"
    if options.bounds is None and not wins:
        return
    low, high = (0.0, 1.0) if wins or options.bounds is None else check_bounds(options.bounds)
    for name, value in (("epsilon", epsilon), ("indifference_zone", zone)):
        if value >= high - low and wins:
            raise ValueError(
                f"{name} is a share of items, won minus lost, with criterion='wins': below 1, got {short_repr(value)}"
            )
        if value >= high - low:
            raise ValueError(
                f"{name} must be below {high - low:g}, in units of scores, which lie in [{low:g}, {high:g}]: "
                f"got {short_repr(value)}"
            )


def _comparison(options: Options, pool: int | None) -> Comparison:
    """The comparison, told what the race knows: the interval of the scores and the number of items."""
    bounds = None if options.bounds is None else check_bounds(options.bounds)
    if options.criterion is not None:
        check_choice("criterion", options.criterion, get_args(Criterion))
    if options.min_rounds is not None:
        _check_min_rounds(options, options.min_rounds)
    if options.comparison is None and options.criterion == "wins":
        return Wins(bounds, pool=pool)
    if options.comparison is None:
        gaussian = StudentMixture(min_rounds=MIN_ROUNDS if options.min_rounds is None else options.min_rounds)
        return gaussian if bounds is None else LeaderBetting(bounds, pool=pool)
    require_comparison(options.comparison)
    check_adapts(options.comparison)
    return options.comparison.adapted(bounds, pool)


def _check_min_rounds(options: Options, min_rounds: int) -> None:
    """Refuse a first look where the test has none."""
    check_count("min_rounds", min_rounds, least=2)
    test = None if options.comparison is None else short_repr(options.comparison)
    if test is None and options.criterion == "wins":
        test = "criterion='wins'"
    elif test is None and options.bounds is not None:
        test = "the test for scores in bounds"
    if test is not None:
        raise ValueError(f"min_rounds is a setting of StudentMixture, got {min_rounds} with {test}")


def _given_algorithm(options: Options, algorithm: Algorithm) -> Algorithm:
    """The algorithm, if nothing that was given beside it says otherwise."""
    require_algorithm(algorithm)
    inside = getattr(algorithm, "comparison", None)
    if options.comparison is not None and options.comparison != inside:
        raise ValueError(
            f"comparison={short_repr(options.comparison)} is given together with algorithm={short_repr(algorithm)}: "
            "leave algorithm out, or make the comparison one of its settings"
        )
    owners = {"delta": algorithm, "epsilon": algorithm, "indifference_zone": algorithm, "min_rounds": inside}
    for name, owner in owners.items():
        given, own = getattr(options, name), getattr(owner, name, getattr(algorithm, name, None))
        if given is not None and not (is_real(given) and given == own):
            if own is None:
                raise ValueError(
                    f"{short_repr(algorithm)} has no setting {name}, got {name}={short_repr(given)} together with it"
                )
            raise ValueError(
                f"{name} is {short_repr(given)} here and {short_repr(own)} in {short_repr(algorithm)}: "
                "give it in one place"
            )
    return algorithm


def race_settings(options: Options, items: Items, arms_digest: str) -> RaceSettings:
    """The settings of a race on these items."""
    check_flag("lower_is_better", options.lower_is_better)
    if options.unit is not None:
        check_unit(options.unit)
    ahead = options.usual_in_flight if options.rounds_in_flight is None else options.rounds_in_flight
    budget = options.max_evaluations
    return RaceSettings(
        algorithm=choose_algorithm(_in_units_of_game(options, items), items.n_rounds),
        lower_is_better=bool(options.lower_is_better),
        max_evaluations=None if budget is None else check_count("max_evaluations", budget, most=LARGEST_STORED),
        rounds_in_flight=check_in_flight(ahead),
        on_error=options.on_error,
        seed=int(options.seed),
        items=items.kind,
        n_items=items.n_items,
        items_digest=items.digest,
        arms_digest=arms_digest,
        own_range=options.own_range,
        group_sizes=items.sizes,
        unit=options.unit,
        hashed_seeds=items.kind == "seeds",
    )


def _in_units_of_game(options: Options, items: Items) -> Options:
    """Epsilon and the zone in the units of the game, which `unit_of` explains."""
    if items.sizes is None or options.algorithm is not None:
        return options
    sizes = weighing_sizes(items.sizes, choose_algorithm(options, items.n_rounds).start(2).guarantee)
    if sizes is None:
        return options
    share = sum(sizes) / (max(sizes) * len(sizes))  # 1 / unit_of, but rounded as race files have it
    epsilon, zone = options.epsilon, options.indifference_zone
    return replace(
        options,
        epsilon=None if epsilon is None else epsilon * share,
        indifference_zone=None if zone is None else zone * share,
    )


def _check_target(target: Target, game: Game, settings: RaceSettings) -> None:
    """Refuse a target that these items cannot have, or that the test is not about."""
    check_choice("target", target, get_args(Target))
    if target == target_of(settings, game.guarantee):
        return
    if settings.n_items is None:
        problem = "cannot be 'items' without a list of items: a stream and fresh seeds have no end"
        raise ParameterError("target", problem, target)
    if settings.items == "drawn":
        raise ParameterError(
            "target",
            "cannot be 'population' where items are drawn with replacement, the default for times of programs (see "
            "{replace}): items drawn again say nothing about others",
            target,
            {"replace": "replace"},
        )
    if target == "population":
        problem = f"cannot be 'population' with {short_repr(settings.algorithm)}, which is for a pool of items"
        raise ParameterError("target", problem, target)
    raise ParameterError(
        "target",
        "cannot be 'items' without {bounds} or wins as {criterion}, and a comparison that can use the number of items: "
        "they can only be taken as a sample then",
        target,
        {"bounds": "bounds=(low, high)", "criterion": "criterion"},
    )


def _check_given(given: Options, game: Game, settings: RaceSettings) -> None:
    """Refuse bounds, a target or a criterion that the test is not about."""
    test = getattr(settings.algorithm, "comparison", settings.algorithm)
    if given.bounds is not None and check_bounds(given.bounds) != game.bounds:
        settable = is_dataclass(test) and "bounds" in {field.name for field in fields(test)}
        fixed = game.bounds is not None and not settable
        own = "uses no bounds" if game.bounds is None else f"is for scores in {_interval(game.bounds)}"
        which = "comparison" if hasattr(settings.algorithm, "comparison") else "algorithm"
        what_to_do = f"bring the scores into these, or leave the {which} out" if fixed else "leave one of the two out"
        raise ValueError(f"bounds={_interval(given.bounds)} do not fit {short_repr(test)}, which {own}: {what_to_do}")
    if given.criterion is not None and given.criterion != game.guarantee.criterion:
        problem = f"{short_repr(given.criterion)} does not fit {short_repr(test)}: leave one of the two out"
        raise ParameterError("criterion", problem, given.criterion)
    if given.target is not None:
        _check_target(given.target, game, settings)


def _interval(bounds: tuple[float, float]) -> str:
    return f"({bounds[0]:g}, {bounds[1]:g})"


def start_chosen_game(settings: RaceSettings, n_arms: int, given: Options) -> Game:
    """The game of a race that a user begins; refuses options that do not fit its algorithm."""
    _check_given(given, settings.algorithm.start(n_arms), settings)
    return start_game(settings, n_arms)
