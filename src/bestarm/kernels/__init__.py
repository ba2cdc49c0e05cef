"""The compiled inner loops."""

from bestarm.kernels import base, leaders
from bestarm.kernels.asking import ask_again
from bestarm.kernels.base import affine, all_within
from bestarm.kernels.bets import log_wealth, quick_log_wealth
from bestarm.kernels.compiling import compiled
from bestarm.kernels.convex import convex_sign, nonnegative_minimum, race_convex, sparse_sign
from bestarm.kernels.intervals import lucb, race_intervals
from bestarm.kernels.pairs import race_pairs
from bestarm.kernels.symmetric import may_be_judged, race_symmetric, renew_rivals
from bestarm.kernels.wealth import race_wealth

# Parts of other kernels that Python calls too.
let_leave = compiled(base.let_leave)
renew_leaders = compiled(leaders.renew_leaders)

__all__ = [
    "affine",
    "all_within",
    "ask_again",
    "convex_sign",
    "let_leave",
    "log_wealth",
    "lucb",
    "may_be_judged",
    "nonnegative_minimum",
    "quick_log_wealth",
    "race_convex",
    "race_intervals",
    "race_pairs",
    "race_symmetric",
    "race_wealth",
    "renew_leaders",
    "renew_rivals",
    "sparse_sign",
]
