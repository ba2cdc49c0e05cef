"""A record played again: ``settings + record -> game after round r``.

Resuming is a replay and then going on, loading is a replay, and the lead over time, intervals and regret bounds are
read off replays. What happens in one round is here as well, because a live race and a replay must do the same: which
arms are told, who is disqualified, when nobody is left.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Game
from bestarm.errors import StoreError
from bestarm.record.record import Failure, Record, RewardTransform, encode_failure
from bestarm.record.settings import RaceSettings, weighing_sizes

BLOCK = 2048  # rounds that are brought into the form of a table at a time, at most
CELLS_OF_TABLE = 2**20  # of such a table, at most
OR_DECIDES = "or its comparison decides differently now"  # a user's own may have been changed
SCORES_MISSING = f"it is damaged: scores are missing, {OR_DECIDES}"
Failures = Mapping[int, Mapping[int, Failure]]  # by round and arm: who failed and has no score


# --- a round, in a race and in a replay -------------------------------------------------------------------------------


@dataclass(frozen=True)
class DisqualifiedArm:
    """An arm that was disqualified: in which round, and why."""

    arm: int
    round: int
    failure: Failure

    @property
    def text(self) -> str:
        """Why, in the words of the race's store."""
        return encode_failure(self.failure)


@dataclass(frozen=True)
class Outage:
    """A round in which nobody who may be the best could be evaluated: on which item, and the first failure.

    It says nothing about any arm, so nobody is disqualified for it: the race ends undecided, and when it is continued
    the round is evaluated again.
    """

    round: int
    item: str
    failure: str


def reward_transform(settings: RaceSettings, game: Game) -> RewardTransform:
    """How the scores of a race become rewards: the mean over all items of a pool weighs groups by their sizes."""
    sizes = weighing_sizes(settings.group_sizes, game.guarantee)
    weights = None if sizes is None else np.array(sizes) / max(sizes)
    return RewardTransform(settings.lower_is_better, game.bounds, weights)


def tell_round(
    game: Game, arms: list[int], scores: NDArray[np.float64], transform: RewardTransform, gone: Set[int] = frozenset()
) -> None:
    """Tell a game a round that was asked earlier: those of its arms that the game still wants.

    A game that does not shrink is told all of them, but for those that are ``gone``, disqualified.
    """
    told = transform.rewards(scores, game.n_rounds + 1)
    wanted = game.ask().tolist() if game.shrinks else [arm for arm in arms if arm not in gone]
    if wanted != arms:
        places = {arm: place for place, arm in enumerate(arms)}
        if missing := [arm for arm in wanted if arm not in places]:
            raise StoreError(f"it is damaged: scores of arm {missing[0]} are missing, {OR_DECIDES}")
        told = told[[places[arm] for arm in wanted]]
    if game.shrinks:
        game.tell(told)
    elif wanted:
        game.tell(told, wanted)
    else:
        raise StoreError(f"it is damaged: it goes on after round {game.n_rounds + 1}, in which nobody was evaluated")


def nobody_left(game: Game, asked: list[int], failures: Mapping[int, Failure], gone: Set[int]) -> bool:
    """Whether the failures of a round leave no candidate, or nobody of whom the game could be told."""
    if failures and set(game.candidates) <= set(failures):
        return True
    return not game.shrinks and all(arm in failures or arm in gone for arm in asked)


def disqualify(game: Game, number: int, failures: Mapping[int, Failure]) -> list[DisqualifiedArm]:
    """Take out the arms that failed in a round, before it is absorbed.

    Arms that were already out do not matter: they were asked while others were in flight.
    """
    if failures and not game.finished and set(game.candidates) <= set(failures):
        raise StoreError(f"it is damaged: it goes on after round {number}, in which all candidates failed")
    out = []
    for arm, failure in sorted(failures.items()):
        if not game.finished and arm in game.ask():  # asking again changes nothing
            game.disqualify(arm)
            out.append(DisqualifiedArm(arm, number, failure))
    return out


# --- many rounds: a replay --------------------------------------------------------------------------------------------


def replay(
    game: Game, record: Record, failures: Failures, last: int, transform: RewardTransform
) -> list[DisqualifiedArm]:
    """Play a game from where it stands through the rounds of a record up to the last; returns who was disqualified.

    The game may have other rules than the race had; it must want no more than was scored.
    """
    out: list[DisqualifiedArm] = []
    gone = {arm for number in failures if number <= game.n_rounds for arm in failures[number]}
    for number in [*sorted(number for number in failures if game.n_rounds < number <= last), last + 1]:
        _play(game, record, number - 1, transform, gone)
        if number <= last:
            out += disqualify(game, number, failures[number])
            gone |= set(failures[number])
    return out


def _play(game: Game, record: Record, last: int, transform: RewardTransform, gone: Set[int]) -> None:
    """Play the rounds up to the last: as blocks where nobody comes back, else round by round."""
    blank = 0.0 if game.bounds is None else game.bounds[0]  # for what the game will not read
    together = max(1, min(BLOCK, CELLS_OF_TABLE // game.n_arms))
    while game.n_rounds < last and not game.finished:
        first = game.n_rounds + 1
        if game.shrinks:
            scores = record.dense(first, min(last, first + together - 1), game.n_arms, blank)
            game.play(transform.rewards(scores, first))
            if game.n_queries > record.n_rows(game.n_rounds):  # a file may promise rounds that it does not hold
                raise StoreError(SCORES_MISSING)
        else:
            tell_round(game, record.arms(first), record.scores(first), transform, gone)


def replay_given(game: Game, record: Record, failures: Failures, transform: RewardTransform) -> None:
    """Play another game on the same record, *the arms of each round given*.

    What would these rules say on the same data? An arm that the race dropped is not queried from there on and stays a
    candidate, unless the rules had beaten it by then: the game must be one that `withdraws`. The arms of a round depend
    on the rounds before it alone, so tests that hold at all times, whoever is queried, stay valid.
    """
    for last, arms in _stretches(record):
        if last <= game.n_rounds:
            continue
        if not game.finished:
            game.keep_only(arms)
        replay(game, record, failures, last, transform)


def _stretches(record: Record) -> Iterator[tuple[int, list[int]]]:
    """Rounds with the same arms in a row: the last of them, and the arms, which must only ever become fewer."""
    begun = 1
    for number in [*record.changes(), record.n_rounds + 1] if record.n_rounds else ():
        standing = record.arms(begun)
        if number <= record.n_rounds and not set(record.arms(number)) < set(standing):
            raise ValueError(f"arms came back in round {number}: such a record cannot be played by other rules")
        yield number - 1, standing
        begun = number
