"""Attacks on bestarm, one file per kind; ``benchmarks/faults.py`` runs them.

A kind is a module with ``prepare(folder)``, which gives the function that runs one case. It may say how many seconds a
case may take (``PATIENCE``), how many cases a worker takes at a time (``CHUNK``) and how much a case counts for
(``PER_CASE``).
"""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent.parent / "tests"
if str(TESTS) not in sys.path:
    sys.path.append(str(TESTS))  # races and machines that the suite uses too
