"""Do the pages of results hold in a real browser? ``python benchmarks/page_check.py``

Renders pages of synthetic races (two arms with hostile names, up to 200 arms, long names, an unfinished race, ...) in
headless Chromium at 390 and 1280 pixels, saves screenshots, and looks from inside the browser: nothing is wider than
the window, all pictures are there with their labels inside and readable, nothing is loaded, no name became a script.
Windows of headless Chromium are at least 500 pixels wide, so pages are put into a frame of the width wanted; what its
``innerWidth`` really is stands in the table. Exits with 1 if a page fails, with 2 if there is no Chromium.
"""

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import bestarm
from bestarm.comparisons import StudentMixture

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTHS = (390, 1280)
NARROWEST_WINDOW = 500
HIGHEST_PICTURE = 12_000  # pixels of a screenshot
SMALLEST_TEXT = 9.0  # pixels that can be read on a phone

FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>frame</title></head>
<body style="margin: 0; background: #777">
<iframe id="page" style="border: 0; display: block" width="{width}" height="{height}" srcdoc="{page}"></iframe>
<pre id="measured" style="display: none"></pre>
<script>{probe}</script>
</body></html>
"""

# Written into the frame's outside: the page itself stays as it is.
PROBE = """
window.onload = () => {
  const view = document.getElementById("page").contentWindow, doc = view.document, root = doc.documentElement;
  const all = [...doc.body.querySelectorAll("*")];
  const described = (e) => `${e.tagName.toLowerCase()}.${e.getAttribute("class") || ""}`;
  const clipped = (e) => {
    for (let p = e.parentElement; p && p !== doc.body; p = p.parentElement)
      if (view.getComputedStyle(p).overflowX !== "visible") return true;
    return false;
  };
  const outside = all.filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && (box.right > root.clientWidth + 0.5 || box.left < -0.5) && !clipped(e);
  });
  const cut = [], texts = [];
  for (const text of doc.querySelectorAll("svg text")) {
    const box = text.getBBox(), whole = text.ownerSVGElement.viewBox.baseVal;
    texts.push(parseFloat(view.getComputedStyle(text).fontSize) * text.getScreenCTM().a);
    const right = whole.x + whole.width, bottom = whole.y + whole.height;
    if (box.x < whole.x || box.y < whole.y || box.x + box.width > right || box.y + box.height > bottom)
      cut.push(text.textContent);
  }
  const hits = [];
  for (const picture of doc.querySelectorAll("svg")) {
    const boxes = [...picture.querySelectorAll("text")].map((t) => [t.textContent, t.getBBox()]);
    boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
      const wide = Math.min(p.x + p.width, q.x + q.width) - Math.max(p.x, q.x);
      const high = Math.min(p.y + p.height, q.y + q.height) - Math.max(p.y, q.y);
      if (wide > 1 && high > 4) hits.push(`${a} and ${b}`);
    }));
  }
  for (const e of all)
    if (!e.ownerSVGElement && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
      texts.push(parseFloat(view.getComputedStyle(e).fontSize));
  const filled = (selector) => [...doc.querySelectorAll(selector)].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width >= 1 && box.height >= 1;
  }).length;
  const scrolled = [...doc.querySelectorAll(".scroll")].filter((e) => e.scrollWidth > e.clientWidth);
  document.getElementById("measured").textContent = JSON.stringify({
    innerWidth: view.innerWidth,
    scrollWidth: Math.max(root.scrollWidth, doc.body.scrollWidth),
    height: root.scrollHeight,
    pictures: filled("svg"),
    lines: [...doc.querySelectorAll("polyline")].filter((e) => e.getBBox().width > 0).length,
    bars: filled(".bar"),
    rows: filled("tbody tr"),
    smallestText: Math.min(...texts),
    outside: outside.map(described),
    scrolled: scrolled.length,
    cut,
    hits,
    active: doc.querySelectorAll("script, img, iframe, object, embed, link").length,
    loaded: view.performance.getEntriesByType("resource").length,
    hostile: Boolean(window.hostile),
  });
};
"""


@dataclass(frozen=True)
class Page:
    """A page, and what must be in it."""

    name: str
    text: str
    n_arms: int
    pictures: int


def page_of(name: str, result: bestarm.RaceResult[Any], pictures: int, folder: Path) -> Page:
    """The page of a result as users write it."""
    result.to_html(folder / "page.html")
    return Page(name, (folder / "page.html").read_text(encoding="utf-8"), len(result.arms), pictures)


def correlated(n_arms: int, n_items: int, seed: int, noise: float = 0.2) -> NDArray[np.float64]:
    """Scores in [0, 1] that share most of their noise; every arm is a little worse than the one before it."""
    rng = np.random.default_rng(seed)
    level = 0.6 - 0.3 * np.sqrt(np.arange(n_arms) / n_arms)
    scores = level + 0.2 * rng.standard_normal((n_items, 1)) + noise * rng.standard_normal((n_items, n_arms))
    return np.clip(scores, 0.0, 1.0)


HOSTILE = [
    "<script>parent.hostile = 1</script>",
    "\"'><img src=x onerror=\"parent.hostile = 1\"> & 'quotes' </title></style></svg>",
]
LONG = [
    "x" * 200,
    "prog --threads 8 --level 9 " * 7 + "--input {item}",
    "/a/path/without/any/space/" * 7 + "to/the/end.tar.gz",
    "長い名前" * 50,
    "ünïcödé-🐍-" * 18,
    "W" * 200,
    "two\nlines\tand a tab " + "l" * 180,
    "\u202eright to left " + "r" * 185,
]


def failing(arm: str, item: int) -> float:
    """Constant scores; some arms cannot be evaluated."""
    if arm == "broken at once" or (arm == "broken later" and item % 20 == 7):
        raise OSError(f"/no/such/folder/{'deep/' * 30}file {item} of <{arm}>")
    return {"good": 0.6, "broken later": 0.62}.get(arm, 0.4) + 0.1 * (item % 3) + 0.1 * (item * len(arm) % 7) / 7


def pages(folder: Path) -> list[Page]:
    """What a page must stand."""
    usual: dict[str, Any] = {"bounds": (0.0, 1.0)}
    five = ["baseline", "larger model", "prompt B", "prompt C", "self-consistency"]

    def made(name: str, result: bestarm.RaceResult[Any], pictures: int = 2) -> Page:
        return page_of(name, result, pictures, folder)

    race_table: Callable[..., bestarm.RaceResult[Any]] = bestarm.race_table
    times = 2.5e9 + 3e8 * correlated(4, 4_000, 5)
    nobody = bestarm.Race(["one", "two"], items=range(10), bounds=(0, 1))
    short = bestarm.race_table(correlated(3, 2, 8), **usual)
    return [
        made("2 arms, hostile names", race_table(correlated(2, 2_000, 0), arms=HOSTILE, **usual)),
        made(
            "5 arms, undecided",
            bestarm.race(_looked_up(five), arms=five, items=range(2_000), max_evaluations=120, progress=False),
        ),
        made("24 arms", race_table(correlated(24, 6_000, 2), arms=[f"setting {k}" for k in range(24)], **usual)),
        made("200 arms", race_table(correlated(200, 3_000, 3), arms=[f"design-{k:03}" for k in range(200)], **usual)),
        made("names of 200 characters", race_table(correlated(8, 3_000, 4), arms=LONG, **usual)),
        made("nanoseconds", race_table(times, arms=list("abcd"), comparison=StudentMixture(), lower_is_better=True)),
        made(
            "tiny scores",
            race_table(1e-21 * times, arms=list("abcd"), comparison=StudentMixture(), lower_is_better=True),
        ),
        made("arms that fail", _with_failures()),
        made("two rounds", short, pictures=1),
        made("no complete round", nobody.result(), pictures=0),
    ]


def _looked_up(arms: list[str]) -> Callable[[str, int], float]:
    scores = correlated(len(arms), 2_000, 1)
    return lambda arm, item: float(scores[item, arms.index(arm)])


def _with_failures() -> bestarm.RaceResult[Any]:
    arms = ["broken at once", "good", "broken later", "worse"]
    return bestarm.race(failing, arms=arms, items=range(500), bounds=(0, 1), on_error="disqualify", progress=False)


class Browser:
    """Headless Chromium with a profile of its own."""

    def __init__(self, program: str, folder: Path) -> None:
        self._program = program
        self._folder = folder

    def measure(self, page: Page, width: int) -> dict[str, Any]:
        """What the page looks like from inside, in a frame of this width."""
        dom = self._open(page, width, 844, "--dump-dom")
        found = re.search(r'<pre id="measured"[^>]*>(.*?)</pre>', dom, re.DOTALL)
        if found is None or not found[1]:
            raise RuntimeError(f"the browser measured nothing on the page of {page.name}")
        measured: dict[str, Any] = json.loads(html.unescape(found[1]))
        return measured

    def photograph(self, page: Page, width: int, height: int, picture: Path) -> None:
        """The page as a picture, down to a limit."""
        self._open(page, width, min(height, HIGHEST_PICTURE), f"--screenshot={picture.resolve()}")

    def _open(self, page: Page, width: int, height: int, *options: str) -> str:
        frame = self._folder / "frame.html"
        text = FRAME.format(width=width, height=height, page=html.escape(page.text), probe=PROBE)
        frame.write_text(text, encoding="utf-8")
        program = [
            self._program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={self._folder / 'profile'}",
            f"--window-size={max(width, NARROWEST_WINDOW)},{height}",
            *options,
            frame.as_uri(),
        ]
        return subprocess.run(program, check=True, capture_output=True, encoding="utf-8", timeout=120).stdout


def faults(page: Page, width: int, seen: dict[str, Any]) -> list[str]:
    """What is wrong with a page, in words."""
    wrong = []
    if seen["innerWidth"] != width:
        wrong.append(f"the frame is {seen['innerWidth']} wide")
    if seen["scrollWidth"] > width or seen["outside"]:
        wrong.append(f"wider than the window: {', '.join(sorted(set(seen['outside']))) or seen['scrollWidth']}")
    if seen["scrolled"]:
        wrong.append("the table is wider than the page")
    if seen["pictures"] != page.pictures:
        wrong.append(f"{page.pictures} pictures expected")
    if seen["lines"] != (page.pictures > 0):
        wrong.append("the line of the lead is not drawn")
    if not seen["bars"] == seen["rows"] == page.n_arms:
        wrong.append(f"{seen['bars']} bars and {seen['rows']} rows for {page.n_arms} arms")
    if seen["smallestText"] < SMALLEST_TEXT:
        wrong.append(f"text of {seen['smallestText']:.1f} pixels")
    if seen["cut"]:
        wrong.append(f"labels cut off: {', '.join(seen['cut'][:3])}")
    if seen["hits"]:
        wrong.append(f"labels on top of each other: {', '.join(seen['hits'][:3])}")
    if seen["active"] or seen["loaded"] or seen["hostile"]:
        wrong.append("not self-contained, or a name was taken for markup")
    return wrong


def main() -> None:
    """Render, look, print one row per page and width."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("figures/pages"), help="folder for the screenshots")
    parser.add_argument("--only", default="", help="only pages with this in their name")
    arguments = parser.parse_args()
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print(f"no browser: none of {', '.join(BROWSERS)} is on the PATH", file=sys.stderr)
        sys.exit(2)
    arguments.output.mkdir(parents=True, exist_ok=True)
    table = Table(title="pages in a browser")
    for heading in ("page", "width", "innerWidth", "scrollWidth", "height", "pictures", "smallest text", "ok"):
        table.add_column(heading, justify="left" if heading in ("page", "ok") else "right")
    failed = False
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, Path(folder))
        for page in [page for page in pages(Path(folder)) if arguments.only in page.name]:
            for width in WIDTHS:
                seen = browser.measure(page, width)
                name = re.sub(r"\W+", "-", page.name)
                browser.photograph(page, width, seen["height"], arguments.output / f"{name}-{width}.png")
                wrong = faults(page, width, seen)
                failed = failed or bool(wrong)
                numbers = [f"{seen[key]:,}" for key in ("innerWidth", "scrollWidth", "height", "pictures")]
                text = f"{seen['smallestText']:.1f}"
                table.add_row(page.name, f"{width:,}", *numbers, text, "; ".join(wrong) or "yes")
    console = Console(width=140)
    console.print(table)
    console.print(f"Screenshots are in {arguments.output}.")
    sys.exit(failed)


if __name__ == "__main__":
    main()
