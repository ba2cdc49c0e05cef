"""What kind of data is this? One actionable warning where the comparison does not fit what it is fed."""

import sys
import warnings

import numpy as np
from numpy.typing import NDArray

LARGEST = float(np.finfo(np.float64).max)
LOOK = 50  # rounds after which the data are judged
FEW_VALUES = 10
SMALL_SPREAD = 0.05


class DataWarning(UserWarning):
    """The rewards do not look like what the comparison is made for."""


def few_values_warning() -> str:
    """For a Gaussian comparison on discrete data."""
    return (
        f"the rewards of the first {LOOK} rounds take at most {FEW_VALUES} distinct values, so they are not Gaussian "
        "and the guarantee of this comparison does not cover them: if they are bounded, use "
        "comparison=bestarm.Betting(bounds=(low, high)), or bounds=(low, high) in a race"
    )


def small_spread_warning(bounds: tuple[float, float]) -> str:
    """For a bounded comparison on differences that hardly use the range."""
    return (
        f"the differences between arms spread over less than {SMALL_SPREAD:.0%} of the range [{bounds[0]:g}, "
        f"{bounds[1]:g}]: give tighter bounds if there are any, or, if the differences are nearly Gaussian, use "
        "comparison=bestarm.StudentMixture() (in a race: no bounds), which needs far fewer queries"
    )


def _callers_level() -> int:
    """How many frames above the caller of this function lies the line outside of bestarm that fed the game."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("bestarm."):
        frame, level = frame.f_back, level + 1
    return level


class DataWatch:
    """Looks at the first rounds of a game, then stays silent."""

    def __init__(self, bounds: tuple[float, float] | None) -> None:
        self._bounds = bounds
        self._values: set[float] = set()
        self._rows: list[NDArray[np.float64]] = []
        self._seen = 0

    def look(self, rows: NDArray[np.float64], arms: NDArray[np.int64]) -> bool:
        """Take the rewards of these arms in further rounds; False once there is nothing more to look for."""
        first = rows[: LOOK - self._seen]
        self._seen += len(first)
        if self._bounds is None:
            for row in first:
                self._values.update(row[arms].tolist())
                if len(self._values) > FEW_VALUES:
                    return False
        else:
            kept = np.full(first.shape, np.nan)
            kept[:, arms] = first[:, arms]
            self._rows.append(kept)
        if self._seen < LOOK:
            return True
        self._judge()
        return False

    def _judge(self) -> None:
        if self._bounds is None:
            warnings.warn(few_values_warning(), DataWarning, stacklevel=_callers_level())
            return
        rows = np.concatenate(self._rows)
        rows = rows[:, ~np.isnan(rows).any(axis=0)]
        if rows.shape[1] < 2:
            return
        spread = float(np.sqrt(max(np.var(rows - column[:, None], axis=0, ddof=1).max() for column in rows.T)))
        if spread < SMALL_SPREAD * (self._bounds[1] - self._bounds[0]):
            warnings.warn(small_spread_warning(self._bounds), DataWarning, stacklevel=_callers_level())


def check_rewards(rows: NDArray[np.float64], bounds: tuple[float, float] | None, n_rounds: int) -> None:
    """Refuse rewards that are not finite or out of bounds; so many rounds came before them."""
    from bestarm.kernels import all_within

    low, high = bounds or (-LARGEST, LARGEST)
    if all_within(rows, low, high):
        return
    bad = ~((rows >= low) & (rows <= high))
    r, arm = (int(index) for index in np.argwhere(bad)[0])
    rule = "be finite" if bounds is None else f"be finite and lie in [{low:g}, {high:g}]"
    raise ValueError(f"rewards must {rule}, got {float(rows[r, arm])!r} for arm {arm} in round {n_rounds + r + 1}")
