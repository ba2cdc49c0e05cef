"""From the state of a race to its result, and to what a display shows while it runs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Game, Reason
from bestarm.algorithms.game import warn_of_assumption
from bestarm.racing.state import RaceState
from bestarm.record.settings import unit_of
from bestarm.result.live import Standing
from bestarm.result.outcome import RaceOutcome
from bestarm.result.result import RaceResult
from bestarm.result.shape import Shape, shape_warning, shapes_of


def summarise(state: RaceState) -> RaceResult[Any]:
    """The result of a race as it stands; it takes over the game of a race that has ended."""
    game = state.game
    outcome = _outcome(state)
    shapes = _shapes(state, outcome)
    doubt = shape_warning(shapes)
    result = RaceResult(
        arms=state.arms.labels,
        reason=state.reason or Reason.RUNNING,
        n_evaluations=state.spent,
        n_rounds=game.n_rounds,
        means=_means(state),
        counts=game.counts,
        outcome=outcome,
        settings=state.settings,
        bounds=game.bounds,
        guarantee=game.guarantee,
        record=state.record.first_rounds(game.n_rounds),
        warnings=tuple(game.warnings) or (() if doubt is None else (doubt,)),  # one of them: they say the same
        shapes=shapes,
        outage=state.outage,
    )
    if state.reason is not None:
        result.keep_game(game)
    return result


def _outcome(state: RaceState) -> RaceOutcome:
    game = state.game
    candidates = list(game.candidates)
    leader = _leader_or_none(game, candidates)
    means = game.means
    candidates.sort(key=lambda arm: (arm != leader, -means[arm] if game.n_rounds else 0.0))
    return RaceOutcome(
        leader=leader,
        candidates=tuple(candidates),
        eliminations=tuple(game.eliminations),
        failures=tuple(state.disqualified),
        contradiction=None if game.n_rounds == 0 else game.contradiction,
    )


def _leader_or_none(game: Game, candidates: list[int]) -> int | None:
    if game.n_rounds > 0:
        return game.best
    return candidates[0] if len(candidates) == 1 else None  # all others were disqualified in the first round


def _means(state: RaceState) -> NDArray[np.float64]:
    """The mean score of each arm over the items that it was evaluated on."""
    game = state.game
    if unit_of(state.settings, game.guarantee) == 1.0:
        return state.transform.mean_scores(game.means)
    sizes, means = np.array(state.settings.group_sizes), np.full(game.n_arms, np.nan)
    known = state.record.by_arm(game.n_rounds, game.n_arms)
    for arm, count in enumerate(game.counts.tolist()):
        rounds, scores = (column[:count] for column in known.of(arm))  # those in flight when it left do not count
        if count > 0:
            means[arm] = np.cumsum(scores * sizes[rounds])[-1] / sizes[rounds].sum()  # one after the other
    return means


def _shapes(state: RaceState, outcome: RaceOutcome) -> tuple[Shape[Any], ...]:
    """How the differences look of the arms that left, and of the leader and its closest rival at the end."""
    n_rounds = state.game.n_rounds
    if not state.game.guarantee.nearly_gaussian or n_rounds == 0:
        return ()
    scores = state.record.by_arm(n_rounds, state.game.n_arms)
    return shapes_of(outcome.compared(n_rounds), scores, state.arms.labels)


def warn_of(result: RaceResult[Any], game: Game) -> None:
    """Warn of what looks wrong at the end of a race and was not said while it ran."""
    for text in result.warnings:
        if text not in game.warnings:
            warn_of_assumption(text)


def standing(state: RaceState) -> Standing:
    """How a race stands now."""
    game, settings = state.game, state.settings
    sizes, everything = settings.group_sizes, settings.everything
    unit, order = unit_of(settings, game.guarantee), _order(game)
    first_two = (order[0], order[1]) if len(order) > 1 else None
    bound = None if first_two is None else game.regret_bound
    n_items = state.n_opened if sizes is None else sum(sizes[: state.n_opened])
    return Standing(
        n_rounds=game.n_rounds,
        n_arms=game.n_arms,
        n_evaluations=state.spent,
        everything=None if everything is None else everything * game.n_arms,
        saved=game.n_arms * n_items - state.spent,
        candidates=tuple(state.arms.names[arm] for arm in order),
        lead=None if first_two is None else game.lead_seen(*first_two) * unit,
        regret_bound=None if bound is None else bound * unit,
    )


def _order(game: Game) -> list[int]:
    """The candidates, the leader first, then those that are closest to it."""
    if game.n_rounds == 0:
        return []
    best = game.best
    return [best, *sorted(set(game.candidates) - {best}, key=lambda arm: game.lead_seen(best, arm))]
