"""The options of a race: which there are, their defaults, and the algorithm that they ask for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from bestarm.algorithms import Algorithm, PairwiseBAI
from bestarm.checks import check_at_least, check_bounds, check_count, check_open_unit
from bestarm.comparisons import Betting, Comparison, StudentMixture
from bestarm.inputs.plain import check_algorithm

if TYPE_CHECKING:
    from bestarm.racing.store import Store

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
    # What those who evaluate add: users cannot give them.
    usual_in_flight: int = 1
    origin: Mapping[str, Any] | None = None  # where a race came from, kept in its store for `bestarm resume`


def known_options(function: str, options: Mapping[str, Any], known: type) -> Options:
    """Options that were given by name, checked as Python itself would check them."""
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return Options(**options)


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
    check_algorithm(algorithm)
    for name in ("delta", "epsilon", "indifference_zone", "first_rounds"):
        if getattr(options, name) != getattr(Options, name):
            raise ValueError(f"{name} is a setting of the algorithm: give it there, not beside algorithm=")
    return algorithm
