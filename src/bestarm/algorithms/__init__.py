"""Algorithms: `elimination` has those of the paper, `baselines` the others.

`bestarm.algorithms.game` is the ask/tell state that all of them share.
"""

from bestarm.algorithms.baselines import LUCB, HoeffdingRace, KimNelson, VarianceRace
from bestarm.algorithms.elimination import ConvexBAI, EliminationGame, PairwiseBAI
from bestarm.algorithms.game import Algorithm, Elimination, Game, Guarantee, Intervals, Lead, Reason

__all__ = [
    "LUCB",
    "Algorithm",
    "ConvexBAI",
    "Elimination",
    "EliminationGame",
    "Game",
    "Guarantee",
    "HoeffdingRace",
    "Intervals",
    "KimNelson",
    "Lead",
    "PairwiseBAI",
    "Reason",
    "VarianceRace",
]
