"""Failures that count as scores and are too many: there may be no answer, and the exit code is not 0."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import AssumptionWarning, RaceResult, load_result, race_commands, race_table
from bestarm.cli.app import exit_code
from bestarm.racing import Breakdown, evaluation
from conftest import Cli
from small_race import LEVEL, run, share

IN_ORDER = [int(item) for item in run(share, max_evaluations=90).items]


def failing(*bad: tuple[str, int]) -> Any:
    """Fails for these arms in these rounds."""
    items = {(arm, IN_ORDER[number - 1]) for arm, number in bad}

    def evaluate(arm: str, item: int) -> float:
        if (arm, item) in items:
            raise NameError("name 'undefined' is not defined")
        return share(arm, item)

    return evaluate


def nothing_works(arm: str, item: int) -> float:
    return undefined  # type: ignore[name-defined,no-any-return]  # noqa: F821


@pytest.fixture(scope="module")
def nothing() -> RaceResult[Any]:
    first = r"every evaluation of the first round failed \(the first: evaluate\('low'.*\): .* stop it if"
    with pytest.warns(AssumptionWarning, match=first):
        return run(nothing_works, items=range(200), on_error="worst")  # type: ignore[no-any-return]


def test_a_race_in_which_nothing_works_has_no_answer(nothing: RaceResult[Any], page_text: Callable[[Any], str]) -> None:
    assert (nothing.reason, nothing.answered, nothing.best, nothing.saved) == ("ran out of items", False, None, None)
    assert [record.status for record in nothing.records] == ["leader", "candidate", "candidate"]
    assert nothing.breakdown is not None
    assert "NameError: name 'undefined' is not defined" in nothing.breakdown.failure
    said = "NO ANSWER: 600 of 600 evaluations failed (the first: evaluate('low'"
    assert nothing.verdict.startswith(said)
    assert "probability" not in nothing.verdict  # of what would be about failures alone
    plain = json.loads(nothing.to_json())
    assert plain["breakdown"] == vars(nothing.breakdown) | {"no_answer": True}
    assert not plain["answered"]
    assert "<h1>NO ANSWER: 600 of 600 evaluations failed" in page_text(nothing)
    assert exit_code(nothing) == 4


def test_a_round_in_which_all_failed_is_a_warning_and_the_answer_stays(tmp_path: Path) -> None:
    result = run(failing(*((arm, 5) for arm in LEVEL)), on_error="worst", store=tmp_path / "race.sqlite")
    assert result.breakdown == Breakdown(3, result.record.n_asked(result.n_rounds), 1, result.breakdown.failure)
    assert (result.answered, result.best, result.breakdown.no_answer, exit_code(result)) == (True, "high", False, 4)
    assert result.verdict.startswith("BEST: high  ")
    said = "All evaluations of 1 round failed (the first: evaluate('low', "
    assert f"Warning: {said}" in " ".join(str(result).split())
    assert said in result.explain()
    assert str(load_result(tmp_path / "race.sqlite")) == str(result)


def test_more_than_half_is_a_breakdown_without_a_whole_round() -> None:
    def evaluate(arm: str, item: int) -> float:
        if arm != "high":
            raise OSError("down")
        return 0.05

    result = run(evaluate, on_error="worst", max_evaluations=300)
    assert (result.breakdown.n_rounds, result.breakdown.no_answer, result.answered) == (0, True, False)
    assert 2 * result.breakdown.n_failed > result.breakdown.n_evaluations
    assert exit_code(result) == 4


def test_failures_of_some_arms_and_attempts_before_a_score_are_no_breakdown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "FIRST_PAUSE", 1e-6)
    tried = Counter[tuple[str, int]]()

    def at_second_try(arm: str, item: int) -> float:
        tried[arm, item] += 1
        if tried[arm, item] == 1:
            raise OSError("down")
        return share(arm, item)

    some = run(failing(("low", 5), ("mid", 5), ("high", 6)), on_error="worst")
    for result in (some, run(at_second_try, on_error="worst", retries=1), run()):
        assert (result.best, result.breakdown, exit_code(result)) == ("high", None, 0)


def test_time_outs_are_scores_unless_there_is_nothing_else() -> None:
    wait = [sys.executable, "-c", "import time; time.sleep(30)"]
    with pytest.warns(AssumptionWarning, match="every evaluation of the first round failed"):
        result = race_commands({"a": wait, "b": wait}, timeout=0.02, max_evaluations=4, progress=False)
    assert result.breakdown is not None
    assert (result.breakdown.n_failed, result.breakdown.no_answer, exit_code(result)) == (4, True, 4)
    assert result.verdict.startswith("NO ANSWER: 4 of 4 evaluations failed (the first: ")


def test_missing_cells_that_count_as_worst_are_failures_of_a_table() -> None:
    scores = np.random.default_rng(0).random((300, 2)) * [0.5, 1.0]
    scores[:250] = np.nan
    result = race_table(scores, arms=["a", "b"], missing="worst", bounds=(0, 1))
    assert result.breakdown is not None
    assert result.breakdown.failure == "the cell is missing"


def test_the_command_line_does_not_exit_with_0(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("nothing_works.py").write_text("def score(arm, item):\n    return undefined\n")
    Path("items.txt").write_text("\n".join(map(str, range(60))))
    call = "run nothing_works:score --arms a,b --items items.txt --bounds 0,1 --on-error worst --store race.sqlite"
    ended = cli(*call.split())
    assert ended.exit_code == 4
    said = "NO ANSWER: 120 of 120 evaluations failed (the first: evaluate('a'"
    assert " ".join(ended.stdout.split()).startswith(said)
    assert "warning: every evaluation of the first round failed" in ended.stderr
    assert "to continue" not in ended.stderr
    assert cli("show", "race.sqlite").exit_code == 4
    assert bestarm.load_result("race.sqlite").best is None
