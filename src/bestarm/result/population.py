"""What a race says about items like these: the law that its items are a random sample of."""

import math
import warnings
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from bestarm.algorithms import Game
from bestarm.algorithms.game import Arm, Guarantee
from bestarm.errors import AssumptionWarning
from bestarm.record.record import RewardTransform
from bestarm.record.replay import replay_given
from bestarm.record.settings import RaceSettings, start_game
from bestarm.values import equal_values, hash_of_values

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult

# The race has ended already: what is left is who is beaten.
WITHOUT_LIMITS = {"epsilon": 0.0, "max_rounds": None, "max_queries": None}


@dataclass(frozen=True, eq=False)
class ForPopulation(Generic[Arm]):
    """What a race says about items like these: the law that the items are a random sample of.

    With probability at least ``1 - delta``, of its own and at all times, the best arm for that law is among the
    ``candidates``, and not better than the leader of the race by more than ``regret_bound``, or it is among those that
    were ``disqualified`` while they could be the best. ``decided`` says whether one candidate is left.
    """

    __eq__ = equal_values
    __hash__ = hash_of_values

    candidates: tuple[Arm, ...]
    regret_bound: float
    disqualified: tuple[Arm, ...] = ()

    @property
    def decided(self) -> bool:
        """Whether one candidate is left."""
        return len(self.candidates) == 1


def for_population(result: "RaceResult[Arm]") -> ForPopulation[Arm] | None:
    """The statement about items like these; None where the race has none.

    A race whose target is the population has made it already. If its target is the items of its list, its record is
    played again by the same rule with ``pool=None``, forced to query the arms the race queried: what is known about an
    arm that the race dropped stays as it was then. Items drawn again and again say nothing about others.
    """
    if result.target == "population":
        failed = tuple(failed.arm for failed in result.disqualified)
        return ForPopulation(result.candidates, result.regret_bound, failed)
    game = _population_game(result.settings, len(result.arms)) if result.settings.items == "pool" else None
    leader = result.outcome.leader
    if game is None or leader is None or result.n_rounds == 0:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # was said when the race ran
        gone = _play(game, result)
    order = [arm for arm in result.order if arm in game.candidates and arm not in gone]
    bound = 0.0 if order == [leader] else _regret_bound(game, leader, order)
    labels = result.arms
    return ForPopulation(tuple(labels[arm] for arm in order), bound, tuple(labels[arm] for arm in sorted(gone)))


def _play(game: Game, result: "RaceResult[Any]") -> set[int]:
    """Play the record of a race, the arms of each round given; who was disqualified while it could be the best.

    Every failure counts, also of an arm that the race had dropped and that was still in flight: its score is not known.
    If all that are left fail at once, the game stays where it was.
    """
    failures = result.record.disqualifying()
    for out in result.outcome.failures:  # one may have ended the race before its round
        failures.setdefault(out.round, {})[out.arm] = out.failure
    gone: set[int] = set()
    transform, record = RewardTransform(result.settings.lower_is_better, game.bounds), result.record
    for number in sorted(failures):
        replay_given(game, record.first_rounds(min(number - 1, record.n_rounds)), {}, transform)
        failed = [] if game.finished else [arm for arm in failures[number] if arm in game.next_arms()]
        gone |= {arm for arm in failed if arm in game.candidates}
        if set(game.candidates) <= gone:
            return gone
        for arm in failed:
            game.disqualify(arm)
    replay_given(game, record, {}, transform)
    return gone


def _population_game(settings: RaceSettings, n_arms: int) -> Game | None:
    """A game by the rules of a race on a pool, but about the law behind it; None where there is no such game."""
    algorithm: Any = settings.algorithm
    comparison = getattr(algorithm, "comparison", None)
    if not is_dataclass(algorithm) or not is_dataclass(comparison) or not _has(comparison, "pool"):
        return None
    free = {name: value for name, value in WITHOUT_LIMITS.items() if _has(algorithm, name)}
    like_these: Any = replace(algorithm, comparison=replace(comparison, pool=None), **free)  # type: ignore[type-var]
    game = start_game(replace(settings, algorithm=like_these), n_arms)
    return game if game.withdraws else None


def _has(settings: Any, name: str) -> bool:
    return any(field.name == name for field in fields(settings))


def _regret_bound(game: Game, leader: int, candidates: list[int]) -> float:
    """None of the candidates is better than the leader, which need not be one, by more than this; NaN is unknown."""
    smallest = game.smallest_lead_bound(leader, [arm for arm in candidates if arm != leader])
    if not candidates or smallest is None:
        return math.nan
    return min(max(0.0, -smallest), widest_lead(game.bounds, game.guarantee))


def widest_lead(bounds: tuple[float, float] | None, guarantee: Guarantee) -> float:
    """The largest lead that there can be: a share of items, or as far as the bounds are apart."""
    if guarantee.criterion == "wins":
        return 1.0
    return math.inf if bounds is None else bounds[1] - bounds[0]
