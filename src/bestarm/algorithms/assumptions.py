"""Whether the first rounds look as a comparison assumes, and warnings of what a race rests on."""

import sys
import warnings

import numpy as np

from bestarm.errors import AssumptionWarning
from bestarm.values import Array, Indices

LOOK = 50  # rounds after which the data are judged
FEW_VALUES = 10  # that scores or differences may take and still look discrete
SMALL_SPREAD = 0.05  # of the range of the bounds: differences that use less would gain by tighter ones
MUCH_ROOM = 0.5  # of it: scores that use more leave no room for tighter ones


FEW_VALUES_WARNING = (  # for a Gaussian comparison on discrete data
    f"the scores of the first {LOOK} rounds take at most {FEW_VALUES} distinct values, so they are not Gaussian "
    "and the guarantee does not cover them: give the bounds that scores lie in"
)


def small_spread_warning(bounds: tuple[float, float], used: float) -> str:
    """For a bounded comparison on scores that use this share of the range, and differences that use hardly any."""
    return (
        f"the differences between arms spread over less than {SMALL_SPREAD:.0%} of the range from {bounds[0]:g} to "
        f"{bounds[1]:g}, and the scores of the first {LOOK} rounds over {100 * used:.2g}%: give tighter bounds, which "
        "take fewer evaluations, if no score can lie outside of them"
    )


def warn_of_assumption(text: str, in_result: bool = True) -> None:
    """Warn of what a race rests on; ``in_result`` says whether its result says it as well."""
    warning = AssumptionWarning(text)
    warning.in_result = in_result
    warn_caller(warning)


def warn_caller(warning: Warning) -> None:
    """Warn, at the line outside of bestarm that made the call."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("bestarm."):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


class AssumptionCheck:
    """Looks at the first rounds of a game; `judgement` is what it found wrong, if anything."""

    def __init__(self, bounds: tuple[float, float] | None) -> None:
        self._bounds = bounds
        self._rows: list[Array] = []
        self._seen = 0
        self.judgement: str | None = None

    def look(self, rows: Array, arms: Indices) -> bool:
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
                self.judgement = FEW_VALUES_WARNING
        elif rows.shape[1] > 1 and np.unique(rows).size > FEW_VALUES:  # coins have the bounds they need
            spread = float(np.sqrt(max(np.var(rows - column[:, None], axis=0, ddof=1).max() for column in rows.T)))
            width = self._bounds[1] - self._bounds[0]
            used = float(np.ptp(rows)) / width
            if spread < SMALL_SPREAD * width and used <= MUCH_ROOM:
                self.judgement = small_spread_warning(self._bounds, used)
