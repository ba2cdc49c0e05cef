"""A small part of the attacks of ``benchmarks/faults.py``: the same kinds, a few cases of each."""

import os
from pathlib import Path

import pytest

from attacks import pool
from bestarm.racing import evaluation

CASES = {"tables": 300, "calls": 60, "lines": 40, "stores": 40, "executors": 15}


@pytest.mark.parametrize("kind", CASES)
def test_bad_input_is_refused_in_one_sentence(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "COLUMNS", "TERM"):
        monkeypatch.setenv(name, os.environ.get(name, ""))  # a kind may set them, and they come back
    monkeypatch.setattr(evaluation, "FIRST_PAUSE", evaluation.FIRST_PAUSE)  # the same
    monkeypatch.chdir(tmp_path)
    case = pool.prepared(kind, tmp_path)
    pool.watch_the_clock()
    came = [pool.run_case(case, kind, 0, number) for number in range(CASES[kind])]
    assert [(one.case, one.fault, one.given) for one in came if one.fault is not None] == []
