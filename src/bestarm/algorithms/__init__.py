"""One file per algorithm; `bestarm.algorithms.game` is the ask/tell state that all share."""

from bestarm.algorithms.algorithm import Algorithm
from bestarm.algorithms.convex import ConvexBAI
from bestarm.algorithms.elimination import EliminationGame
from bestarm.algorithms.game import Game
from bestarm.algorithms.hoeffding_race import HoeffdingRace
from bestarm.algorithms.kim_nelson import KimNelson
from bestarm.algorithms.lucb import LUCB
from bestarm.algorithms.pairwise import PairwiseBAI
from bestarm.algorithms.statements import Elimination, Guarantee, Intervals, Lead, Reason
from bestarm.algorithms.variance_race import VarianceRace

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
