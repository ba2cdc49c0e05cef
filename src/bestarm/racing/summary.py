"""From the state of a race to what people see of it: its result, how it stands, and what a file holds."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Game, Reason
from bestarm.algorithms.data_kind import warn_of_assumption
from bestarm.errors import AssumptionWarning, BestarmError, StoreError
from bestarm.inputs.arms import RaceArms
from bestarm.racing.outcome import Outcome
from bestarm.racing.result import RaceResult
from bestarm.racing.settings import RaceSettings, start_game, unit_of
from bestarm.racing.shape import Shape, shape_warning, shapes_of
from bestarm.racing.sqlite_store import read_store
from bestarm.racing.state import RaceState
from bestarm.racing.store import StoredRace, in_short
from bestarm.racing.stored_values import check_game, check_work
from bestarm.shown import file_name


def summarise(state: RaceState, arms: RaceArms) -> RaceResult[Any]:
    """The result of a race as it stands."""
    game, settings = state.game, state.settings
    outcome = _outcome(state)
    shapes = _shapes(state, arms, outcome)
    wrong = shape_warning(shapes)
    return RaceResult(
        arms=arms.labels,
        reason=state.reason or Reason.RUNNING,
        n_evaluations=state.spent,
        n_rounds=game.n_rounds,
        means=_means(state),
        counts=game.counts,
        outcome=outcome,
        settings=settings,
        bounds=game.bounds,
        guarantee=game.guarantee,
        record=state.record.first_rounds(game.n_rounds),
        warnings=tuple(game.warnings) if wrong is None else (wrong,),  # of the pairs concerned
        shapes=shapes,
        outage=state.outage,
    )


def _means(state: RaceState) -> NDArray[np.float64]:
    """The mean score of each arm over the items that it was evaluated on."""
    game, settings = state.game, state.settings
    if unit_of(settings, game.guarantee) != 1.0:  # groups of several sizes
        return _means_of_items(state)
    if not settings.lower_is_better:
        return game.means
    return -game.means if game.bounds is None else sum(game.bounds) - game.means


def _means_of_items(state: RaceState) -> NDArray[np.float64]:
    """The same where rounds have several sizes."""
    game, sizes = state.game, np.array(state.settings.group_sizes)
    known, means = state.record.by_arm(game.n_rounds, game.n_arms), np.full(game.n_arms, np.nan)
    for arm, count in enumerate(game.counts.tolist()):
        rounds, scores = (column[:count] for column in known.of(arm))  # those in flight when it left do not count
        if count > 0:
            means[arm] = np.cumsum(scores * sizes[rounds])[-1] / sizes[rounds].sum()  # one after the other
    return means


def _shapes(state: RaceState, arms: RaceArms, outcome: Outcome) -> tuple[Shape[Any], ...]:
    """How the differences look of the arms that left, and of the leader and its closest rival at the end."""
    n_rounds = state.game.n_rounds
    if not state.game.guarantee.nearly_gaussian or n_rounds == 0:
        return ()
    scores = state.record.by_arm(n_rounds, state.game.n_arms)
    return shapes_of(outcome.compared(n_rounds), scores.table, lambda arm: arms.labels[arm])


def warn_of(result: RaceResult[Any], game: Game) -> None:
    """Warn of what looks wrong at the end of a race and was not said while it ran."""
    for text in result.warnings:
        if text not in game.warnings:
            warn_of_assumption(text)


def _outcome(state: RaceState) -> Outcome:
    game = state.game
    candidates = list(game.candidates)
    leader = _leader(game, candidates)
    means = game.means
    candidates.sort(key=lambda arm: (arm != leader, -means[arm] if game.n_rounds else 0.0))
    return Outcome(
        leader=leader,
        candidates=tuple(candidates),
        eliminations=tuple(game.eliminations),
        failures=tuple(state.disqualified),
        contradiction=None if game.n_rounds == 0 else game.contradiction,
    )


def _leader(game: Game, candidates: list[int]) -> int | None:
    if game.n_rounds > 0:
        return game.best
    return candidates[0] if len(candidates) == 1 else None  # all others were disqualified in the first round


@dataclass(frozen=True)
class Standing:
    """How a race stands, for a display; arms by name, candidates by their means."""

    n_rounds: int
    n_arms: int
    n_evaluations: int
    everything: int | None  # evaluations of all arms on all items
    saved: int  # evaluations of arms that had left
    candidates: tuple[str, ...]  # none before the first round
    lead: float | None  # of the first over the second
    regret_bound: float | None  # how much better than the leader any arm can still be; None where it is not known


def standing(state: RaceState, arms: RaceArms) -> Standing:
    """How a race stands now."""
    game, everything = state.game, state.settings.everything
    unit, order = unit_of(state.settings, game.guarantee), _order(game)
    first_two = (order[0], order[1]) if len(order) > 1 else None
    bound = None if first_two is None else game.regret_bound
    return Standing(
        n_rounds=game.n_rounds,
        n_arms=game.n_arms,
        n_evaluations=state.spent,
        everything=None if everything is None else everything * game.n_arms,
        saved=game.n_arms * _items_so_far(state) - state.spent,
        candidates=tuple(arms.names[arm] for arm in order),
        lead=None if first_two is None else game.lead_seen(*first_two) * unit,
        regret_bound=None if bound is None else bound * unit,
    )


def _order(game: Game) -> list[int]:
    """The candidates, the leader first, then those that are closest to it."""
    if game.n_rounds == 0:
        return []
    best = game.best
    return [best, *sorted(set(game.candidates) - {best}, key=lambda arm: game.lead_seen(best, arm))]


def _items_so_far(state: RaceState) -> int:
    sizes, n_rounds = state.settings.group_sizes, state.record.n_rounds
    return n_rounds if sizes is None else sum(sizes[:n_rounds])


ENDED_STREAM = (Reason.RAN_OUT_OF_ITEMS, "items exhausted")  # the second in files of earlier versions


# What settings and scores raise that no race has, though each of them is of the right kind.
NONSENSE = (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError, BestarmError)


def load_result(path: str | os.PathLike[str], *, large: bool = False) -> RaceResult[str]:
    """The result of a saved race, finished or not; its file is not changed.

    Nothing that the file names is imported or run, whoever made it. A race with so many arms that it would take more
    than 1 GiB of memory, or minutes, is shown with ``large=True`` only. Raises `StoreError` for what is not a race, or
    is damaged.
    """
    stored = read_store(path)
    try:
        state = _restored(stored, large)
        names = RaceArms(stored.arms, stored.arms, stored.arms)
        del stored  # its record is as large as the race
        result = summarise(state, names)
        result.keep_game(state.game)
        return result
    except NONSENSE as error:
        raise StoreError(f"the race in {file_name(path)} cannot be shown: {in_short(error)}") from error


def _restored(stored: StoredRace, large: bool) -> RaceState:
    """The state of a race where its file ends."""
    settings, record, n_arms = RaceSettings.from_plain(stored.settings), stored.record, len(stored.arms)
    if not large:
        check_game(settings.algorithm, n_arms)
        check_work(settings.algorithm, n_arms, record.n_rounds)
    more = () if stored.settings.get("reason") in ENDED_STREAM else repeat("")

    def items_after(n_rounds: int) -> Iterator[str]:
        if settings.pool is not None and n_rounds > settings.pool:
            raise StoreError(f"its items were different: there is no item for round {settings.pool + 1} now")
        left = [record.item(number) or "" for number in range(n_rounds + 1, record.n_rounds + 1)]
        return islice(chain(left, more), None if settings.pool is None else settings.pool - n_rounds)

    state = RaceState(start_game(settings, n_arms), settings, iter(()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)  # they are in the result
        state.restore(record, items_after)
    return state
