"""How much memory a case takes."""

import resource
from pathlib import Path


class Peak:
    """The largest memory of this process since the last look, in bytes."""

    def __init__(self) -> None:
        self._reset = Path("/proc/self/clear_refs")
        try:
            self._reset.write_text("5")
            self._exact = True
        except OSError:
            self._exact = False
        self.start = self.now()

    def begin(self) -> None:
        """Forget earlier peaks."""
        if self._exact:
            self._reset.write_text("5")
        self.start = self.now()

    def now(self) -> int:
        """The peak."""
        if not self._exact:
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        with Path("/proc/self/status").open() as status:
            for line in status:
                if line.startswith("VmHWM"):
                    return int(line.split()[1]) * 1024
        return 0

    def grown(self) -> int:
        """By how much the peak exceeds what there was at the beginning."""
        return self.now() - self.start
