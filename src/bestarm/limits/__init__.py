"""What is possible: figures that the queries of rules are measured against. The proofs are in ``docs/theory.md``.

`gaussian_lower_bound` holds for every rule on Gaussian arms. `oracle_queries` is what an oracle needs that knows the
law of bounded scores and bets on differences: a yardstick, no bound for every rule.
"""

from bestarm.limits.gaussian import gaussian_lower_bound, nested_sets
from bestarm.limits.oracle import growth_rates, oracle_queries

__all__ = ["gaussian_lower_bound", "growth_rates", "nested_sets", "oracle_queries"]
