"""What every algorithm is."""

from typing import TYPE_CHECKING, Any, Protocol

from bestarm.shown import described

if TYPE_CHECKING:
    from bestarm.algorithms.game import Game


class Algorithm(Protocol):
    """Frozen settings of an algorithm."""

    def start(self, n_arms: int) -> "Game":
        """A new game with this many arms."""
        ...


def check_algorithm(algorithm: Any) -> None:
    """Refuse what is not an algorithm, or is the class of one."""
    if isinstance(algorithm, type) or not hasattr(algorithm, "start"):
        raise TypeError(
            f"algorithm must be an algorithm such as bestarm.algorithms.PairwiseBAI(0.05), got {described(algorithm)}"
        )
