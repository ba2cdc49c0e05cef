"""The page of a result: well-formed, self-contained, names as data, pictures and tables as the scores have them."""

import math
import re
import statistics
import warnings
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from markupsafe import Markup
from numpy.typing import NDArray

import bestarm
from bestarm.algorithms import LUCB, ConvexBAI
from bestarm.comparisons import ConvexBernstein, StudentMixture

Table = NDArray[np.float64]


def parsed(result: Any) -> Any:
    """As XML once the elements that HTML leaves open are closed: all else must be balanced, quoted and escaped."""
    with TemporaryDirectory() as folder:
        result.to_html(path := Path(folder) / "page.html")
        text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>\n<html ")
    assert set(re.findall(r"<([a-z]+)[^<>]*/>", text)) <= {"line", "rect", "polyline", "polygon"}  # of pictures only
    tree = fromstring(re.sub(r"<meta ([^<>]*)>", r"<meta \1/>", text.removeprefix("<!doctype html>")))  # noqa: S314
    read = list[str]()
    browser: Any = HTMLParser(convert_charrefs=True)
    browser.handle_data = read.append
    browser.feed(text)
    browser.close()
    assert "".join(read).split() == raw(tree).split()  # as HTML it holds the same
    return tree


def of_class(tree: Any, name: str, tag: str = "div") -> list[Any]:
    return [node for node in tree.iter(tag) if name in node.get("class", "").split()]


def raw(node: Any) -> str:
    return "".join(node.itertext())


def text_of(node: Any) -> str:
    return " ".join(raw(node).split())


def scores(n_items: int = 400, n_arms: int = 4) -> Table:
    rng, level = np.random.default_rng(0), np.linspace(0.35, 0.15, n_arms)
    return np.asarray(level + 0.3 * rng.random((n_items, 1)) + 0.3 * rng.random((n_items, n_arms)))


NAMES = ["ann", "bob", "cy", "dee"]
ODD = "<script>alert(1)</script>|\"><img src=x onerror='alert(1)'>|a & b &amp; &lt;c&gt; &#60;|' onclick='alert(1)|"
ODD += "</title></style></svg></td><!-- ]]>|two\nlines\tand tab|ünïcödé 長い名前 🐍|{{ 7 * 7 }}{% raw %}|200 letters"
HOSTILE = [name.replace("200 letters", "x" * 200) for name in ODD.split("|")]


def looked_up(arm: str, item: int) -> float:
    return float(scores()[item % 400, NAMES.index(arm)])


def failing(arm: str, item: int) -> float:
    if arm == "ann" or (arm == "cy" and item % 10 == 3):
        raise OSError('disk <full> & "broken"')
    return looked_up(arm, item)


def recorded(table: Table | None = None, **more: Any) -> Any:
    table = scores() if table is None else table
    usual = {"bounds": (0, 1), "arms": NAMES if table.shape[1] == 4 else [f"arm {k}" for k in range(table.shape[1])]}
    return bestarm.race_table(table, **usual | more)


def race(evaluate: Callable[..., float] = looked_up, items: Any = range(400), arms: Any = NAMES, **more: Any) -> Any:
    usual: Any = {"bounds": (0, 1), "progress": False}
    return bestarm.race(evaluate, arms=arms, items=items, **usual | more)


SAME = 0.85 + np.array([np.random.default_rng(k).permutation(20) for k in range(3)]).T / 200  # in three orders
CASES: dict[str, Callable[[], Any]] = {
    "bounded pool": recorded,
    "bounded stream": lambda: race(items=iter(range(400))),
    "gaussian": lambda: recorded(bounds=None, comparison=StudentMixture(), delta=0.01),
    "zone": lambda: recorded(indifference_zone=0.05),
    "epsilon": lambda: recorded(epsilon=0.2),
    "disqualified": lambda: race(failing, on_error="disqualify"),
    "worst": lambda: race(failing, on_error="worst"),
    "lower": lambda: recorded(lower_is_better=True),
    "undecided": lambda: race(max_evaluations=100),
    "nothing known": lambda: bestarm.Race(NAMES, items=range(400), bounds=(0, 1)).result(),
    "one left": lambda: race(lambda arm, item: 0.5 if arm == "bob" else 1 / 0, on_error="disqualify"),
    "one round": lambda: race(items=iter(range(1))),
    "two rounds": lambda: recorded(scores(2)),
    "in flight": lambda: race(rounds_in_flight=4),
    "lucb": lambda: race(items=None, bounds=None, algorithm=LUCB(0.1, variances=0.03)),
    "convex bernstein": lambda: recorded(bounds=None, algorithm=ConvexBAI(0.1, comparison=ConvexBernstein())),
    "portfolio": lambda: recorded(algorithm=ConvexBAI(0.1)),
    "tied": lambda: recorded(np.full((7, 3), 0.5)),
    "tied up to rounding": lambda: recorded(SAME, lower_is_better=True),
    "two arms": lambda: recorded(scores(n_arms=2)),
    "200 arms": lambda: recorded(scores(n_arms=200)),
    "hostile": lambda: recorded(scores(n_arms=len(HOSTILE)), arms=HOSTILE),
}
OF_THE_LAW = ("bounded stream", "gaussian", "one round", "lucb", "convex bernstein", "portfolio")
ON_ITEMS = [case for case in CASES if case not in (*OF_THE_LAW, "nothing known", "one left")]
DRAWN = [case for case in CASES if case not in ("nothing known", "one left")]
result_of = cache(lambda case: CASES[case]())
page_of = cache(lambda case: parsed(result_of(case)))
LOADS = {"src", "href", "srcset", "action", "formaction", "data", "background", "poster"}
NUMBERS = ("x", "y", "x1", "x2", "y1", "y2", "points", "width", "height", "viewBox")
FOREIGN = {"script", "link", "img", "iframe", "object", "embed", "base", "form", "input", "video", "audio", "image"}


@pytest.mark.parametrize("case", CASES)
def test_the_page_is_well_formed_loads_nothing_and_lacks_no_number(case: str) -> None:
    tree = page_of(case)
    assert (tree.tag, tree.get("lang")) == ("html", "en")
    assert {"charset": "utf-8"} in [meta.attrib for meta in tree.iter("meta")]
    for node in tree.iter():
        assert node.tag not in FOREIGN
        assert not [name for name in node.attrib if name in LOADS or name.startswith("on")]
        assert re.fullmatch(r"|width: \d+\.\d\d%|max-width: \d+px", node.get("style", ""))
        if node.tag in ("p", "h1", "h2", "span", "b"):  # a browser would end them before a block
            assert not {inner.tag for inner in node.iter()} & {"div", "ul", "dl", "table", "figure", "svg"}
    assert not re.search(r"url\(|@import|http", raw(next(tree.iter("style"))))
    for node in (inner for picture in tree.iter("svg") for inner in picture.iter()):
        values = " ".join(node.get(name, "") for name in NUMBERS).replace(",", " ").split()
        assert all(math.isfinite(float(value)) for value in values), node.tag
    assert not {"nan", "inf", "-inf", "None"} & {text_of(cell) for cell in tree.iter("td")}


@pytest.mark.parametrize("case", CASES)
def test_the_page_says_verdict_cost_facts_and_a_row_for_every_arm(case: str) -> None:
    result, tree = result_of(case), page_of(case)
    (heading,), title = tree.iter("h1"), text_of(next(tree.iter("title")))
    below = [text_of(node) for node in tree.iter("p") if not node.get("class")]  # one paragraph per sentence
    assert " ".join([text_of(heading), *below]).startswith(" ".join(result.verdict.split()))
    assert len(title) <= 125
    assert text_of(heading).startswith(title.removesuffix("...") or "nothing")
    everything = f"; evaluating everything would take {len(result.arms) * (result.settings.n_items or 0):,}: "
    saved = [] if result.saved is None else [f"{100 * result.saved:.1f}%"]
    known = " (a live race must know the bounds, here [{:g}, {:g}])".format(*result.bounds or (0, 0))
    said = f"{everything}{saved[0]} saved{known if result.settings.own_range else ''}." if saved else "."
    assert (
        text_of(of_class(tree, "soft", "p")[0]).replace("rounds", "round")
        == f"{result.n_evaluations:,} evaluations in {result.n_rounds:,} round{said}"
    )
    facts = [text_of(fact) for fact in of_class(tree, "facts", "ul")[0].iter("b")]
    regret, standing = result.regret_bound, f"{len(result.candidates)} of {len(result.arms)}"
    bound = "unknown" if math.isnan(regret) else "unlimited" if math.isinf(regret) else f"{regret:.3g}"
    beyond = result.for_population if result.target == "items" else None
    like_these = [] if beyond is None else [f"{len(beyond.candidates)} of {len(result.arms)}"]
    assert (like_these != []) == (result.settings.items == "pool" and case in ON_ITEMS)
    spent = f"{result.n_evaluations:,}"
    assert facts == ([spent, *saved, standing, bound, *like_these] if result.n_rounds else [spent, standing])
    rows = [list(row) for row in next(tree.iter("tbody"))]
    assert [text_of(row[0]) for row in rows] == [str(k) for k in range(1, len(result.arms) + 1)]
    assert [row[1].text for row in rows] == [escaped(record.arm) for record in result.records]


def escaped(name: str) -> str:
    """A name as a page shows it."""
    return name.replace("\n", r"\n").replace("\t", r"\t")


def near(text: str, value: float, digits: int) -> bool:
    return abs(float(text.replace(",", "")) - value) <= 0.5001 * 10.0 ** (1 - digits) * abs(value) + 1e-12


@pytest.mark.parametrize("case", ["bounded pool", "gaussian", "lower", "disqualified", "undecided", "200 arms"])
def test_the_table_holds_means_items_and_distances_of_the_scores(case: str) -> None:
    result, sign = result_of(case), -1 if case == "lower" else 1
    own = dict(zip(result.arms, result.scores.T.tolist(), strict=True))
    ends = {out.arm: f"out in round {out.round}, beaten by {out.by}" for out in result.eliminations}
    ends |= {out.arm: f"disqualified in round {out.round}: {out.failure}" for out in result.disqualified}
    ends |= dict.fromkeys(result.candidates, "candidate") | {result.leader: "leader" if case == "undecided" else "best"}
    for _, name, mean, items, behind in next(page_of(case).iter("tbody")):
        used = [value for value in own[name.text] if not math.isnan(value)]
        leads = [a - b for a, b in zip(own[result.leader], own[name.text], strict=True) if not math.isnan(a - b)]
        assert (text_of(items), text_of(name[0])) == (str(len(used)), ends[name.text])
        assert near(text_of(mean), statistics.fmean(used), 4) if used else text_of(mean) == ""
        first = name.text == result.leader or not leads
        assert text_of(behind) == "" if first else near(text_of(behind), sign * statistics.fmean(leads), 3)


def test_the_page_says_the_settings_so_that_the_race_can_be_repeated() -> None:
    plain = {
        "rule": "PairwiseBAI with LeaderBetting",
        "delta": "0.05",
        "items": "400 in random order",
        "target": "items",
        "scores within": "0 to 1",
    }
    plain |= {"better scores are": "higher", "rounds in flight": "1", "if an evaluation fails": "raise", "seed": "0"}
    more: Any = {"epsilon": 0.01, "indifference_zone": 0.02, "lower_is_better": True, "seed": 12345, "delta": 0.1}
    other = race(items=iter(range(9)), rounds_in_flight=3, on_error="worst", max_evaluations=40_000, **more)
    changed = {
        "delta": "0.1",
        "items": "stream",
        "target": "population",
        "better scores are": "lower",
        "epsilon": "0.01",
        "indifference zone": "0.02",
    }
    changed |= {
        "rounds in flight": "3",
        "if an evaluation fails": "worst",
        "seed": "12345",
        "budget (evaluations)": "40,000",
    }
    for tree, expected in ((page_of("bounded pool"), plain), (parsed(other), plain | changed)):
        assert dict(zip(map(text_of, tree.iter("dt")), map(text_of, tree.iter("dd")), strict=True)) == expected
    exact = parsed(recorded(1e6 * scores(), bounds=(-0.1234567, 1_048_576), delta=0.0123456789))
    _, delta, _, _, limits, *_ = (text_of(node).replace(",", "") for node in exact.iter("dd"))
    assert [float(part) for part in (delta, *limits.split(" to "))] == [0.0123456789, -0.1234567, 1_048_576]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_only_text_wherever_they_stand(name: str) -> None:
    result, tree = result_of("hostile"), page_of("hostile")
    rank = result.order.index(result.arms.index(name))
    lane = of_class(tree, "who")[rank]
    given, name = name, escaped(name)
    assert lane.get("title") == name
    assert raw(lane) == f"{rank + 1} {name}"
    cells = [title.text for title in list(tree.iter("svg"))[1].iter("title")]
    assert sum(text.startswith(f"{name}, ") for text in cells) == len(HOSTILE)
    won = parsed(recorded(scores(n_arms=2), arms=[given, "other"]))
    assert raw(next(won.iter("h1"))).startswith(f"{name} is the best on these")
    assert raw(next(won.iter("figcaption"))).startswith(f"How far {name} was ahead")
    assert f"beaten by {name}" in raw(next(won.iter("tbody")))


def test_failures_markup_and_letters_that_are_not_utf_8_are_only_text_too(tmp_path: Path) -> None:
    assert raw(next(page_of("disqualified").iter("tbody"))).count('OSError: disk <full> & "broken"') == 2
    marked = recorded(scores(n_arms=2), arms=[Markup("<b>bold</b>"), "plain"])
    assert raw(of_class(parsed(marked), "who")[0]) == "1 <b>bold</b>"
    recorded(scores(n_arms=2), arms=["caf\udce9.txt", "plain"]).to_html(tmp_path / "page.html")
    assert re.search(r">caf.{1,8}\.txt<div", (tmp_path / "page.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("arms", [["\u202egnorts", "plain"], ["plain", "\u202egnorts"]])
def test_a_name_does_not_turn_the_direction_of_what_follows_it(arms: list[str]) -> None:
    for node in parsed(recorded(scores(n_arms=2), arms=arms)).iter():
        if node.tag in ("h1", "p", "figcaption", "title"):
            isolated = re.sub("[\u2066-\u2068][^\u2069]*\u2069", "", raw(node))
            assert not re.search("[\u202a-\u202e\u2066-\u2069]", isolated), node.tag


@pytest.mark.parametrize("case", CASES)
def test_bars_are_as_long_as_their_arms_were_in_the_race(case: str) -> None:
    result, lanes = result_of(case), of_class(page_of(case), "lane")
    left = {out.arm: out.round for out in (*result.eliminations, *result.disqualified)}
    ranked = [result.arms[k] for k in result.order]
    whole = max(1, result.n_rounds)
    shares = [min(left.get(arm, result.n_rounds), whole) / whole for arm in ranked]
    assert result.best in (None, ranked[0])
    bars = [of_class(lane, "bar")[0].get("style") for lane in lanes]
    assert bars == [f"width: {60 * share:.2f}%" for share in shares]
    for out in result.eliminations:
        note = raw(of_class(lanes[ranked.index(out.arm)], "note")[0])
        assert note == f"round {out.round:,}, beaten by {ranked.index(out.by) + 1} {out.by}"


def scale_of(labels: list[Any], name: str, shift: float = 0.0) -> Callable[[Any], Any]:
    assert len({label.text for label in labels}) == len(labels) >= 2
    values = [float(label.text.replace(",", "")) for label in labels]
    places = [float(label.get(name)) - shift for label in labels]
    slope = (places[-1] - places[0]) / (values[-1] - values[0])
    return lambda wanted: places[0] + slope * (np.asarray(wanted) - values[0])


@pytest.mark.parametrize("case", DRAWN)
def test_the_line_and_its_band_are_the_lead_and_its_interval(case: str) -> None:
    history, picture = result_of(case).lead_history, next(page_of(case).iter("svg"))
    across = [label for label in picture.iter("text") if label.get("text-anchor") == "middle"]
    x = scale_of(across, "x")
    y = scale_of([label for label in picture.iter("text") if label not in across], "y", 4.0)
    known = np.isfinite(history.low) & np.isfinite(history.high)
    rounds = np.concatenate([history.rounds[known], history.rounds[known][::-1]])
    edges = np.concatenate([history.high[known], history.low[known][::-1]])
    caption = text_of(next(page_of(case).iter("figcaption")))
    assert ("the band is a confidence interval" in caption) == (known.sum() > 1) == bool(list(picture.iter("polygon")))
    drawings = [("polyline", history.rounds, history.lead)]
    for tag, t, value in [*drawings, ("polygon", rounds, edges)] if known.sum() > 1 else drawings:
        expected = np.column_stack([x(t), np.clip(y(value), 10.0, 210.0)])
        drawn = np.array(next(picture.iter(tag)).get("points").replace(",", " ").split(), dtype=np.float64)
        np.testing.assert_allclose(drawn.reshape(-1, 2), expected, atol=0.4)
    (zero,) = (node for node in picture.iter("line") if "ink" in node.get("stroke", ""))
    assert float(zero.get("y1")) == pytest.approx(float(y(0.0)), abs=0.4)


@pytest.mark.parametrize("size", [1e-14, 1e-6, 0.03, 7.3, 999.0, 4e5, 1e18])
def test_ticks_and_numbers_are_as_people_read_them_whatever_the_unit_of_the_scores(size: float) -> None:
    """Ticks are round numbers, a few of them; the cells of the table have the values of the result."""
    result = recorded(size * scores(), bounds=None, comparison=StudentMixture())
    tree, history = parsed(result), result.lead_history
    labels = [float(node.text) for node in next(tree.iter("svg")).iter("text") if node.get("text-anchor") == "end"]
    assert 3 <= len(labels) <= 9
    step = (labels[-1] - labels[0]) / (len(labels) - 1)
    assert float(f"{step:.5e}"[:7]) in (1, 2, 5)
    first = round(labels[0] / step)
    assert [label / step for label in labels] == pytest.approx([first + k for k in range(len(labels))], abs=1e-6)
    late = history.rounds >= history.rounds[-1] / 10
    assert labels[0] < history.lead[late].min() + step
    assert labels[-1] > history.lead[late].max() - step
    for record, row in zip(result.records, next(tree.iter("tbody")), strict=True):
        mean, behind = text_of(row[2]), text_of(row[4])
        assert near(mean, record.mean, 4)
        assert record.arm == result.best or near(behind, record.behind, 3)
        assert max(len(mean), len(behind)) <= 16
        assert "e" not in mean or not 1e-4 < record.mean < 1e12


def test_numbers_just_below_a_power_of_ten_have_no_exponent() -> None:
    tree = parsed(recorded(np.tile([9999.9, 9000.2], (9, 1)), bounds=(0, 10_000)))
    first, second = next(tree.iter("tbody"))
    assert [text_of(first[2]), text_of(second[2]), text_of(second[4])] == ["10,000", "9000", "1,000"]


def mixed() -> Table:
    rng = np.random.default_rng(5)
    shared, own = rng.random((300, 1)), rng.random((300, 5))
    table: Table = 0.3 + 0.4 * shared + 0.05 * own - [0.0, 0.02, 0.0, 0.3, 0.01]
    table[:, 2] = 0.4  # never varies
    table[:, 4] = 0.65 - 0.4 * shared[:, 0] + 0.1 * own[:, 4]
    return table


def shared(result: Any, i: int, j: int) -> Table:
    return np.array([row for row in result.scores[:, [i, j]].tolist() if not math.isnan(sum(row))])


def slow_correlation(both: Table) -> float:
    known = len(both) >= 3 and all(len(set(column)) > 1 for column in both.T.tolist())
    return float(np.asarray(np.corrcoef(both.T))[0, 1]) if known else math.nan


@pytest.mark.parametrize(
    "more",
    [{}, {"bounds": None, "comparison": StudentMixture()}, {"lower_is_better": True}, {"epsilon": 0.05}],
    ids=str,
)
def test_the_page_shows_the_correlations_of_a_slow_reference(more: dict[str, Any]) -> None:
    result = recorded(mixed(), **more)
    tree = parsed(result)
    slow = np.array([[1.0 if i == j else slow_correlation(shared(result, i, j)) for j in range(5)] for i in range(5)])
    assert np.isnan(slow[2]).sum() == 4
    (said,) = (text_of(node) for node in tree.iter("p") if "The median correlation" in text_of(node))
    median = statistics.median(value for value in slow[np.tril_indices(5, -1)] if not math.isnan(value))
    assert near(said.split("over all pairs of arms, is ")[1].rstrip("."), median, 2)
    for rect in list(tree.iter("svg"))[1].iter("rect"):
        i, j, value = re.findall(r"arm (\d), arm (\d): (.*)", rect[0].text)[0]
        correlation = slow[int(i), int(j)]
        far = (31, 95, 168) if correlation >= 0 else (179, 64, 47)
        blend = [round(255 + (part - 255) * abs(correlation)) for part in far] if value != "unknown" else ()
        assert rect.get("fill") == ("#{:02x}{:02x}{:02x}".format(*blend) if blend else "#e4e7ea")
        assert near(value, correlation, 2) if blend else math.isnan(correlation)


def test_correlations_are_shown_of_few_arms_and_not_where_nothing_varies_or_too_little_is_known() -> None:
    assert len(list(page_of("200 arms").iter("rect"))) == 24**2
    assert len(list(page_of("tied").iter("rect"))) == 0
    assert "Too few items are shared to say how the scores are correlated." in text_of(page_of("two rounds"))


def cells_of(result: Any) -> list[tuple[str, str]]:
    """The colours and texts of the correlations on a page."""
    return [(rect.get("fill"), rect[0].text) for rect in parsed(result).iter("rect")]


@pytest.mark.parametrize("size", [1e-90, 1e90])
def test_correlations_do_not_depend_on_the_unit_of_the_scores(size: float) -> None:
    found, usual = (recorded(unit * mixed(), bounds=None, comparison=StudentMixture()) for unit in (size, 1.0))
    assert cells_of(found) == cells_of(usual)


def test_correlations_of_a_long_race_are_summed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    result = recorded(scores(n_arms=6))
    whole = cells_of(result)
    monkeypatch.setattr("bestarm.record.record.CELLS_OF_BLOCK", 100)
    assert cells_of(result) == whole


def test_a_warning_about_the_data_is_not_repeated_by_the_page() -> None:
    result = recorded((scores() > 0.45).astype(float), bounds=None, comparison=StudentMixture())
    with warnings.catch_warnings(action="error"):
        parsed(result)
