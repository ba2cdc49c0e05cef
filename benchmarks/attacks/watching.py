"""What a program does beyond its own memory: imports, other programs, the network, files that it writes or removes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RUNS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn")
CONTACTS = ("socket.connect", "socket.getaddrinfo", "socket.bind", "urllib.Request", "webbrowser.open")
CHANGES = ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod", "os.link", "os.symlink")
LOADS = ("sqlite3.load_extension", "sqlite3.enable_load_extension", "ctypes.dlopen", "pickle.find_class")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """An audit hook that can be switched on; a hook itself can never be removed."""

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        self.allowed: tuple[str, ...] = ()  # beginnings of the names of files that may be written and removed
        self.known = frozenset(name.partition(".")[0] for name in sys.modules) | sys.stdlib_module_names
        sys.addaudithook(self._hook)

    def _hook(self, event: str, details: tuple[Any, ...]) -> None:
        if not self.on:
            return
        runs = event in RUNS or event in CONTACTS or event in LOADS
        imports = event == "import" and str(details[0]).partition(".")[0] not in self.known
        writes = event == "open" and isinstance(details[2], int) and bool(details[2] & WRITES)
        if runs or imports or ((event in CHANGES or writes) and not self._mine(details[0])):
            self.seen.append(f"{event} {str(details[:2])[:100]}")

    def _mine(self, path: Any) -> bool:
        if isinstance(path, int) or path is None:
            return True
        name = os.fsdecode(path)
        return name.startswith(self.allowed) or "__pycache__" in name or name == os.devnull

    @contextmanager
    def watching(self, *allowed: Path) -> Iterator[list[str]]:
        """What happens meanwhile; files whose names begin like these may be written."""
        self.seen, self.allowed, self.on = [], tuple(map(str, allowed)), True
        try:
            yield self.seen
        finally:
            self.on = False
