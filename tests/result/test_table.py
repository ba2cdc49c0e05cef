"""The table of a result: which arms it shows, in which order, how wide it is, and what its cells say."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.cells import cell_len

import bestarm

Race = Callable[..., Any]
Table = NDArray[np.float64]
ROW = re.compile(r"^ +(\d+)? *(\S.*?)? {2,}")


def scores(n_arms: int, n_items: int = 200, gap: float = 0.05, seed: int = 2) -> Table:
    rng = np.random.default_rng(seed)
    levels = rng.permutation(0.7 - gap * np.arange(n_arms) % 0.6)
    luck = 0.1 * rng.random((n_items, 1)) + 0.1 * rng.random((n_items, n_arms))
    return np.asarray(np.clip(levels + luck, 0.0, 1.0))


def board(rows: Table, arms: Any = None, **more: Any) -> Any:
    names = [f"arm {k}" for k in range(rows.shape[1])] if arms is None else arms
    return bestarm.race_table(rows, arms=names, **more)


def lines_of(text: str) -> list[str]:
    """The table within the text form: its heading, its rows, and what follows them."""
    (block,) = (part for part in text.split("\n\n") if re.match(r" +(#  |arm)", part))
    return block.splitlines()


# --- how many, how wide ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_arms", [2, 11, 12, 13, 49, 2000])
@pytest.mark.parametrize("live", [False, True])
def test_a_text_has_at_most_12_lines_of_a_table_and_table_has_all(n_arms: int, live: bool) -> None:
    result = board(scores(n_arms, 15 if n_arms == 2000 else 60, 0.6 / n_arms), live=live)
    _, *rows = lines_of(str(result))
    rows = [row for row in rows if not row.startswith((" (behind", " …"))]
    assert len(rows) == (n_arms if n_arms <= 12 else 11)
    rest = [line for line in lines_of(str(result)) if line.startswith(" …")]
    assert len(rest) == (n_arms > 12)
    hidden = result.records[11:]
    for text in rest:
        out, standing = re.search(r"([\d,]+) (more )?out", text), re.search(r"([\d,]+) more may be the best", text)
        counted = [int(found[1].replace(",", "")) if found else 0 for found in (standing, out)]
        assert counted == [sum(one.status == status for one in hidden) for status in ("candidate", "out")]
        assert text.endswith("(all: --all or result.table())")
    whole = result.table()
    every = whole.splitlines()
    assert len([line for line in every[1:] if not line.startswith(" (")]) == n_arms
    assert not any(line.startswith(" …") for line in every)
    assert all(f"arm {k} " in whole for k in range(n_arms))


NAMES = {
    "long": "a model with a very long name " * 8,
    "wide": "長い名前のモデル" * 12,
    "combining": "e\u0301" * 90,
    "one word": "x" * 200,
    "emoji": "🐍" * 50,
    "lines": "two\nlines\tand a tab " * 5,
}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("live", [False, True])
def test_no_line_is_wider_than_80_columns_whatever_the_names(kind: str, live: bool) -> None:
    arms = [f"{k} {NAMES[kind]} {k}" for k in range(15)]
    result = board(scores(15), arms, live=live)
    for text in (str(result), result.table()):
        assert max(map(cell_len, text.splitlines())) <= 80
        assert len(set(lines_of(f"{text}\n\n")[1:12])) == 11
    heading, *rows = lines_of(str(result))
    at = cell_len(heading[: heading.index("mean") + len("mean")])
    for row in rows[:11]:  # the means stand under each other, whatever the letters before them
        cells, width = "", 0
        for letter in row:
            cells, width = cells + letter, width + cell_len(letter)
            if width == at:
                break
        assert re.search(r" \d\.\d+$", cells)


# --- the order -------------------------------------------------------------------------------------------------------


def ranks(result: Any) -> list[str]:
    """The names in the order of the whole table."""
    _, *rows = result.table().splitlines()
    found = [re.match(r" +(?:\d+ +)?(arm \d+) ", row) for row in rows if not row.startswith(" (")]
    return [name[1] for name in found if name]


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("criterion", ["mean", "wins"])
def test_a_race_shows_the_leader_then_candidates_then_those_that_are_out_from_the_closest_on(
    lower: bool, criterion: str
) -> None:
    rows = scores(14, 400, 0.012)
    result = board(rows, live=True, lower_is_better=lower, criterion=criterion, max_evaluations=400)
    own = {arm: result.scores[:, k] for k, arm in enumerate(result.arms)}
    sign = -1 if lower else 1

    def behind(arm: str) -> float:
        lead = sign * (own[result.leader] - own[arm])
        known = lead[np.isfinite(lead)]
        return float(np.mean(np.sign(known) if criterion == "wins" else known))

    assert 1 < len(result.candidates) < 14
    out = set(result.arms) - set(result.candidates)
    expected = [result.leader, *sorted(set(result.candidates) - {result.leader}, key=behind), *sorted(out, key=behind)]
    assert sorted(map(behind, out)) == [behind(arm) for arm in ranks(result)[len(result.candidates) :]]
    assert ranks(result)[: len(result.candidates)] == expected[: len(result.candidates)]
    for record in result.records:
        assert record.behind == pytest.approx(behind(record.arm), abs=1e-12)


@pytest.mark.parametrize("lower", [False, True])
def test_a_leaderboard_ranks_by_the_mean_over_all_rows_with_items_won_and_lost(lower: bool) -> None:
    rows = np.round(scores(14, 300, 0.01), 2)  # with ties
    result = board(rows, lower_is_better=lower)
    sign = -1 if lower else 1
    means = {f"arm {k}": math.fsum(column) / len(column) for k, column in enumerate(rows.T)}
    assert ranks(result) == sorted(means, key=lambda arm: -sign * means[arm])
    _, *lines = result.table().splitlines()
    best = rows[:, int(result.leader.split()[1])].tolist()
    for rank, (line, record) in enumerate(zip(lines, result.records, strict=True), start=1):
        own = rows[:, int(record.arm.split()[1])].tolist()
        won = sum(sign * (a - b) > 0 for a, b in zip(own, best, strict=True))
        lost = sum(sign * (a - b) < 0 for a, b in zip(own, best, strict=True))
        assert (record.won, record.lost, record.n_items) == (won, lost, 300)
        assert record.mean == pytest.approx(means[record.arm], rel=1e-12)
        number, *_, mean = re.match(r" +(\d+) +(arm \d+) +([\d.]+)", line).groups()  # type: ignore[union-attr]
        assert int(number) == rank
        assert float(mean) == pytest.approx(means[record.arm], abs=1e-3)
        assert (f" {won}–{lost}" in line) == (record.arm != result.leader)
        says = {"leader": "leads", "candidate": "may be the best", "out": "out", "best": ""}[record.status]
        assert line.endswith(says)


def test_the_rank_that_a_leaderboard_compares_with_is_that_of_its_leader() -> None:
    """The arm with the best mean over all rows is out by wins, so the leader is another one."""
    rng = np.random.default_rng(0)
    often = 0.5 + 0.1 * rng.random(400)
    rows = np.column_stack([often, np.where(rng.random(400) < 0.2, 1.0, often - 0.05)])
    result = board(rows, criterion="wins")
    assert (result.best, ranks(result)) == ("arm 0", ["arm 1", "arm 0"])
    heading, first, second = result.table().splitlines()
    assert "won–lost against #2" in heading
    assert first.endswith("out")
    assert re.fullmatch(r" 2 +arm 0 +[\d.]+", second)


@pytest.mark.parametrize("target", ["items", "population"])
def test_ties_of_a_leaderboard_stand_together(target: str) -> None:
    rows = np.tile([0.5, 0.7, 0.7, 0.2], (30, 1))
    result = board(rows, target=target, bounds=(0, 1))
    assert result.table().splitlines()[1].split()[1:4:2] == ["arm", "0.7"]
    assert ranks(result) == ["arm 1", "arm 2", "arm 0", "arm 3"]
    assert (result[result.arms[2]].won, result[result.arms[2]].lost) == (0, 0)
    ends = [line.split("  ")[-1].strip() for line in result.table().splitlines()[1:3]]
    assert ends == (["ties", "ties"] if target == "items" else [ends[0], "may be the best"])


def test_many_ties_are_counted_as_ties() -> None:
    result = board(np.full((5, 20), 0.5), target="items", bounds=(0, 1))
    assert " … 9 more tie (all: --all or result.table())" in str(result)


# --- what the cells say ----------------------------------------------------------------------------------------------


def test_means_over_different_items_are_said_to_be_compared_on_shared_ones(race: Race) -> None:
    note = " (behind: on the items that an arm shares with high)"
    assert note in str(race())
    assert note in race().table()
    assert "shares with" not in str(race(arms=["low", "high"]))  # both on the same items
    assert "shares with" not in str(board(scores(3)))
    wins = race(criterion="wins", bounds=None, evaluate=lambda arm, item: {"low": 0, "mid": item % 3, "high": 2}[arm])
    assert " (lost − won: on the items that an arm shares with high)" in str(wins)


def test_cells_are_those_of_the_records(race: Race) -> None:
    result = race()
    assert result.table() == (
        " arm    mean   items   behind\n"
        " high    0.9      14\n"
        " mid     0.5      14      0.4   out\n"
        " low     0.2       9      0.7   out\n"
        " (behind: on the items that an arm shares with high)"
    )


def test_arms_without_scores_have_empty_cells(race: Race) -> None:
    result = race(fails={"high": 1, "low": 1}, on_error="disqualify")
    assert [line.split() for line in result.table().splitlines()[1:]] == [
        ["mid", "0"],
        ["low", "0", "disqualified"],
        ["high", "0", "disqualified"],
    ]
    assert "nan" not in str(result)


@pytest.mark.parametrize("missing", ["worst", "drop"])
def test_missing_cells_of_a_table_count_as_worst_or_their_rows_go(missing: str) -> None:
    rows = scores(4, 100, 0.1)
    holes = rows.copy()
    holes[7, 1], holes[9, 2] = math.nan, math.nan
    result = board(holes, missing=missing, bounds=(0, 1))
    kept = np.nan_to_num(holes, nan=0.0) if missing == "worst" else np.delete(rows, [7, 9], axis=0)
    for record in result.records:
        assert record.mean == pytest.approx(kept[:, int(record.arm.split()[1])].mean(), rel=1e-12)
        assert record.n_items == len(kept)
    assert ("2 evaluations failed: arm 1 (1 counted as worst) and arm 2" in " ".join(str(result).split())) == (
        missing == "worst"
    )


def test_means_of_a_leaderboard_are_those_of_its_target(race: Race) -> None:
    result = race(groups=[k // 4 for k in range(1000)])
    assert [record.n_items % 4 for record in result.records] == [0, 0, 0]
    assert f" {result.records[0].n_items} " in f"{result.table()} ".replace("\n", " ")
    rows, groups = scores(3, 90, 0.1), [min(k, 40) for k in range(90)]
    by_group = np.array([rows[np.equal(groups, group)].mean(axis=0) for group in range(41)])
    for target, averaged in (("items", rows), ("population", by_group)):  # of a population all groups count the same
        whole = board(rows, groups=groups, bounds=(0, 1), target=target)
        for record in whole.records:
            assert record.mean == pytest.approx(averaged[:, int(record.arm.split()[1])].mean(), rel=1e-12)
