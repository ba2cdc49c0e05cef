"""How kernels are compiled and kept.

Numba keeps compiled code on disk and by itself looks only at the file of the function that is called, though the code
holds that of other files too. Here the code is kept for one state of *all* the sources that kernels are made of: after
a change or an upgrade everything is compiled anew, and nobody runs a stale kernel.
"""

import hashlib
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from numba import config, njit
from numba.core.caching import FunctionCache, IndexDataCacheFile


def _fingerprint() -> str:
    """One hash of all files that compiled code depends on."""
    package = files("bestarm")
    kernels = sorted(path.name for path in package.joinpath("kernels").iterdir() if path.name.endswith(".py"))
    sources = [package / "board.py", *(package / "kernels" / name for name in kernels)]
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()


SOURCES = _fingerprint()


class KernelCache(FunctionCache):
    """Numba's cache of one kernel, fresh as long as no source of any kernel has changed."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        name = self._impl.filename_base
        self._cache_file = IndexDataCacheFile(self._cache_path, name, SOURCES)  # type: ignore[no-untyped-call]


def _kept(**options: Any) -> Any:
    """A decorator that compiles without the GIL and keeps the code on disk."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(nogil=True, error_model="numpy", **options)(function)
        if not config.DISABLE_JIT:  # type: ignore[attr-defined]
            kernel._cache = KernelCache(function)
        return kernel

    return decorate


compiled: Any = _kept()
# Sums may be vectorised, that is, added up in another order; the order is the same in every call.
summing: Any = _kept(fastmath={"reassoc", "contract"})
# Part of its caller: no reference counting of the arrays it takes out of a board or a purse in every round.
inlined: Any = njit(nogil=True, error_model="numpy", inline="always")
