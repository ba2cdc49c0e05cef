"""From the state of a race to its result, and to what a display shows while it runs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Game, Reason
from bestarm.algorithms.assumptions import warn_of_assumption
from bestarm.racing.state import RaceState
from bestarm.record.settings import unit_of
from bestarm.result.live import Standing
from bestarm.result.outcome import RaceOutcome, failure_counts
from bestarm.result.population import widest_lead
from bestarm.result.result import RaceResult
from bestarm.result.shape import Shape, shape_warning, shapes_of


def summarise(state: RaceState) -> RaceResult[Any]:
    """The result of a race as it stands; it takes over the game of a race that has ended."""
    game = state.game
    outcome = _outcome(state)
    counts = state.record.n_scores(game.n_rounds, game.n_arms)
    shapes = _shapes(state, outcome)
    doubt = shape_warning(shapes)
    result = RaceResult(
        arms=state.arms.labels,
        reason=state.reason or Reason.RUNNING,
        n_evaluations=state.spent,
        n_rounds=game.n_rounds,
        means=_means(state, counts),
        counts=counts,
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


def _means(state: RaceState, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean score of each arm over the items that it was evaluated on.

    That of the game leaves out the rounds in flight when an arm left, and weighs groups by their sizes.
    """
    game = state.game
    weighed = unit_of(state.settings, game.guarantee) != 1.0
    means = np.full(game.n_arms, np.nan) if weighed else state.transform.mean_scores(game.means)
    arms = np.flatnonzero((counts > 0) & (weighed | (counts != game.counts))).tolist()
    if not arms:
        return means
    weights = np.array(state.settings.group_sizes) if weighed else np.ones(game.n_rounds)
    known = state.record.by_arm(game.n_rounds, game.n_arms)
    for arm in arms:
        rounds, scores = known.of(arm)
        means[arm] = np.cumsum(scores * weights[rounds])[-1] / weights[rounds].sum()  # one after the other
    return means


def _shapes(state: RaceState, outcome: RaceOutcome) -> tuple[Shape[Any], ...]:
    """How the differences look of the arms that left, and of the leader and its closest rival at the end."""
    n_rounds = state.game.n_rounds
    if not state.game.guarantee.nearly_gaussian or n_rounds == 0:
        return ()
    scores = state.record.by_arm(n_rounds, state.game.n_arms)
    return shapes_of(outcome.deciding_pairs(n_rounds), scores, state.arms.labels)


def warn_of(result: RaceResult[Any], game: Game) -> None:
    """Warn of what looks wrong at the end of a race and was not said while it ran."""
    for text in result.warnings:
        if text not in game.warnings:
            warn_of_assumption(text)


def standing(state: RaceState) -> Standing:
    """How a race stands now."""
    game, settings = state.game, state.settings
    unit, order, behind = unit_of(settings, game.guarantee), *_order(game)
    bound = game.regret_bound if len(order) > 1 else None
    n_items = sum(map(settings.size_of, range(1, state.n_opened + 1))) if settings.group_sizes else state.n_opened
    in_flight = sum(opened.n_missing * settings.size_of(opened.number) for opened in state.open)
    return Standing(
        n_rounds=game.n_rounds,
        n_arms=game.n_arms,
        n_evaluations=state.spent,
        everything=None if settings.everything is None else settings.everything * game.n_arms,
        saved=game.n_arms * n_items - state.spent,
        candidates=tuple(state.arms.names[arm] for arm in order),
        lead=behind[1] * unit if len(behind) > 1 else None,
        regret_bound=None if bound is None else bound * unit,
        behind=tuple(lead * unit for lead in behind),
        widest_lead=widest_lead(game.bounds, game.guarantee),
        epsilon=game.guarantee.epsilon * unit,
        unit=settings.unit or "",
        criterion=game.guarantee.criterion,
        in_flight=in_flight,
        rounds_in_flight=len(state.open),
        most_rounds_in_flight=settings.rounds_in_flight,
        max_evaluations=settings.max_evaluations,
        most_left=_most_left(state, n_items, in_flight),
        failures=failure_counts(state.arms.names, state.record, state.disqualified),
    )


def _order(game: Game) -> tuple[list[int], list[float]]:
    """The candidates, the leader first, then those that are closest to it; and how far each is behind."""
    if game.n_rounds == 0:
        return [], []
    best = game.best
    behind = {arm: game.lead_seen(best, arm) for arm in game.candidates if arm != best}
    order = [best, *sorted(behind, key=behind.__getitem__)]
    return order, [0.0, *sorted(behind.values())]


def _most_left(state: RaceState, n_items: int, in_flight: int) -> int | None:
    """How many evaluations can still come back; None where neither a budget nor the items are an end to them."""
    settings, game = state.settings, state.game
    budget, items = settings.max_evaluations, settings.everything
    n_asked = len(state.open[-1].arms) if state.open and game.shrinks else game.n_arms
    ends = [] if budget is None else [budget - state.spent]
    ends += [] if items is None else [(items - n_items) * n_asked]
    return in_flight + min(ends) if ends else None
