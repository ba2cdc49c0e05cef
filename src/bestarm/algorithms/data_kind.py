"""What kind of data is this? One warning, with what to do, where the rewards do not fit the comparison."""

import sys
import warnings

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import LARGEST
from bestarm.errors import AssumptionWarning

LOOK = 50  # rounds after which the data are judged
FEW_VALUES = 10
SMALL_SPREAD = 0.05


def few_values_warning() -> str:
    """For a Gaussian comparison on discrete data."""
    return (
        f"the scores of the first {LOOK} rounds take at most {FEW_VALUES} distinct values, so they are not Gaussian "
        "and the guarantee does not cover them: if they are bounded, give bounds=(low, high)"
    )


def small_spread_warning(bounds: tuple[float, float]) -> str:
    """For a bounded comparison on differences that hardly use the range."""
    return (
        f"the differences between arms spread over less than {SMALL_SPREAD:.0%} of the range from {bounds[0]:g} to "
        f"{bounds[1]:g}: give tighter bounds if there are any, or leave them out if the differences are nearly "
        "Gaussian, which takes far fewer evaluations"
    )


def warn_of_assumption(text: str) -> None:
    """Warn, at the line outside of bestarm that fed the game."""
    warnings.warn(text, AssumptionWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """How many frames above the caller of this function lies the line outside of bestarm that fed the game."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("bestarm."):
        frame, level = frame.f_back, level + 1
    return level


class DataWatch:
    """Looks at the first rounds of a game; `judgement` is what it found wrong, if anything."""

    def __init__(self, bounds: tuple[float, float] | None) -> None:
        self._bounds = bounds
        self._rows: list[NDArray[np.float64]] = []
        self._seen = 0
        self.judgement: str | None = None

    def look(self, rows: NDArray[np.float64], arms: NDArray[np.int64]) -> bool:
        """Take the rewards of these arms in further rounds; False once there is nothing more to look for."""
        first = rows[: LOOK - self._seen]
        self._seen += len(first)
        kept = np.full(first.shape, np.nan)
        kept[:, arms] = first[:, arms]
        self._rows.append(kept)
        if self._seen < LOOK:
            return True
        self._judge()
        return False

    def _judge(self) -> None:
        """Judge the arms that were queried all along, so that it does not matter in which blocks the rows came."""
        rows = np.concatenate(self._rows)
        rows = rows[:, ~np.isnan(rows).any(axis=0)]
        if self._bounds is None:
            one_arm_has_few = rows.size > 0 and len(set(rows[:, 0].tolist())) <= FEW_VALUES  # quick, and mostly enough
            if one_arm_has_few and np.unique(rows).size <= FEW_VALUES:
                self.judgement = few_values_warning()
        elif rows.shape[1] > 1 and np.unique(rows).size > FEW_VALUES:  # coins are never told to do without bounds
            spread = float(np.sqrt(max(np.var(rows - column[:, None], axis=0, ddof=1).max() for column in rows.T)))
            if spread < SMALL_SPREAD * (self._bounds[1] - self._bounds[0]):
                self.judgement = small_spread_warning(self._bounds)


def check_rewards(rows: NDArray[np.float64], bounds: tuple[float, float] | None, n_rounds: int) -> None:
    """Refuse rewards that are not finite or out of bounds; ``n_rounds`` rounds came before them."""
    from bestarm.kernels import all_within

    low, high = bounds or (-LARGEST, LARGEST)
    if all_within(rows, low, high):
        return
    bad = ~((rows >= low) & (rows <= high))
    r, arm = (int(index) for index in np.argwhere(bad)[0])
    rule = "be finite" if bounds is None else f"be finite and lie in [{low:g}, {high:g}]"
    if bounds is None and np.isfinite(rows[r, arm]):
        rule = f"lie within ±{LARGEST:g}"
    raise ValueError(f"rewards must {rule}, got {float(rows[r, arm])!r} for arm {arm} in round {n_rounds + r + 1}")
