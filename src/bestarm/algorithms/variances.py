"""Known variances, as settings of the algorithms that need them."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bestarm.checks import LARGEST, SMALLEST, check_n_arms, finite_vector, floats, refuse_first
from bestarm.shown import described

KnownVariances = float | tuple[float, ...]

KNOWN_VARIANCES = (
    "the items are independent of each other and the scores of each arm are Gaussian or sub-Gaussian, with at most the "
    "variance given"
)


class _Settings(Protocol):
    @property
    def variances(self) -> KnownVariances: ...


def check_variances(settings: _Settings) -> None:
    """Refuse variances that are not finite and at least 0; keep them as numbers, so that settings can be hashed."""
    values = floats("variances", settings.variances)
    if (((values > 0) & (values < SMALLEST)) | (np.isfinite(values) & (values > LARGEST))).any():
        raise ValueError(
            f"variances must be 0, or lie from {SMALLEST:g} to {LARGEST:g}, got {described(settings.variances)}"
        )
    if values.ndim == 0:
        refuse_first("variances", values[None], ~(np.isfinite(values[None]) & (values[None] >= 0)), _RULE)
        object.__setattr__(settings, "variances", float(values))
        return
    vector = finite_vector("variances", values)
    refuse_first("variances", vector, vector < 0, _RULE)
    object.__setattr__(settings, "variances", tuple(vector.tolist()))


_RULE = "must be finite and at least 0"


def variance_vector(variances: KnownVariances, n_arms: int) -> NDArray[np.float64]:
    """One variance per arm."""
    check_n_arms(n_arms)
    values = np.asarray(variances, dtype=np.float64)
    if values.ndim == 1 and values.size != n_arms:
        raise ValueError(f"variances has {values.size} entries, the game has {n_arms} arms")
    return np.broadcast_to(values, (n_arms,))
