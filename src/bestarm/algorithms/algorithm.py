"""What every algorithm is."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bestarm.algorithms.game import Game


class Algorithm(Protocol):
    """Frozen settings of an algorithm."""

    def start(self, n_arms: int) -> "Game":
        """A new game with this many arms."""
        ...
