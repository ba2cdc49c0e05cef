"""Numbers as people read them: decimals for a whole table, units, and bounds that are rounded up."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.comparisons import StudentMixture
from bestarm.result.numbers import Format, bound_text, lead_format, score_format

Race = Callable[..., Any]


def noisy(gap: float, n_items: int = 300, size: float = 1.0, level: float = 0.5) -> Any:
    """Three arms whose leads are about a gap and ten gaps; their common noise does not count."""
    rng = np.random.default_rng(7)
    own = gap * rng.standard_normal((n_items, 3)) + rng.standard_normal((n_items, 1)) * 0.1 * level
    return size * (level + own - gap * np.array([0.0, 1.0, 10.0]))


def leaderboard(scores: Any, **more: Any) -> Any:
    names = [f"arm {k}" for k in range(scores.shape[1])]
    usual: dict[str, Any] = {"arms": names, "comparison": StudentMixture()}
    return bestarm.race_table(scores, **usual | more)


def cells(result: Any, column: str) -> list[str]:
    """The cells of a column of the table."""
    heading, *rows = (line for line in result.table().splitlines() if not line.startswith(" ("))
    at = heading.index(column)
    found = [re.search(r"\S*$", row[: at + len(column)]) for row in rows]
    return [cell.group() for cell in found if cell is not None]


@pytest.mark.parametrize("gap", [0.3, 0.03, 0.003, 3e-5, 3e-7])
@pytest.mark.parametrize("size", [1.0, 100.0, 0.01, 1e5])
def test_the_last_digit_is_below_the_standard_error_of_the_closest_lead(gap: float, size: float) -> None:
    scores = noisy(gap, size=size)
    result = leaderboard(scores, live=True)
    form = score_format(result)
    first, second = (result.scores[:, arm] for arm in result.order[:2])
    differences = first - second
    shared = differences[np.isfinite(differences)]
    error = shared.std() / math.sqrt(shared.size) / form.size
    assert 10.0**-form.decimals < error
    assert form.decimals == 0 or 10.0 ** -(form.decimals - 2) > error  # and no more digits than that needs


@pytest.mark.parametrize("live", [True, False])
def test_a_column_has_one_number_of_decimals(live: bool) -> None:
    result = leaderboard(noisy(0.02), live=live)
    decimals = {
        len(cell.partition(".")[2]) for cell in cells(result, "mean") + (cells(result, "behind") if live else [])
    }
    assert len(decimals - {0}) == 1


def test_equal_means_look_equal_and_different_ones_do_not() -> None:
    rows = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]])  # equal, but not to the last bit
    assert len(set(cells(leaderboard(rows, bounds=(0, 1), comparison=None), "mean"))) == 1
    near = np.full((20, 2), 0.5)
    near[0, 0] += 2e-9
    first, second = cells(leaderboard(near, bounds=(0, 1), comparison=None), "mean")
    assert (float(first), float(second)) == (0.5000000001, 0.5)


@pytest.mark.parametrize("lead", [0.25, 1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("closest", ["candidate", "out"])
def test_a_lead_is_shown_as_0_only_if_it_is(lead: float, closest: str) -> None:
    rng = np.random.default_rng(3)
    luck = rng.integers(0, 2, 400) * 0.125
    luck = np.concatenate([luck, 0.125 - luck])  # the noise of two halves cancels
    others = (
        [0.5 + luck, 0.5 - lead + 0.0 * luck] if closest == "candidate" else [0.5 + 0 * luck, 0.5 - lead + 0 * luck]
    )
    scores = np.column_stack([*others, 0.2 + 0.0 * luck])
    for live in (True, False):
        result = leaderboard(scores, bounds=(0, 1), comparison=None, live=live)
        form = lead_format(result)
        for record in result.records[1:]:
            assert (float(form.number(record.behind)) == 0.0) == (abs(record.behind) < 1e-13)


@pytest.mark.parametrize(
    ("size", "unit"),
    [(400.0, "s"), (1.5, "s"), (0.4, "ms"), (4e-3, "ms"), (4e-4, "µs"), (4e-6, "µs"), (4e-8, "ns"), (4e-12, "ns")],
)
def test_seconds_have_the_prefix_of_the_leader_everywhere(race: Race, size: float, unit: str) -> None:
    """The other arm takes 3,000 times as long."""
    seconds = {"quick": size, "slow": 3000 * size}
    found = race(
        lambda arm, item: seconds[arm] * (1 + 0.1 * math.sin(item)),
        ["quick", "slow"],
        bounds=None,
        lower_is_better=True,
        unit="s",
        max_evaluations=40,
    )
    assert (found.leader, score_format(found).unit) == ("quick", unit)
    assert f"mean, {unit} " in str(found).replace("\n", " ")
    assert f"behind, {unit}" in str(found)
    assert re.search(rf"[\d,.]+ {unit}\b", found.verdict)
    factor = {"s": 1.0, "ms": 1e3, "µs": 1e6, "ns": 1e9}[unit]
    shown = [float(cell.replace(",", "")) for cell in cells(found, f"mean, {unit}")]
    assert shown == pytest.approx([factor * record.mean for record in found.records], rel=0.02, abs=0.5)


def test_a_leader_that_takes_no_time_does_not_make_seconds_nanoseconds(race: Race) -> None:
    found = race(lambda arm, item: {"none": 0.0, "some": 2.0}[arm], ["none", "some"], bounds=(0, 9), unit="s",
                 lower_is_better=True)  # fmt: skip
    assert score_format(found).unit == "s"
    other = race(lambda arm, item: 0.5, unit="points")
    assert (score_format(other).unit, "mean, points" in str(other)) == ("points", True)


def test_other_units_are_shown_as_they_are_given(race: Race) -> None:
    found = race(unit="€")
    assert found.verdict.endswith("mid is 0.4 € behind, low 0.7 €.")


@pytest.mark.parametrize("size", [1e-90, 1e-14, 1e-7, 1e13, 1e90])
def test_large_and_tiny_scores_have_a_power_of_ten(size: float) -> None:
    result, usual = leaderboard(noisy(0.02, size=size), live=True), leaderboard(noisy(0.02), live=True)
    form = score_format(result)
    assert f"mean, 1e{form.power:+03d}" in result.table()
    assert max(map(len, result.table().splitlines())) <= 80
    for record, other in zip(result.records, usual.records, strict=True):
        assert float(form.amount(record.mean)) == pytest.approx(record.mean, rel=0.02)
        assert float(form.amount(record.behind)) == pytest.approx(record.behind, rel=0.3)
        assert record.behind / size == pytest.approx(other.behind, rel=1e-6)
    assert re.search(rf"is -?[\d.]+e{re.escape(f'{form.power:+03d}')} behind", result.verdict)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00"),
        (-0.0, "0.00"),
        (-0.001, "0.00"),
        (-0.006, "-0.01"),
        (math.nan, ""),
        (1234.5, "1,234.50"),
        (math.inf, "unlimited"),
        (-math.inf, "-unlimited"),
    ],
)
def test_numbers_have_no_negative_zero_and_nothing_for_what_is_unknown(value: float, text: str) -> None:
    assert Format(2).number(value) == text


@pytest.mark.parametrize("unit", ["", "ms", "%"])
@pytest.mark.parametrize("size", [1.0, 1e-3, 1e-15])
def test_a_bound_is_rounded_up_to_two_digits(unit: str, size: float) -> None:
    form, rng = Format(3, size, unit), np.random.default_rng(5)
    values = [*(10.0 ** rng.uniform(-9, 9, 2000)), *(k * 10.0**e for k in range(1, 100) for e in range(-6, 6))]
    for value in values:
        said = form.at_most(value * size).removesuffix(unit).strip()
        shown = float(said.replace(",", ""))
        assert value * (1 - 1e-11) <= shown <= value * 1.1 * (1 + 1e-11)
        assert len(said.replace(",", "").replace(".", "").strip("0")) <= 2
    assert [form.rounded_up(bound) for bound in (0.0, -1.0)] == [0.0, 0.0]


BOUNDS: dict[str, dict[str, Any]] = {
    "bounded": {},
    "items": {"target": "items"},
    "Gaussian": {"bounds": None, "comparison": StudentMixture(), "max_evaluations": 40},
    "milliseconds": {
        "bounds": None,
        "comparison": StudentMixture(),
        "unit": "s",
        "lower_is_better": True,
        "max_evaluations": 24,
    },
    "wins": {"bounds": None, "criterion": "wins", "max_evaluations": 70},
    "wide": {"bounds": (-1000.0, 1000.0)},
    "groups": {"groups": [k // 2 for k in range(1000)]},
}


@pytest.mark.parametrize("case", BOUNDS)
def test_a_bound_is_the_same_text_in_verdict_next_step_explanation_and_page(
    race: Race, page_text: Callable[[Any], str], case: str
) -> None:
    scores = (0.004 if "unit" in BOUNDS[case] else 1.0) * noisy(0.01, 1000)
    scores += 0.05 * scores.mean() * np.random.default_rng(8).standard_normal((1000, 3))
    scores = np.clip(scores, 0, 1)
    result = race(lambda arm, item: float(scores[item, arm]), range(3), **{"max_evaluations": 90} | BOUNDS[case])
    assert len(result.candidates) > 1
    bound, form = bound_text(result, result.regret_bound), lead_format(result)
    if bound is None:  # as wide as the bounds
        assert result.regret_bound >= 0.9 * 2000
        assert "may be much better" in " ".join(result.verdict.split())
        return
    number = float(re.sub(r"[^\d.e+-]", "", bound))
    assert number * form.size >= result.regret_bound * (1 - 1e-11)
    assert f"may be up to {bound} better." in result.verdict
    assert f"by at most {bound}" in result.explain()
    assert f"may be up to {bound} better." in page_text(result)
    if result.guarantee.criterion == "mean":
        assert f"(epsilon {bound})" in " ".join(str(result).split())
        assert f"(epsilon {bound})" in page_text(result)


@pytest.mark.parametrize(("n_items", "decimals"), [(20, 0), (100, 0), (101, 1), (1000, 1), (4000, 2)])
def test_wins_are_percentages_in_which_one_item_is_seen(race: Race, n_items: int, decimals: int) -> None:
    """One wins and loses in turn, and once more."""
    turn = lambda arm, item: float((item + 1) // 2 % 2 == arm)  # noqa: E731
    result = race(turn, [0, 1], iter(range(n_items)), bounds=None, criterion="wins", delta=1e-9)
    form = lead_format(result)
    assert (result.n_rounds, form.decimals, form.unit) == (n_items, decimals, "%")
    assert "lost − won, %" in result.table()
    one_item = form.number(1 / n_items)
    assert float(one_item) > 0
    won, lost = result.records[1].won, result.records[1].lost
    assert form.number(result.records[1].behind) == f"{100 * (lost - won) / n_items:.{decimals}f}"
