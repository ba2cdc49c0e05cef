"""What the record of a race says about items like these: the law that its items are a random sample of."""

import math
import warnings
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from bestarm.algorithms import EliminationGame
from bestarm.algorithms.statements import Arm
from bestarm.errors import AssumptionWarning
from bestarm.racing.replay import Reading, replay_given
from bestarm.racing.settings import RaceSettings, start_game
from bestarm.values import equal_values, hash_of_values

if TYPE_CHECKING:
    from bestarm.racing.result import RaceResult

FREE = {
    "epsilon": 0.0,
    "max_rounds": None,
    "max_queries": None,
}  # the race ended already: what is left is who is beaten


@dataclass(frozen=True, eq=False)
class ForPopulation(Generic[Arm]):
    """What a race says about items like these: the law that the items are a random sample of.

    With probability at least ``1 - delta``, of its own and at all times, the best arm for that law is among the
    ``candidates`` and none is better than the leader of the race by more than ``regret_bound``. ``decided`` says
    whether one candidate is left.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    candidates: tuple[Arm, ...]
    regret_bound: float

    @property
    def decided(self) -> bool:
        """Whether one candidate is left."""
        return len(self.candidates) == 1


def for_population(result: "RaceResult[Arm]") -> ForPopulation[Arm] | None:
    """The statement about items like these; None where the race has none.

    A race whose target is the population has made it already. If its target is the items of its list, the same bets
    against a mean of 0 are played on its record, the arms of each round given: an arm that the race dropped stays as
    it was then. Items drawn again and again say nothing about others.
    """
    if result.target == "population":
        return ForPopulation(result.candidates, result.regret_bound)
    game = population_game(result.settings, len(result.arms)) if result.settings.items == "pool" else None
    if game is None or result.outcome.leader is None or result.n_rounds == 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # was said when the race ran
        replay_given(game, result.record, result.outcome.disqualifying, Reading(result.settings.lower_is_better))
    order = [arm for arm in result.order if arm in game.candidates]
    bound = 0.0 if len(order) == 1 else _regret_bound(game, result.outcome.leader)
    return ForPopulation(tuple(result.arms[arm] for arm in order), bound)


def population_game(settings: RaceSettings, n_arms: int) -> EliminationGame | None:
    """A game by the rules of a race on a pool, but about the law behind it; None where there is no such game."""
    algorithm: Any = settings.algorithm
    comparison = getattr(algorithm, "comparison", None)
    if not is_dataclass(algorithm) or not is_dataclass(comparison) or not _has(comparison, "pool"):
        return None
    free = {name: value for name, value in FREE.items() if _has(algorithm, name)}
    like_these: Any = replace(algorithm, comparison=replace(comparison, pool=None), **free)  # type: ignore[type-var]
    game = start_game(replace(settings, algorithm=like_these), n_arms)
    return game if isinstance(game, EliminationGame) else None


def _has(settings: Any, name: str) -> bool:
    return any(field.name == name for field in fields(settings))


def _regret_bound(game: EliminationGame, leader: int) -> float:
    """No arm is better than this one by more; it need not be a candidate, and NaN is unknown."""
    bounds = [game.lead_bound(leader, arm) for arm in game.candidates if arm != leader]
    known = [-bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return math.nan
    widest = math.inf if game.bounds is None else game.bounds[1] - game.bounds[0]
    return min(max(0.0, *known), widest)
