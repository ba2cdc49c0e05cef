"""What rewards are drawn from.

Every kind of arms has ``n_arms``, ``means``, ``covariance``, ``best`` and ``draw(n_rounds, rng)``. Rows drawn in one
call or in several from the same generator are the same rows: the size of a block never changes a game.
"""

from bestarm.arms.bernoulli import BernoulliArms, BernoulliVariances, bernoulli_variances
from bestarm.arms.gaussian import GaussianArms, clustered_arms, equicorrelated_arms, gaussian_worst_case_arms
from bestarm.arms.law import Arms, difference_variances
from bestarm.arms.table import PoolArms, TableArms, UnpairedArms

__all__ = [
    "Arms",
    "BernoulliArms",
    "BernoulliVariances",
    "GaussianArms",
    "PoolArms",
    "TableArms",
    "UnpairedArms",
    "bernoulli_variances",
    "clustered_arms",
    "difference_variances",
    "equicorrelated_arms",
    "gaussian_worst_case_arms",
]
