"""How kernels are compiled and kept.

Numba keeps compiled code on disk and by itself looks only at the file of the function that is called, though the code
holds that of other files too. Here the code is kept for one state of *all* the sources that kernels are made of: after
a change or an upgrade everything is compiled anew, and nobody runs a stale kernel.
"""

import gc
import glob
import hashlib
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import register_jitable


def _fingerprint() -> str:
    """One hash of all files that compiled code depends on."""
    sources = [path for path in files("bestarm.kernels").iterdir() if path.name.endswith(".py")]
    ordered = sorted(sources, key=lambda path: path.name)
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in ordered)).hexdigest()[:16]


SOURCES = _fingerprint()
LOG = logging.getLogger("bestarm.kernels")
# LLVM hands compiled code over by looking through a set of all its modules. Another thread that throws modules away at
# that moment, as compiling does when it ends, makes that fail, and the code is not there to be kept.
COMPILING = threading.RLock()
NOT_SEEN = "no compiled object yet"
SHARED: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True}  # nobody calls kernels from C


class KernelCache(FunctionCache):
    """Numba's cache of one kernel, in files whose names hold the state of the sources.

    Files of another state are never opened: they may speak of classes that are gone. They are removed when new code is
    kept; the folder belongs to this installation alone.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._kernel = function.__name__
        name = f"{self._impl.filename_base}.{SOURCES}"
        self._cache_file = IndexDataCacheFile(self._cache_path, name, SOURCES)  # type: ignore[no-untyped-call]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Code that was kept, or None: then it is compiled, which takes seconds."""
        found = super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is None:
            LOG.info("compiling %s", self._kernel)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, and nothing of older sources. Code that cannot be kept can be run all the same."""
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            if NOT_SEEN not in str(error):
                raise
            return  # it is compiled anew by the next program
        function = self._impl.filename_base.rpartition("-")[0]  # without its line and the version of Python
        for path in Path(self._cache_path).glob(f"{glob.escape(function)}-*"):
            if SOURCES not in path.name:
                with suppress(OSError):  # another process may be at it
                    path.unlink()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the garbage collector, which would take a tenth of the time and find little."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _alone(compile_kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Compile in one thread at a time, up to the end of what is thrown away."""

    def alone(signature: Any) -> Any:
        with COMPILING, _no_collection():
            return compile_kernel(signature)

    return alone


def _kept(**options: Any) -> Any:
    """A decorator that compiles without the GIL and keeps the code on disk."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(nogil=True, **SHARED, **options)(function)
        if not config.DISABLE_JIT:  # type: ignore[attr-defined]
            kernel._cache = KernelCache(function)
            kernel.compile = _alone(kernel.compile)
        return kernel

    return decorate


# Kernels that Python calls.
compiled: Any = _kept()
# Sums may be vectorised, that is, added up in another order; the order is the same in every call.
summing: Any = _kept(fastmath={"reassoc", "contract"})
# What kernels call. Without code for calls from Python, and without anything kept on disk, which would double the time
# to compile a function that takes a board. Called from Python it runs as it is written.
part: Any = register_jitable(**SHARED)
# A part without any code of its own: it becomes lines of its caller. For what is called in one place, and for what
# takes arrays out of a board in every round, whose references would be counted. Too much in one kernel makes it slow to
# compile.
inlined: Any = njit(inline="always", **SHARED)
