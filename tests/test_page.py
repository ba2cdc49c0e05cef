"""The page of a result: well-formed, self-contained, names as data, pictures and tables as the scores have them."""

import math
import re
import statistics
import warnings
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from markupsafe import Markup
from numpy.typing import NDArray
from typer.testing import CliRunner

import bestarm
from bestarm.algorithms import LUCB, ConvexBAI
from bestarm.cli import app
from bestarm.comparisons import ConvexBernstein, StudentMixture
from bestarm.result.figure import lead_history
from bestarm.result.page import _number, _ticks, page, pairing
from bestarm.result.verdict import sentences
from bestarm.text import name_of

Table = NDArray[np.float64]


def parsed(result: Any) -> Any:
    """As XML once the elements that HTML leaves open are closed: all else must be balanced, quoted and escaped."""
    text = page(result)
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
    below = [text_of(node) for node in tree.iter("p")][: len(sentences(result)) - 1]  # one paragraph per sentence
    assert [text_of(heading), *below] == [" ".join(sentence.split()) for sentence in sentences(result)]
    assert " ".join([text_of(heading), *below]) == " ".join(result.verdict.split())
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
    assert [row[1].text for row in rows] == [name_of(record.arm) for record in result.records]


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


FIRST = "With probability at least {} the best arm is never dropped{}. This holds at all times at once: watching"
SCORES = "This assumes that all scores lie in [0, 1] and the items are independent of each other."
ON_THESE = SCORES.replace(
    "are independent of each other", "come in random order; for items like these, also that these"
)
ON_THESE = ON_THESE.removesuffix(".") + " are a random sample of them."
NORMAL = (
    "This assumes that the items are independent of each other and the differences between scores are nearly Gaussian "
)
GAUSSIAN = ", if the differences are nearly Gaussian"
POOL = "the best mean over the 400 items of this race, which were taken in random order, as scored here: where an"
BOTH = "What is said about items like these holds with the same probability, by a test of its own on the same scores; "
BOTH += "both statements together hold with probability at least 0.9."
LAW = "The best is the arm with the best mean over all items that could have come up."
LIKE_THESE = "The best is the arm with the best mean over all items that the items of this race are a random sample of."
EPSILON = "to be at most 0.2 from the best; this is then true with probability at least 0.95."
ZONE = "All this assumes that the best arm leads by at least 0.05; otherwise nothing is guaranteed about the answer."
FAILED = "the best of all arms is among those left or among those disqualified."
GUARANTEES: dict[str, list[Any]] = {
    "bounded pool": [("0.95", ""), ON_THESE, POOL, BOTH],
    "bounded stream": [("0.95", ""), SCORES, LAW],
    "gaussian": [("0.99", GAUSSIAN), NORMAL, LIKE_THESE],
    "zone": [("0.95", ", if the best leads by at least 0.05"), ON_THESE, POOL, BOTH, ZONE],
    "epsilon": [("0.95", ""), ON_THESE, POOL, BOTH, EPSILON],
    "disqualified": [("0.95", ""), ON_THESE, POOL, BOTH, FAILED],
    "worst": [("0.95", ""), ON_THESE, POOL, BOTH, "Evaluations that failed count as the worst score."],
    "lucb": [
        ("0.9", ""),
        "This assumes that the items are independent of each other and the scores of each arm are Gaussian or",
        LAW,
    ],
    "portfolio": [("0.9", ""), SCORES, LIKE_THESE],
}


@pytest.mark.parametrize("case", GUARANTEES)
def test_the_page_says_what_is_guaranteed_and_assumed(case: str) -> None:
    sure, *more = GUARANTEES[case]
    said = [text_of(node) for node in page_of(case).iter("p")][-len(more) - 1 :]
    for part, sentence in zip([FIRST.format(*sure), *more], said, strict=True):
        assert part in sentence


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
    given, name = name, name.replace("\n", r"\n").replace("\t", r"\t")
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
    history, picture = lead_history(result_of(case)), next(page_of(case).iter("svg"))
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


@pytest.mark.parametrize("size", [1e-14, 1e-6, 0.03, 1.0, 7.3, 999.0, 4e5, 1e18])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-0.31, 0.87), (-1.0, 0.0), (-0.02, 1.9), (0.0, 5.0)])
def test_ticks_are_round_numbers_within_the_limits(low: float, high: float, size: float) -> None:
    ticks = [tick / size for tick in _ticks(low * size, high * size)]
    assert 3 <= len(ticks) <= 9
    step = (ticks[-1] - ticks[0]) / (len(ticks) - 1)
    assert float(f"{step * size:.5e}"[:7]) in (1, 2, 5)
    first = round(ticks[0] / step)
    assert [tick / step for tick in ticks] == pytest.approx([first + k for k in range(len(ticks))], abs=1e-6)
    assert low - 1e-6 <= ticks[0] < low + step * 1.000001
    assert high - step * 1.000001 < ticks[-1] <= high + 1e-6


@pytest.mark.parametrize("digits", [2, 3, 4])
@pytest.mark.parametrize("value", [0.0012, 0.5, 1.25, 99.6, 123.4, 1234.5, 9999.9, 10_000.4, 2_617_700_448.0])
def test_numbers_are_written_as_people_read_them(value: float, digits: int) -> None:
    for signed in (value, -value):
        assert "e" not in _number(signed, digits)
        assert near(_number(signed, digits), signed, digits)


def test_what_is_no_number_and_what_is_far_too_long() -> None:
    assert [_number(None), _number(math.nan), _number(math.inf), _number(-0.0)] == ["", "", "unlimited", "0"]
    assert max(len(_number(huge)) for huge in (1e300, -1e30, 1e-300)) <= 16


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
def test_correlations_are_those_of_a_slow_reference_and_the_page_shows_them(
    more: dict[str, Any],
) -> None:
    result = recorded(mixed(), **more)
    found, tree = pairing(result), parsed(result)
    slow = np.array([[1.0 if i == j else slow_correlation(shared(result, i, j)) for j in range(5)] for i in range(5)])
    np.testing.assert_allclose(found.correlation, slow, rtol=1e-9)
    assert np.isnan(slow[2]).sum() == 4
    (said,) = (text_of(node) for node in tree.iter("p") if "The median correlation" in text_of(node))
    median = statistics.median(value for value in slow[np.tril_indices(5, -1)] if not math.isnan(value))
    assert near(said.split("over all pairs of arms, is ")[1].split()[0].rstrip("."), median, 2)
    assert len(list(page_of("200 arms").iter("rect"))) == 24**2
    assert len(list(page_of("tied").iter("rect"))) == 0  # nothing varies
    for rect in list(tree.iter("svg"))[1].iter("rect"):
        i, j, value = re.findall(r"arm (\d), arm (\d): (.*)", rect[0].text)[0]
        correlation = slow[int(i), int(j)]
        far = (31, 95, 168) if correlation >= 0 else (179, 64, 47)
        blend = [round(255 + (part - 255) * abs(correlation)) for part in far] if value != "unknown" else ()
        assert rect.get("fill") == ("#{:02x}{:02x}{:02x}".format(*blend) if blend else "#e4e7ea")
        assert near(value, correlation, 2) if blend else math.isnan(correlation)


@pytest.mark.parametrize("size", [1e-90, 1e90])
def test_correlations_do_not_depend_on_the_unit_of_the_scores(size: float) -> None:
    found, usual = (pairing(recorded(unit * mixed(), bounds=None, comparison=StudentMixture())) for unit in (size, 1.0))
    np.testing.assert_allclose(found.correlation, usual.correlation, rtol=1e-9)


def test_a_warning_about_the_data_is_not_repeated_by_the_page() -> None:
    result = recorded((scores() > 0.45).astype(float), bounds=None, comparison=StudentMixture())
    with warnings.catch_warnings(action="error"):
        page(result)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    race(store="race.sqlite")
    race(store="stopped.sqlite", max_evaluations=100)
    return tmp_path


@pytest.mark.parametrize("name", ["race", "stopped"])
def test_report_writes_the_page_of_a_race_on_disk(folder: Path, name: str) -> None:
    before = (folder / f"{name}.sqlite").read_bytes()
    target = folder / ("far " * 30) / "page.html"
    target.parent.mkdir()
    ended = CliRunner().invoke(app, ["report", f"{name}.sqlite", "-o", str(target)])
    assert (ended.exit_code, ended.stdout) == (0, "")
    same = race(max_evaluations=None if name == "race" else 100)
    assert target.read_text(encoding="utf-8") == page(same) == page(bestarm.load_result(f"{name}.sqlite"))
    assert CliRunner().invoke(app, ["report", f"{name}.sqlite"]).stderr == "Wrote race.html.\n"
    assert (folder / "race.html").read_bytes() == target.read_bytes()
    assert (folder / f"{name}.sqlite").read_bytes() == before
    assert ended.stderr.replace("\n", "") == f"Wrote {target}.".replace("far  ", "far ")


BAD = {
    "absent.sqlite -o page.html": "the file does not exist; check its name and its folder",
    "text.txt -o page.html": "text.txt is not a race of bestarm",
    "cut.sqlite -o page.html": "cut.sqlite",
    "race.sqlite -o absent/page.html": "absent",
    "race.sqlite -o full": "full",
    "race.sqlite -o full/../race.sqlite": "race.sqlite",
}


@pytest.mark.parametrize("words", BAD)
def test_report_refuses_in_one_line_and_loses_nothing(folder: Path, words: str) -> None:
    (folder / "full").mkdir()
    (folder / "text.txt").write_text("no race", encoding="utf-8")
    (folder / "cut.sqlite").write_bytes((folder / "race.sqlite").read_bytes()[:9000])
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    ended = CliRunner().invoke(app, ["report", *words.split()])
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert re.fullmatch(f"error: .*{BAD[words]}.*\n", ended.stderr)


def test_the_demo_ends_with_its_page_and_says_where(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestarm.studies.demo.source_files", lambda: ["bisect.py", "queue.py", "struct.py"])
    ended = CliRunner().invoke(app, ["demo", "--output", "out", "--quiet"])
    assert (ended.exit_code, "out/report.html" in ended.stderr.splitlines()[-1]) == (0, True)
    assert (folder / "out/report.html").read_text(encoding="utf-8") == page(bestarm.load_result("out/race.sqlite"))
