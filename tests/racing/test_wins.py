"""Races by wins: who is better on more items, in races, tables, programs and plans, and what is said about it."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.algorithms import PairwiseBAI, Reason
from bestarm.comparisons import Betting, StudentMixture, Wins
from conftest import Cli, Rejects
from naive import Matrix
from row_races import run


def times(n: int = 400, seed: int = 0) -> Matrix:
    """Arm 1 is usually the quickest and sometimes very slow: by means the worst, by wins the best."""
    rng = np.random.default_rng(seed)
    usual = np.array([1.0, 0.9, 1.1]) + 0.05 * rng.standard_normal((n, 3))
    usual[:, 1] += 10.0 * (rng.random(n) < 0.1)
    return usual


def circle(arm: str, item: int) -> float:
    """On two items of three a is better than b, b than c, and c than a."""
    return float([[1, 2, 3], [2, 3, 1], [3, 1, 2]][item % 3]["abc".index(arm)])


def test_outliers_do_not_decide() -> None:
    rows = times()
    assert rows.mean(axis=0).argmax() == 1
    options: dict[str, Any] = {"lower_is_better": True, "criterion": "wins"}
    result = run(lambda arm, item: float(rows[item, arm]), range(3), range(400), **options)
    assert (result.best, result.target, result.guarantee.criterion) == (1, "population", "wins")
    assert isinstance(result.settings.algorithm, PairwiseBAI)
    assert result.settings.algorithm.comparison == Wins()
    assert result.shapes == ()
    assert result.warnings == ()
    table = bestarm.race_table(rows, live=True, **options)
    assert (table.best, table.n_evaluations, table.bounds) == ("1", result.n_evaluations, None)
    assert not table.settings.own_range
    seen = rows[[int(item) for item in result.items]]
    shared = seen[: int(result.counts[2])]
    assert result[2].behind == pytest.approx(np.mean(np.sign(shared[:, 2] - shared[:, 1])))
    lead = result.lead(1, 2)
    assert lead.estimate == pytest.approx(result[2].behind)
    assert -1 <= lead.low <= lead.estimate <= lead.high <= 1


def test_what_is_said_of_wins() -> None:
    options: dict[str, Any] = {"arms": ["a", "b", "c"], "lower_is_better": True, "criterion": "wins", "live": True}
    result = bestarm.race_table(times(), target="items", **options)
    assert result.verdict.startswith(
        "BEST: b   (95% confidence, these 400 items, by wins, lower is better)\nItems won minus lost: "
    )
    said = " ".join(result.explain().split())
    assert (
        "b is better than every other arm more often than worse on these 400 items as scored here with probability at "
        "least 0.95, if any arm beats all others. On items like these "
    ) in said
    assert "This assumes that the items come in random order" in said
    assert "Holds if some arm beats every other one and items come in random order." in str(result)
    assert "lost − won" in str(result)
    for_law = bestarm.race_table(times(), **options)
    assert for_law.verdict.startswith("BEST: b   (95% confidence, items like these, by wins, lower is better)\n")
    assert "Holds if some arm beats every other one and these items are a random sample." in str(for_law)
    plain = json.loads(result.to_json())
    assert plain["settings"]["algorithm"]["comparison"]["type"] == "Wins"
    short = bestarm.race_table(times(), max_evaluations=60, delta=1e-6, **options)
    found = re.search(f'it beats "{short.leader}" by at most ([\\d.]+)%, if any arm beats all others.', short.explain())
    assert found is not None
    assert 100 * short.regret_bound <= float(found[1]) < 110 * short.regret_bound  # a bound is rounded up
    assert "Leads are shares of items, won minus lost." in short.explain()


def test_the_page_of_a_race_by_wins(tmp_path: Path) -> None:
    result = bestarm.race_table(times(), lower_is_better=True, criterion="wins", target="items", live=True)
    result.to_html(tmp_path / "race.html")
    page = (tmp_path / "race.html").read_text(encoding="utf-8")
    for said in (
        "however much: nothing is assumed about the scores",
        "both statements together hold with probability at least 0.9",
        "Leads are shares of items, won minus lost.",
        "lost − won",
    ):
        assert said in page


def test_a_tolerance_is_a_share_of_items() -> None:
    rows = times()
    result = bestarm.race_table(rows, lower_is_better=True, criterion="wins", epsilon=0.9)
    assert result.reason is Reason.WITHIN_EPSILON
    assert "or loses to it by at most 90% with probability at least 0.95" in result.explain()
    for name in ("epsilon", "indifference_zone"):
        more: Any = {name: 1.0}
        with pytest.raises(ValueError, match=f"{name} is a share of items, won minus lost, with criterion='wins'"):
            bestarm.race_table(rows, criterion="wins", **more)


def test_circles_are_warned_of() -> None:
    result = run(circle, list("abc"), range(30), criterion="wins", target="items")
    out = [record.arm for record in result.records if record.status == "out" and record.behind < 0]
    assert out == ["c"]
    assert (
        f"Warning: c is out, but ahead of {result.best} on the items that they share: perhaps no arm beats all others."
        in " ".join(str(result).split())
    )
    tied = run(lambda arm, item: 1.0, list("abc"), range(6), criterion="wins", target="items")
    assert tied.reason is Reason.ALL_ITEMS_USED
    assert tied.verdict.startswith("NO WINNER: a, b and c   (95% confidence, these 6 items, by wins)\n")
    said = (
        "No arm is better than every other more often than worse over all 6 items as scored here: a, b and c are left."
    )
    assert said in tied.explain()
    assert "Warning" not in str(tied)


def test_groups_are_won_or_lost_as_a_whole() -> None:
    rows = np.zeros((300, 2))
    rows[:, 0] = [5, -1, -1] * 100  # better on the mean of each group, worse on two items of three
    by_three: dict[str, Any] = {"groups": [k // 3 for k in range(300)], "criterion": "wins"}
    result = bestarm.race_table(rows, arms=["a", "b"], target="items", **by_three)
    assert result.best == "a"
    assert "on these 100 groups of items as scored here" in result.explain()
    assert bestarm.race_table(rows, arms=["a", "b"], **by_three).best == "a"
    assert bestarm.race_table(rows, arms=["a", "b"], criterion="wins").best == "b"
    labels = [0] * 100 + [1 + k // 2 for k in range(200)]  # of several sizes: no group weighs more
    unequal = bestarm.race_table(rows, groups=labels, criterion="wins", epsilon=0.2, target="items", live=True)
    assert unequal.unit == 1.0
    assert unequal.guarantee.epsilon == 0.2
    means = np.nanmean(unequal.scores, axis=0)
    assert unequal.means.tolist() == pytest.approx(means.tolist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "best"}, "criterion must be one of 'mean', 'wins', got 'best'"),
        ({"criterion": "wins", "comparison": StudentMixture()}, r"criterion 'wins' does not fit StudentMixture\(\)"),
        ({"criterion": "mean", "comparison": Wins()}, r"criterion 'mean' does not fit Wins\(\)"),
        ({"criterion": "wins", "min_rounds": 5}, "min_rounds is a setting of StudentMixture, got 5 with criterion="),
        ({"criterion": "wins", "algorithm": PairwiseBAI(comparison=Betting(pool=9))}, "criterion 'wins' does not fit"),
    ],
)
def test_what_does_not_go_with_wins(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bestarm.Race(range(3), items=range(9), **options)


def test_a_race_by_wins_is_stored_and_continued(tmp_path: Path) -> None:
    rows, where = times(), tmp_path / "race.sqlite"
    call: dict[str, Any] = {"arms": range(3), "items": range(400), "lower_is_better": True}
    whole = run(lambda arm, item: float(rows[item, arm]), **call, criterion="wins")
    run(lambda arm, item: float(rows[item, arm]), **call, criterion="wins", store=where, max_evaluations=12)
    rest = run(lambda arm, item: float(rows[item, arm]), **call, criterion="wins", store=where)
    assert str(rest) == str(whole)
    assert bestarm.load_result(where).verdict == whole.verdict


def test_programs_are_timed_by_wins_unless_told_otherwise() -> None:
    quick, slow = "true", "sleep 0.02"
    result = bestarm.race_commands([slow, quick], progress=False)
    assert (result.best, result.guarantee.criterion) == (quick, "wins")
    mean = bestarm.race_commands([slow, quick], progress=False, criterion="mean", max_evaluations=8)
    assert (mean.guarantee.criterion, mean.guarantee.nearly_gaussian) == ("mean", True)
    given = bestarm.race_commands([slow, quick], progress=False, comparison=StudentMixture(), max_evaluations=8)
    assert given.guarantee.criterion == "mean"


def test_times_are_about_these_items_unless_they_are_not_repeated(cli: Cli, rejects: Rejects, tmp_path: Path) -> None:
    items = tmp_path / "items.txt"
    items.write_text("0.001\n0.002\n", encoding="utf-8")
    call = ("commands", "sleep {item}", "true {item}", "--items", items, "--max-evaluations", 4)
    rejects("drawn with replacement", *call, "--target", "population")
    assert cli(*call, "--target", "population", "--no-replace").exit_code == 3


def test_a_plan_by_wins_has_no_table_of_leads_and_knows_its_target() -> None:
    pilot = times(40)
    planned = bestarm.plan(pilot, criterion="wins", lower_is_better=True, n_items=500, max_evaluations=100)
    assert planned.leads == ()
    assert planned.decided is not None
    for more in ({"n_items": 500}, {"bounds": (-100, 100)}):
        options: Any = more
        with pytest.raises(ValueError, match="target cannot be 'items' without n_items"):
            bestarm.plan(pilot, target="items", **options)
    with pytest.raises(ValueError, match="target must be one of"):
        bestarm.plan(pilot, target="x")  # type: ignore[arg-type]
