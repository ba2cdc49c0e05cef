"""How the evidence against each arm grew while a race ran, by playing its record again."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bestarm.values import Array, Indices

if TYPE_CHECKING:
    from bestarm.result.result import RaceResult

POINTS = 240  # rounds that are looked at, besides those in which an arm left
CELLS = 10**6  # of a history at most: fewer rounds where there are many arms


@dataclass(frozen=True)
class EvidenceHistory:
    """The evidence that each arm is not the best, in some of the rounds.

    ``shares`` has one row per round and one column per arm: `Game.evidence`, 1 where an arm is out in this round, and
    NaN from there on.
    """

    rounds: Indices
    shares: Array


def pictures_of(result: "RaceResult[Any]") -> tuple[bool, bool]:
    """Whether there is something to draw: of the evidence, and of the differences to the leader.

    Where all scores that an answer is about are known, nobody is out by evidence. Differences add nothing to a race
    that is decided.
    """
    evidence = not result.exact and result.evidence_history is not None
    return evidence, result.n_rounds > 0 and not (evidence and result.answered and not result.complete)


def evidence_history(result: "RaceResult[Any]") -> EvidenceHistory | None:
    """Play the race again and look at the evidence on the way; None where its algorithm has none."""
    game, n_arms = result.new_game(), len(result.arms)
    last = result.game.n_rounds  # a complete table has more rounds than its race
    if last == 0 or math.isnan(result.delta) or game.evidence() is None:
        return None
    n_points = max(2, min(POINTS, CELLS // n_arms))
    exits = [out.round for out in result.game.eliminations]
    some = np.rint(np.geomspace(1, last, n_points)).astype(np.int64)
    rounds = np.unique(np.concatenate([some, np.array(exits, dtype=np.int64)]))
    shares = np.full((rounds.size, n_arms), np.nan)
    present = np.ones(n_arms, dtype=np.bool_)
    for k, t in enumerate(rounds[rounds <= last].tolist()):
        result.play(game, t)
        now = game.evidence()
        if now is None:
            return None
        shares[k, present] = now[present]
        present &= ~(now >= 1.0)
    return EvidenceHistory(rounds, shares)
