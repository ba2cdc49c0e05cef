"""Compiled kernels are cached for each state of the sources: numba itself watches only the file that is called."""

import hashlib
import os
import tempfile
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src" / "bestarm"
state = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCES.rglob("*.py")))).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"bestarm-kernels-{state}"))
