"""The pictures of a race: curves, the line at which arms are out, names, axes and dots; how they show themselves."""

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.typing import NDArray

import bestarm
from bestarm.algorithms import LUCB
from bestarm.comparisons import StudentMixture
from bestarm.result.figure import COLOURS, LOWEST, MOST_CURVES, MOST_DOTS, PAPER, svg
from bestarm.result.history import pictures_of

Table = NDArray[np.float64]
Race = Callable[..., Any]


def noisy(n_arms: int = 5, n_items: int = 2000) -> Table:
    rng = np.random.default_rng(3)
    levels = 0.4 * np.linspace(0.0, 1.0, n_arms) ** 0.4  # close together at the top
    luck = 0.4 * rng.random((n_items, 1)) + 0.2 * rng.random((n_items, n_arms))
    return np.asarray(luck + levels)


def raced(race: Race, n_arms: int = 5, **more: Any) -> Any:
    table = noisy(n_arms)
    arms = [f"arm {k}" for k in range(n_arms)]
    return race(lambda arm, item: float(table[item, arms.index(arm)]), arms, range(2000), **more)


def board(n_arms: int, n_items: int, **more: Any) -> Any:
    names = [f"arm {k}" for k in range(n_arms)]
    return bestarm.race_table(noisy(n_arms, n_items), arms=names, **more)


def curves(panel: Any) -> list[Any]:
    """The lines of the arms: neither the dots at their ends nor the line at which they are out."""
    return [line for line in panel.lines if line.get_marker() == "None" and line.get_zorder() > 2]


def ends(panel: Any) -> list[tuple[float, float]]:
    return [(float(line.get_xdata()[-1]), float(line.get_ydata()[-1])) for line in curves(panel)]


RACES: dict[str, dict[str, Any]] = {
    "bounded": {},
    "other delta": {"delta": 0.001},
    "Gaussian": {"bounds": None, "comparison": StudentMixture()},
    "lower": {"lower_is_better": True},
    "groups": {"groups": [k // 2 for k in range(2000)]},
    "drawn": {"replace": True},
    "wins": {"bounds": None, "criterion": "wins"},
}


@pytest.mark.parametrize("case", RACES)
def test_curves_end_on_the_line_in_the_rounds_in_which_their_arms_left(race: Race, case: str) -> None:
    result = raced(race, **RACES[case])
    assert result.answered
    (panel,) = result.plot().axes
    out_at = 1.0 / result.delta
    left = sorted(out.round for out in result.eliminations)
    assert len(curves(panel)) == 5
    at_the_line = [end for end in ends(panel) if end[1] == pytest.approx(out_at, rel=1e-12)]
    assert sorted(end[0] for end in at_the_line) == left
    (best,) = [end for end in ends(panel) if end not in at_the_line]
    assert best[0] == result.n_rounds
    dots = [line.get_xydata()[0].tolist() for line in panel.lines if line.get_marker() == "o"]
    assert sorted(dots) == [[out, out_at] for out in left]
    (line,) = [line for line in panel.lines if line.get_marker() == "None" and line not in curves(panel)]
    assert set(line.get_ydata()) == {out_at}
    assert (panel.get_yscale(), panel.get_ylim()) == ("log", (LOWEST, pytest.approx(out_at)))
    assert f"out: {out_at:,.4g} to 1 against" in [text.get_text() for text in panel.texts]
    unit = {"groups": "groups", "drawn": "rounds"}.get(case, "items")
    scale = " (logarithmic)" if panel.get_xscale() == "log" else ""
    assert (panel.get_xlabel(), panel.get_ylabel()) == (f"{unit}{scale}", "evidence against being the best")


def test_curves_are_the_evidence_of_the_history_in_units_of_wealth(race: Race) -> None:
    result = raced(race, delta=0.1)
    history, (panel,) = result.evidence_history, result.plot().axes
    found = sorted((np.asarray(line.get_xydata()).tolist() for line in curves(panel)), key=len)
    drawn = []
    for shares in history.shares.T:
        known = np.isfinite(shares)
        wealth = np.clip(shares[known] / 0.1, LOWEST, 10.0)
        drawn.append(np.column_stack([history.rounds[known], wealth]).tolist())
    drawn.sort(key=len)
    for one, other in zip(found, drawn, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert all(curve[0] == [1.0, pytest.approx(1.0, rel=0.5)] for curve in drawn)  # the first item says little


def test_rounds_are_on_a_logarithmic_axis_where_an_arm_left_early(race: Race) -> None:
    early, late = raced(race, 8), race()  # after 14 rounds
    first = [min(out.round for out in result.eliminations) / result.n_rounds for result in (early, late)]
    assert first[0] < 0.15 < first[1]
    assert early.plot().axes[0].get_xscale() == "log"
    assert late.plot().axes[0].get_xscale() == "linear"
    for result in (early, late):
        assert result.plot().axes[0].get_xlim()[1] == result.n_rounds


def test_the_leader_has_the_first_colour_and_names_have_those_of_their_curves(race: Race) -> None:
    result = raced(race, 9, max_evaluations=900)
    panel = result.plot().axes[0]
    named = {text.get_text(): to_hex(text.get_color()) for text in panel.texts if text.get_text().startswith("arm")}
    assert named[result.leader] == COLOURS[0]
    assert sorted(named.values()) == sorted(COLOURS)
    last = [*result.candidates, *sorted(result.eliminations, key=lambda out: -out.round)]
    assert set(named) == {one if isinstance(one, str) else one.arm for one in last[: len(COLOURS)]}
    by_colour = {to_hex(line.get_color()): line for line in curves(panel)}
    left = {out.arm: out.round for out in result.eliminations}
    for name, colour in named.items():
        assert by_colour[colour].get_xdata()[-1] == left.get(name, result.n_rounds)
    widths = {to_hex(line.get_color()): line.get_linewidth() for line in curves(panel)}
    assert max(widths, key=lambda colour: widths[colour]) == COLOURS[0]


def test_slanted_names_of_arms_that_leave_together_stand_apart(race: Race) -> None:
    levels = [0.1, 0.11, 0.12, 0.13, 0.9]
    figure = race(lambda arm, item: levels[arm], range(5)).plot()
    figure.canvas.draw()
    names = [text for text in figure.axes[0].texts if text.get_rotation() > 0]
    assert len(names) == 4
    across = sorted(float(text.get_window_extent().x0) * 72 / figure.dpi for text in names)
    assert min(np.diff(across)) > 12.0


# --- differences -----------------------------------------------------------------------------------------------------


def test_differences_are_drawn_where_the_race_is_undecided_or_all_scores_are_there(race: Race) -> None:
    for result, both in [
        (raced(race), (True, False)),
        (raced(race, max_evaluations=100), (True, True)),
        (board(5, 300), (True, True)),
        (board(5, 300, live=True), (True, False)),
        (board(5, 300, target="items"), (False, True)),
        (race(bounds=None, items=None, algorithm=LUCB(0.1, variances=0.03)), (False, True)),
        (race(items=iter(())), (False, False)),
    ]:
        assert pictures_of(result) == both
        labels = [panel.get_ylabel() for panel in result.plot().axes]
        assert labels == ["evidence against being the best"] * both[0] + [""] * both[1]


@pytest.mark.parametrize("lower", [False, True])
def test_dots_are_how_far_arms_are_behind_on_shared_items(race: Race, lower: bool) -> None:
    result = raced(race, max_evaluations=35, lower_is_better=lower)
    panel = result.plot().axes[-1]
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    assert [label.get_text() for label in panel.get_yticklabels()] == [record.arm for record in result.records]
    best = result.scores[:, result.arms.index(result.leader)]
    assert len(dots) == len(panel.collections) == 5
    for k, (dot, record) in enumerate(zip(dots, result.records, strict=True)):
        leads = (-1 if lower else 1) * (best - result.scores[:, result.arms.index(record.arm)])
        leads = leads[np.isfinite(leads)]
        assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (pytest.approx(leads.mean(), abs=1e-12), k)
        (segment,) = panel.collections[k].get_segments()
        assert segment[:, 0] == pytest.approx(sorted([0.0, leads.mean()]), abs=1e-12)
    assert panel.xaxis_inverted()  # the best on the right
    top, bottom = panel.transData.transform([(0, 0), (0, 4)])[:, 1]
    assert top > bottom


def test_dots_have_the_unit_of_the_table(race: Race) -> None:
    rng = np.random.default_rng(0)
    seconds = 0.004 + 0.001 * rng.random((300, 2))
    result = race(lambda arm, item: float(seconds[item, arm]), range(2), range(300), bounds=None, unit="s",
                  lower_is_better=True, max_evaluations=60)  # fmt: skip
    panel = result.plot().axes[-1]
    assert panel.get_xlabel() == "behind the leader, ms; in blue: may be the best"
    second = [line for line in panel.lines if line.get_marker() == "o"][1]
    assert second.get_xdata()[0] == pytest.approx(1000 * result.records[1].behind)
    odd = race(unit="$\\frac{", max_evaluations=20)
    odd.plot().canvas.draw()
    assert "$\\frac{" in odd.plot().axes[-1].get_xlabel()


# --- many arms, odd names, forms -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_arms", "n_items"), [(2, 60), (60, 60), (2000, 12)])
def test_any_number_of_arms_is_drawn(n_arms: int, n_items: int) -> None:
    result = board(n_arms, n_items)
    figure = result.plot()
    assert figure.get_size_inches()[1] < 14
    drawn = curves(figure.axes[0])
    assert len(drawn) == min(n_arms, MOST_CURVES)
    hidden = f"; {n_arms - MOST_CURVES:,} more arms not shown" if n_arms > MOST_CURVES else ""
    assert figure.axes[0].get_xlabel().replace(" (logarithmic)", "") == f"items{hidden}"
    standing = [line for line in drawn if line.get_xdata()[-1] == result.evidence_history.rounds[-1]]
    assert len(standing) >= min(MOST_CURVES, len(result.candidates))
    shown = min(n_arms, MOST_DOTS)
    assert len(figure.axes[-1].get_yticklabels()) == shown
    more = "" if n_arms <= shown else f"\n{n_arms - shown:,} more arms not shown"
    assert figure.axes[-1].get_xlabel() == f"behind the leader; in blue: may be the best{more}"
    assert figure._repr_png_().startswith(b"\x89PNG")


ODD = ["$\\frac{", ":dog:", "long " * 60, "two\nlines", "$x$", "<b>", "[/red]", "#1d2530"]


@pytest.mark.parametrize("budget", [None, 80])
def test_odd_names_are_only_text(race: Race, budget: int | None) -> None:
    result = race(lambda arm, item: ODD.index(arm) / len(ODD), ODD, max_evaluations=budget)
    figure, file = result.plot(), io.BytesIO()
    figure.savefig(file, format="png", dpi=40)
    assert file.getvalue().startswith(b"\x89PNG")
    said = [text.get_text() for panel in figure.axes for text in [*panel.texts, *panel.get_yticklabels()]]
    assert set(said) & {"$x$", "<b>", "[/red]", "#1d2530"}
    assert max(map(len, said)) <= 28
    assert "\n" not in "".join(said)
    drawn = svg(result, 9.0)
    assert "&lt;b&gt;" in drawn
    assert ">#1d2530<" in drawn
    assert not re.search(r"<[^<>]*#1d2530", drawn)  # ink has the colour of the page


def test_an_svg_is_the_same_each_time_and_ids_of_two_sizes_differ(race: Race) -> None:
    result = raced(race, max_evaluations=100)
    wide, narrow = svg(result, 9.0), svg(result, 4.4)
    assert svg(result, 9.0) == wide
    ids = [set(re.findall(r'\bid="([^"]*)"', text)) for text in (wide, narrow)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, own in zip((wide, narrow), ids, strict=True):
        assert set(re.findall(r"(?:url\(|href=\")#([^)\"]*)", text)) <= own


def test_a_figure_shows_itself_in_a_notebook_on_white_paper(race: Race) -> None:
    figure = race().plot()
    shown = figure._repr_png_()
    assert shown.startswith(b"\x89PNG")
    assert to_hex(figure.get_facecolor()) == PAPER
    assert not race(items=iter(())).plot().axes
