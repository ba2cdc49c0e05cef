"""The page of a result, and what a notebook shows: well-formed, self-contained, names as data, numbers as they are."""

import math
import re
import statistics
import tracemalloc
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
from bestarm.text import distinct_names

Table = NDArray[np.float64]


def parsed(result: Any) -> Any:
    """A page as XML, once the elements that HTML leaves open are closed: all else is balanced, quoted and escaped."""
    with TemporaryDirectory() as folder:
        result.to_html(path := Path(folder) / "page.html")
        text = path.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>\n<html ")
    assert set(re.findall(r"<([a-z]+)[^<>]*/>", text)) <= {"line", "rect", "path", "use"}  # of pictures only
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
    "live": lambda: recorded(live=True),
    "exact": lambda: recorded(target="items"),
    "groups": lambda: race(groups=[k // 2 for k in range(400)]),
    "wins": lambda: race(criterion="wins", bounds=None),
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
result_of = cache(lambda case: CASES[case]())
page_of = cache(lambda case: parsed(result_of(case)))
LOADS = {"src", "href", "srcset", "action", "formaction", "data", "background", "poster"}
FOREIGN = {"script", "link", "img", "iframe", "object", "embed", "base", "form", "input", "video", "audio", "image"}


def summaries(tree: Any) -> list[str]:
    return [text_of(node) for node in tree.iter("summary")]


def tables(tree: Any) -> list[Any]:
    """The tables of arms: the first ones, and all others where there are more."""
    return list(tree.iter("table"))


def rows_of(tree: Any) -> list[dict[str, Any]]:
    """The cells of all rows by their headings, and the whole name under "name"."""
    found = []
    for table in tables(tree):
        headings = [text_of(cell) for cell in table.iter("th")]
        for row in table.iter("tr"):
            cells = list(row.iter("td"))
            if cells:
                (name,) = (cell for cell in cells if cell.get("class") == "name")
                found.append(dict(zip(headings, map(text_of, cells), strict=True)) | {"name": name.get("title")})
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_page_is_well_formed_loads_nothing_and_lacks_no_number(case: str) -> None:
    tree = page_of(case)
    assert (tree.tag, tree.get("lang")) == ("html", "en")
    assert {"charset": "utf-8"} in [meta.attrib for meta in tree.iter("meta")]
    check_safe(tree)
    for node in tree.iter():
        if node.tag in ("p", "h1", "h2", "span", "b", "summary"):  # a browser would end them before a block
            assert not {inner.tag for inner in node.iter()} & {"div", "ul", "dl", "table", "figure", "svg"}
    assert not {"nan", "inf", "-inf", "None"} & {text_of(cell) for cell in tree.iter("td")}


def check_safe(tree: Any) -> None:
    """Nothing runs and nothing is loaded; pictures have finite coordinates and refer to nothing outside of them."""
    for node in tree.iter():
        tag = node.tag.rpartition("}")[2]
        assert tag not in FOREIGN
        for name, value in node.attrib.items():
            assert not name.startswith("on")
            plain = name.rpartition("}")[2]
            assert plain not in LOADS or (plain == "href" and value.startswith("#"))
            assert "javascript:" not in value
        if tag == "style":
            assert not re.search(r"url\(|@import|http", raw(node))
    for picture in pictures(tree):
        ids = {node.get("id") for node in picture.iter() if node.get("id")}
        for node in picture.iter():
            for value in node.attrib.values():
                assert set(re.findall(r"url\(#(.*?)\)", value)) <= ids
                assert not re.search(r"\b(nan|inf)\b", value)


def pictures(tree: Any) -> list[Any]:
    return [node for node in tree.iter() if node.tag.rpartition("}")[2] == "svg"]


@pytest.mark.parametrize("case", CASES)
def test_the_page_begins_with_verdict_and_table_and_all_but_the_picture_is_folded(case: str) -> None:
    result, tree = result_of(case), page_of(case)
    first, *second = result.verdict.splitlines()
    (heading,), title = tree.iter("h1"), text_of(next(tree.iter("title")))
    assert text_of(heading) == " ".join(first.split())
    assert [text_of(node) for node in of_class(tree, "second", "p")] == second
    assert len(title) <= 125
    assert text_of(heading).startswith(title.removesuffix("..."))
    main = next(tree.iter("main"))
    kinds = [node.tag for node in main if node.tag in ("h1", "div", "figure", "details", "footer")]
    several, known = len(result.arms) > 12, result.leader is not None and result.breakdown is None
    drawn = ["figure"] if known else []
    shown = ["h1", *["div"] * known, *["details"] * (several and known), *drawn]
    assert kinds[: len(shown)] == shown
    assert set(kinds[len(shown) :]) <= {"details", "footer"}
    assert all(node.get("open") is None for node in tree.iter("details"))
    explained = {part.split("\n")[0]: part.split("\n")[1:] for part in result.explain().split("\n\n")}
    folded = {text_of(node[0]).upper(): [text_of(line) for line in node[1:]] for node in main if node.tag == "details"}
    for part, said in explained.items():
        assert folded[part] == [" ".join(sentence.split()) for sentence in said]
    assert summaries(tree)[-1] == "Settings"
    small = [text_of(node) for node in of_class(main, "soft", "p")]
    for sentence in small:
        assert sentence in " ".join(str(result).replace(" More: explain(), --explain.", "").split())


@pytest.mark.parametrize("case", CASES)
def test_the_tables_of_the_page_have_every_arm_and_number(case: str) -> None:
    result, rows = result_of(case), rows_of(page_of(case))
    if not rows:
        assert result.leader is None
        return
    assert [row["name"] for row in rows] == [escaped(record.arm) for record in result.records]
    assert [len(list(table.iter("tr"))) - 1 for table in tables(page_of(case))] == (
        [12, len(result.arms) - 12] if len(result.arms) > 12 else [len(result.arms)]
    )
    own = dict(zip(result.arms, result.scores.T.tolist(), strict=True))
    sign = -1 if result.settings.lower_is_better else 1
    best = own[result.leader]
    for k, (row, record) in enumerate(zip(rows, result.records, strict=True)):
        used = [value for value in own[record.arm] if not math.isnan(value)]
        leads = [sign * (a - b) for a, b in zip(best, own[record.arm], strict=True) if not math.isnan(a - b)]
        numbers = {name.partition(",")[0]: cell for name, cell in row.items()}
        if used and case != "in flight":
            assert_shown(numbers["mean"], statistics.fmean(used))
        if result.complete:
            duel = f"{sum(lead < 0 for lead in leads):,}–{sum(lead > 0 for lead in leads):,}"
            assert row["#"] == f"{k + 1:,}"
            assert row[f"won–lost against #{result.order.index(result.outcome.leader) + 1}"] == (
                "" if record.arm == result.leader else duel
            )
        elif case != "in flight":
            assert numbers["items"] == f"{len(used) * (2 if case == 'groups' else 1):,}"
            wins = statistics.fmean(100.0 * ((lead > 0) - (lead < 0)) for lead in leads or [0.0])
            if k and leads:
                shown = "lost − won" if case == "wins" else "behind"
                assert_shown(numbers[shown], wins if case == "wins" else statistics.fmean(leads))
        out = record.status in ("out", "disqualified")
        assert (row[""] == record.status) == (out and case != "exact")  # where the ranks say it all


def escaped(name: str) -> str:
    """A name as a page shows it."""
    return name.replace("\n", r"\n").replace("\t", r"\t")


def assert_shown(text: str, value: float) -> None:
    """A number has the digits that it shows."""
    decimals = len(text.partition(".")[2])
    assert float(text.replace(",", "")) == pytest.approx(value, abs=0.5001 * 10.0**-decimals + 1e-12)


def test_the_page_says_the_settings_so_that_the_race_can_be_repeated() -> None:
    plain = {
        "rule": "PairwiseBAI with LeaderBetting",
        "delta": "0.05",
        "items": "400 in random order",
        "target": "population",
        "scores within": "0 to 1",
    }
    plain |= {"better scores are": "higher", "rounds in flight": "1", "if an evaluation fails": "raise", "seed": "0"}
    more: Any = {"epsilon": 0.01, "indifference_zone": 0.02, "lower_is_better": True, "seed": 12345, "delta": 0.1}
    other = race(items=iter(range(9)), rounds_in_flight=3, on_error="worst", max_evaluations=40_000, **more)
    changed = {
        "delta": "0.1",
        "items": "stream",
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
    tree = page_of("hostile")
    given, name = name, escaped(name)
    assert sum(row["name"] == name for row in rows_of(tree)) == 1
    for case in ({}, {"live": True}, {"live": True, "max_evaluations": 20}):
        won = parsed(recorded(scores(n_arms=2), arms=[given, "other"], **case))
        check_safe(won)
        said = raw(next(won.iter("h1")))
        assert name in said
        assert name in raw(next(won.iter("main")))
        for picture, letters in zip(pictures(won)[:2], (24, 12), strict=True):
            shown = " ".join("".join(node.itertext()) for node in picture.iter() if node.tag.endswith("text"))
            kept = [part for part in re.split(r"…", distinct_names([given, "other"], letters)[0]) if part]
            assert all(" ".join(part.split()) in " ".join(shown.split()) for part in kept)


def test_failures_markup_and_letters_that_are_not_utf_8_are_only_text_too(tmp_path: Path) -> None:
    said = raw(next(page_of("disqualified").iter("main")))
    assert 'OSError: disk <full> & "broken"' in said
    marked = recorded(scores(n_arms=2), arms=[Markup("<b>bold</b>"), "plain"])
    assert rows_of(parsed(marked))[0]["name"] == "<b>bold</b>"
    recorded(scores(n_arms=2), arms=["caf\udce9.txt", "plain"]).to_html(tmp_path / "page.html")
    assert re.search(r">caf.{1,8}\.txt</td>", (tmp_path / "page.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("arms", [["\u202egnorts", "plain"], ["plain", "\u202egnorts"]])
def test_a_name_does_not_turn_the_direction_of_what_follows_it(arms: list[str]) -> None:
    for node in parsed(recorded(scores(n_arms=2), arms=arms)).iter():
        if node.tag in ("h1", "p", "figcaption", "title"):
            isolated = re.sub("[\u2066-\u2068][^\u2069]*\u2069", "", raw(node))
            assert not re.search("[\u202a-\u202e\u2066-\u2069]", isolated), node.tag


# --- pictures --------------------------------------------------------------------------------------------------------


def test_there_is_a_picture_for_each_size_of_screen_and_no_two_share_an_id() -> None:
    for case in ("bounded pool", "undecided", "200 arms", "hostile", "lucb"):
        tree = page_of(case)
        assert [[node.tag.rpartition("}")[2] for node in of_class(tree, kind)[0]] for kind in ("wide", "narrow")] == [
            ["svg"],
            ["svg"],
        ]
        ids = [node.get("id") for node in tree.iter() if node.get("id")]
        assert len(ids) == len(set(ids))
    style = raw(next(page_of("undecided").iter("style")))
    assert ".narrow { display: none; }" in style
    assert re.search(
        r"@media \(max-width: 560px\) \{.*\.wide \{ display: none; \} \.narrow \{ display: block; \}", style
    )


@pytest.mark.parametrize(
    ("case", "curves", "dots"),
    [("bounded stream", True, False), ("undecided", True, True), ("bounded pool", True, True), ("lucb", False, True)],
)
def test_the_caption_says_what_the_picture_shows(case: str, curves: bool, dots: bool) -> None:
    (caption,) = (text_of(node) for node in page_of(case).iter("figcaption") if "Blue is 1" not in text_of(node))
    assert ("Evidence that an arm is not the best, item by item" in caption) == curves
    assert ("How far arms are behind the leader" in caption) == dots


def test_there_is_no_picture_where_nothing_is_known() -> None:
    assert not pictures(page_of("nothing known"))
    with warnings.catch_warnings(action="ignore"):
        broken = race(lambda arm, item: 1 / 0, on_error="worst", max_evaluations=40)
    tree = parsed(broken)
    assert (pictures(tree), tables(tree)) == ([], [])
    assert "<svg" not in broken._repr_html_()


def test_the_same_page_twice_is_the_same_text(page_text: Callable[[Any], str]) -> None:
    for result in (result_of("undecided"), result_of("hostile")):
        assert page_text(result) == page_text(result)
    assert page_text(race(max_evaluations=100)) == page_text(race(max_evaluations=100))


def test_a_page_of_thousands_of_arms_takes_no_memory_by_pairs(page_text: Callable[[Any], str]) -> None:
    rng = np.random.default_rng(0)
    rows = 0.5 + 0.1 * rng.standard_normal((50, 1)) + 0.1 * rng.standard_normal((50, 5000)) - np.linspace(0, 0.4, 5000)
    rows = np.clip(rows, 0.0, 1.0)
    result = race(lambda arm, item: float(rows[item, arm]), range(50), range(5000))
    assert result.n_rounds == 50
    tracemalloc.start()
    try:
        text = page_text(result)
        str(result)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6  # a number for each pair would take 200 MB
    assert len(text) < 3e6
    assert text.count("<tr") == 5002


# --- a notebook ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", ["bounded pool", "gaussian", "undecided", "nothing known", "lucb", "disqualified", "200 arms", "hostile"]
)
def test_a_notebook_shows_verdict_table_and_picture_in_a_fragment_of_its_own(case: str) -> None:
    result, text = result_of(case), result_of(case)._repr_html_()
    tree = fromstring(text.replace("<br>", "<br/>"))  # noqa: S314
    assert (tree.tag, tree.get("class")) == ("div", "bestarm")
    check_safe(tree)
    first, *second = result.verdict.splitlines()
    assert text_of(next(tree.iter("b"))) == " ".join(first.split())
    assert not second or " ".join(second[0].split()) in text_of(tree)
    assert len(pictures(tree)) == (result.leader is not None)
    assert rows_of(tree) == rows_of(page_of(case))
    styles = [node for node in tree.iter("style") if raw(node).strip() and not raw(node).startswith("*{")]
    for rule in re.findall(r"([^{}]+)\{", "".join(map(raw, styles))):
        assert all(part.strip().startswith(".bestarm") for part in rule.split(","))  # nothing else of the notebook
    assert text == result._repr_html_()


# --- how scores move together ----------------------------------------------------------------------------------------


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
    [{}, {"live": True}, {"bounds": None, "comparison": StudentMixture()}, {"lower_is_better": True}],
    ids=str,
)
def test_the_page_shows_the_correlations_of_a_slow_reference(more: dict[str, Any]) -> None:
    result = recorded(mixed(), **more)
    tree = parsed(result)
    slow = np.array([[1.0 if i == j else slow_correlation(shared(result, i, j)) for j in range(5)] for i in range(5)])
    assert np.isnan(slow[2]).sum() == 4
    (said,) = (text_of(node) for node in tree.iter("p") if "The median correlation" in text_of(node))
    median = statistics.median(value for value in slow[np.tril_indices(5, -1)] if not math.isnan(value))
    assert_shown(said.split("over pairs of the first 5 arms, is ")[1].rstrip("."), median)
    rects = [node for node in tree.iter("rect") if len(node)]
    assert len(rects) == 25
    for rect in rects:
        i, j, value = re.findall(r"arm (\d), arm (\d): (.*)", rect[0].text)[0]
        correlation = slow[int(i), int(j)]
        far = (0, 114, 178) if correlation >= 0 else (213, 94, 0)
        blend = [round(255 + (part - 255) * abs(correlation)) for part in far] if value != "unknown" else ()
        assert rect.get("fill") == ("#{:02x}{:02x}{:02x}".format(*blend) if blend else "#e4e7ea")
        assert (blend == ()) == math.isnan(correlation)
        if blend:
            assert_shown(value, correlation)


def test_correlations_are_drawn_of_few_arms_that_differ_and_said_where_something_is_known() -> None:
    title, median = "How scores move together", "The median correlation"
    assert title in summaries(page_of("200 arms"))
    assert median in text_of(page_of("200 arms"))
    assert cells_of(result_of("200 arms")) == []
    alike = recorded(0.2 + 0.5 * np.random.default_rng(1).random((300, 1)) - [[0.0, 0.05, 0.1]])
    assert (title in summaries(parsed(alike)), cells_of(alike)) == (True, [])
    for case in ("tied", "two rounds", "nothing known"):
        assert title not in summaries(page_of(case))


def cells_of(result: Any) -> list[tuple[str, str]]:
    """The colours and texts of the correlations on a page."""
    return [(rect.get("fill"), rect[0].text) for rect in parsed(result).iter("rect") if len(rect)]


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_correlations_do_not_depend_on_the_unit_of_the_scores(size: float) -> None:
    found, usual = (recorded(unit * mixed(), bounds=None, comparison=StudentMixture()) for unit in (size, 1.0))
    assert cells_of(found) == cells_of(usual) != []


def test_a_warning_about_the_data_is_not_repeated_by_the_page() -> None:
    result = recorded((scores() > 0.45).astype(float), bounds=None, comparison=StudentMixture())
    with warnings.catch_warnings(action="error"):
        parsed(result)
        result._repr_html_()
