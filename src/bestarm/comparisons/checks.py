"""Refusals of comparisons that do not go with an algorithm."""

from bestarm.checks import check_lead
from bestarm.comparisons.evidence import Comparison, Role
from bestarm.shown import described


def check_role(algorithm: str, role: Role, comparison: Comparison) -> None:
    """Refuse a comparison that says nothing about what the algorithm asks."""
    own = getattr(comparison, "role", None)
    if own not in _WHAT or isinstance(comparison, type):
        raise TypeError(f"{algorithm} needs a comparison such as {_SUCH_AS[role]}, got {described(comparison)}")
    if own == role:
        return
    other = "ConvexBAI" if own == "combinations" else "PairwiseBAI"
    raise ValueError(
        f"{algorithm} compares an arm with {_WHAT[role]}, but {comparison!r} is a test of {_WHAT[own]}: "
        f"use it with {other}"
    )


def check_comparison(comparison: Comparison) -> None:
    """Refuse what is not a comparison, or is the class of one."""
    if getattr(comparison, "role", None) not in _WHAT or isinstance(comparison, type):
        raise TypeError(
            f"comparison must be a comparison such as {_SUCH_AS['pairs']} (with brackets), got {described(comparison)}"
        )


def check_adapts(comparison: Comparison) -> None:
    """Refuse a comparison of a user's own that a race cannot tell anything."""
    if not hasattr(comparison, "adapted"):
        name = type(comparison).__name__
        raise TypeError(f"{name} needs a method adapted(bounds, pool) to be raced with, as PairBoundary has one")


def check_epsilon(epsilon: float, comparison: Comparison) -> None:
    """Refuse a tolerance that is below 0, or that the comparison cannot show."""
    check_lead("epsilon", epsilon)
    if epsilon > 0 and not comparison.supports_epsilon:
        raise ValueError(
            f"epsilon needs a comparison that supports it, got epsilon={epsilon!r} with {described(comparison)}"
        )


_WHAT: dict[Role, str] = {"pairs": "single arms", "combinations": "combinations of arms"}
_SUCH_AS: dict[Role, str] = {
    "pairs": "bestarm.comparisons.StudentMixture()",
    "combinations": "bestarm.comparisons.Portfolio()",
}
