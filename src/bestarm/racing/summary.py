"""From the state of a race to what people see of it: its result, how it stands, and what a file holds."""

import warnings
from dataclasses import dataclass
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any

from bestarm.algorithms import Elimination, Game, Reason
from bestarm.errors import AssumptionWarning, StoreError
from bestarm.inputs.arms import RaceArms
from bestarm.racing.outcome import TIE, Outcome
from bestarm.racing.result import RaceResult
from bestarm.racing.settings import RaceSettings, start_game
from bestarm.racing.sqlite_store import read_store
from bestarm.racing.state import RaceState
from bestarm.racing.store import check_stored


def summarise(state: RaceState, arms: RaceArms) -> RaceResult[Any]:
    """The result of a race as it stands."""
    game, settings = state.game, state.settings
    means = game.means
    if settings.lower_is_better:
        means = -means if game.bounds is None else sum(game.bounds) - means
    return RaceResult(
        arms=arms.labels,
        reason=state.reason or Reason.RUNNING,
        n_evaluations=state.spent,
        n_rounds=game.n_rounds,
        means=means,
        counts=game.counts,
        outcome=_outcome(state),
        settings=settings,
        bounds=game.bounds,
        guarantee=game.guarantee,
        record=state.record.first_rounds(game.n_rounds),
        warnings=tuple(game.warnings),
    )


def _outcome(state: RaceState) -> Outcome:
    game = state.game
    settled = _settled(state)
    candidates = [arm for arm in game.candidates if arm not in {out.arm for out in settled}]
    leader = _leader(game, candidates)
    means = game.means
    candidates.sort(key=lambda arm: (arm != leader, -means[arm] if game.n_rounds else 0.0))
    return Outcome(
        leader=leader,
        candidates=tuple(candidates),
        eliminations=(*game.eliminations, *settled),
        failures=tuple(state.disqualified),
        contradiction=None if game.n_rounds == 0 else game.contradiction,
    )


def _settled(state: RaceState) -> list[Elimination[int]]:
    """The arms behind the best mean, once a comparison without a pool has seen all items."""
    game = state.game
    if state.reason is not Reason.ALL_ITEMS_USED or game.finished or game.n_rounds == 0:
        return []
    best = game.best
    lead = game.means[best] - game.means
    behind = [arm for arm in game.candidates if lead[arm] > TIE * max(1.0, abs(game.means[best]))]
    return [Elimination(arm=arm, round=game.n_rounds, by=best, margin=float(lead[arm])) for arm in behind]


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
    interval: tuple[float, float] | None  # of that lead, each side at the level of one elimination


def standing(state: RaceState, arms: RaceArms) -> Standing:
    """How a race stands now."""
    game, n_items = state.game, state.settings.n_items
    means = game.means
    order = sorted(game.candidates, key=lambda arm: -means[arm]) if game.n_rounds else []
    first_two = (order[0], order[1]) if len(order) > 1 else None
    lead = None if first_two is None else game.lead(first_two[0], first_two[1])
    return Standing(
        n_rounds=game.n_rounds,
        n_arms=game.n_arms,
        n_evaluations=state.spent,
        everything=None if n_items is None else n_items * game.n_arms,
        saved=game.n_arms * state.record.n_rounds - state.spent,
        candidates=tuple(arms.names[arm] for arm in order),
        lead=None if first_two is None else float(means[first_two[0]] - means[first_two[1]]),
        interval=None if lead is None else (lead.low, lead.high),
    )


ENDED_STREAM = (Reason.RAN_OUT_OF_ITEMS, "items exhausted")  # the second in files of earlier versions


def load_result(path: str | Path) -> RaceResult[str]:
    """The result of a saved race, finished or not; its file is not changed."""
    stored = read_store(path)
    try:
        settings = RaceSettings.from_plain(check_stored(path, stored.settings))
        game = start_game(settings, len(stored.arms))
    except (ValueError, TypeError) as error:
        raise StoreError(f"the race in {path} cannot be shown: {error}") from error
    more = () if stored.settings.get("reason") in ENDED_STREAM else repeat("")
    items = islice(chain((item or "" for item in stored.record.items), more), settings.n_items)
    state = RaceState(game, settings, items)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)  # they are in the result
            state.restore(stored.record)
    except StoreError as error:
        raise StoreError(f"the race in {path} cannot be read: {error}") from error
    return summarise(state, RaceArms(stored.arms, stored.arms, stored.arms))
