"""Trees from before the names were put in order (CHANGELOG, "The surface"), called by the present names.

For the scripts that compare two commits. Options of races have their former names there, results lack some attributes,
and leads were read the other way round.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

FORMER = {"max_evaluations": "max_queries", "rounds_in_flight": "in_flight", "min_rounds": "first_rounds"}
FORMER_REASONS = {"pool exhausted": "all items used", "items exhausted": "ran out of items"}
ANSWERS = ("decided", "within epsilon", "pool exhausted")


def make_present(bestarm: Any) -> bool:
    """Let an earlier bestarm be called by the present names; whether it is an earlier one."""
    if not hasattr(bestarm, "PairwiseBAI"):
        return False
    for name in ("race", "Race", "race_table", "race_commands", "plan"):
        setattr(bestarm, name, _renaming(getattr(bestarm, name)))
    bestarm.AssumptionWarning = bestarm.DataWarning
    result = bestarm.RaceResult
    result.n_evaluations = property(lambda self: self.n_queries)
    result.leader = property(lambda self: self.best)
    result.answered = property(lambda self: self.reason in ANSWERS)
    return True


def present_settings(bestarm: Any) -> dict[str, Any]:
    """Settings whose arguments have other names there, by name."""
    kinds = (bestarm.comparisons.StudentMixture, bestarm.algorithms.KimNelson)
    return {kind.__name__: _renaming(kind) for kind in kinds} if hasattr(bestarm, "PairwiseBAI") else {}


def _renaming(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def called(*values: Any, **options: Any) -> Any:
        options = {FORMER.get(name, name): value for name, value in options.items()}
        if options.get("missing") == "drop":
            options["missing"] = "drop-items"
        if call.__name__ == "race_table" and "comparison" in options:  # StudentMixture, the only one that is compared
            del options["comparison"]
            options["bounds"] = None
        return call(*values, **options)

    return called
