"""What a race has found: the answer, why, for how much, and how sure."""

import json
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import DataWarning, Elimination, Game, Intervals
from bestarm.racing.course import Course, Failure, Past
from bestarm.racing.entrants import hashable, name_of
from bestarm.racing.settings import RaceSettings, missing_setting, settings_from
from bestarm.racing.store import StoreError, damaged, read_store

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ANSWERS = ("decided", "within epsilon", "pool exhausted")
TIE = 1e-12  # means over a whole pool that differ by no more are equal up to rounding


@dataclass(frozen=True)
class RaceElimination:
    """An arm that was beaten: in which round, by whom, by how much its boundary was exceeded.

    Where a convex combination of arms beat it, ``weights`` holds them by arm, and ``by`` is the heaviest.
    """

    arm: Any
    round: int
    by: Any
    margin: float
    weights: dict[Any, float] | None = None


@dataclass(frozen=True)
class Disqualification:
    """An arm that could not be evaluated: in which round, why, and whom it had eliminated before."""

    arm: Any
    round: int
    failure: str
    had_eliminated: tuple[Any, ...]


@dataclass(frozen=True)
class RaceResult:
    """The result of a race, finished or not; its text form is a table.

    Attributes
    ----------
    best : the candidate with the best mean: the answer of a race that is decided
    candidates : the arms that may still be the best, the best mean first
    reason : ``"decided"``, ``"within epsilon"``, ``"pool exhausted"`` (means over all items are known), ``"budget"``,
        ``"items exhausted"`` (of a stream), or ``"interrupted"``
    n_queries, n_rounds : evaluations asked for, and rounds absorbed
    eliminations, disqualified : who left when, and why
    saved : the share of evaluations that was not needed, where the number of items is known
    arms, means, counts, scores : the arms, their means and numbers of items, and all scores (NaN where not asked)
    settings : of the race, as plain values

    """

    arms: tuple[Any, ...]
    best: Any
    candidates: tuple[Any, ...]
    reason: str
    n_queries: int
    n_rounds: int
    eliminations: tuple[RaceElimination, ...]
    disqualified: tuple[Disqualification, ...]
    saved: float | None
    means: NDArray[np.float64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    scores: NDArray[np.float64] = field(repr=False)
    settings: dict[str, Any] = field(repr=False)
    contradiction: RaceElimination | None = field(repr=False)
    race_settings: RaceSettings = field(repr=False)
    failures: tuple[Failure, ...] = field(repr=False)

    def replayed(self) -> Course:
        """A new course with the settings of the race, to be played from its scores."""
        algorithm = self.race_settings.algorithm
        return Course(algorithm.start(len(self.arms)), self.race_settings, iter(()))

    def play(self, course: Course, last: int) -> None:
        """Play such a course up to a round, as the race went."""
        failures: dict[int, dict[int, str]] = {}
        for failure in self.failures:
            failures.setdefault(failure.round, {})[failure.arm] = failure.text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # was said when the race ran
            course.play_until(last, self.scores, failures)

    @cached_property
    def _game(self) -> Game:
        """The game as it stood: the race itself may have gone on."""
        course = self.replayed()
        self.play(course, self.n_rounds)
        for failure in self.failures:
            if failure.round > self.n_rounds and not course.game.finished:  # they ended the race before their round
                course.game.disqualify(failure.arm)
        return course.game

    @cached_property
    def regret_bound(self) -> float:
        """No arm is better than `best` by more than this, with probability at least ``1 - delta``; NaN if unknown."""
        if len(self.candidates) == 1:
            return 0.0
        bound = self._game.regret_bound if self.n_rounds else math.inf
        return math.nan if bound is None else bound

    @cached_property
    def intervals(self) -> Intervals | None:
        """Simultaneous intervals for all pairs: ``[i, j]`` is by how much arm ``j`` is better than arm ``i``.

        At level delta, at all times together, from the rounds that both shared. None where the algorithm keeps no
        statistics of differences.
        """
        return self._game.intervals()

    @property
    def delta(self) -> float:
        """The probability of error allowed."""
        return float(self.settings["algorithm"].get("delta", math.nan))

    @property
    def verdict(self) -> str:
        """The answer in a sentence or two."""
        from bestarm.racing.words import verdict

        return verdict(self)

    def __str__(self) -> str:
        from bestarm.racing.words import text_table

        return text_table(self)

    def to_records(self) -> list[dict[str, Any]]:
        """One record an arm, the best first: mean, items, how far behind the best on the items they share, its end."""
        return [self._record(arm) for arm in self.order]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The numbers of the arms: candidates by their means, then those that left last."""
        sign = 1.0 if self.settings["lower_is_better"] else -1.0
        standing = [k for k, arm in enumerate(self.arms) if any(arm is other for other in self.candidates)]
        standing.sort(key=lambda k: (self.arms[k] is not self.best, sign * self.means[k]))  # ties up to rounding
        left = [k for k in range(len(self.arms)) if k not in standing]
        left.sort(key=lambda k: (-self.counts[k], sign * self.means[k]))
        return (*standing, *left)

    def behind(self, arm: int) -> float:
        """By how much an arm (its number) is behind the best on the items that both were evaluated on."""
        leads = self.scores[:, self.order[0]] - self.scores[:, arm]
        shared = leads[~np.isnan(leads)]
        if shared.size == 0:
            return math.nan
        lead = float(shared.mean())
        return -lead if self.settings["lower_is_better"] else lead

    def _record(self, k: int) -> dict[str, Any]:
        arm = self.arms[k]
        out = next((out for out in self.eliminations if out.arm is arm), None)
        failed = next((out for out in self.disqualified if out.arm is arm), None)
        gone = out or failed
        return {
            "arm": arm,
            "status": "out" if out else "disqualified" if failed else self._standing(arm),
            "mean": float(self.means[k]),
            "items": int(self.counts[k]),
            "behind": self.behind(k),
            "round": gone.round if gone else None,
            "beaten_by": out.by if out else None,
            "margin": out.margin if out else None,
            "failure": failed.failure if failed else None,
        }

    def _standing(self, arm: Any) -> str:
        """What an arm is that is still in."""
        if arm is not self.best:
            return "candidate"
        return "best" if self.reason in ANSWERS else "leader"

    def to_frame(self) -> "pd.DataFrame":
        """The table as a pandas DataFrame, one row an arm (needs the extra ``bestarm[frames]``)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install 'bestarm[frames]'") from error
        return pd.DataFrame(self.to_records()).set_index("arm")

    def to_json(self, path: str | Path | None = None) -> str:
        """All but the single scores as JSON, written to a file if one is given; what is not a number is null."""
        plain = {
            "verdict": self.verdict,
            "best": self.best,
            "candidates": self.candidates,
            "reason": self.reason,
            "n_queries": self.n_queries,
            "n_rounds": self.n_rounds,
            "saved": self.saved,
            "regret_bound": self.regret_bound,
            "arms": self.to_records(),
            "eliminations": [vars(out) for out in self.eliminations],
            "disqualified": [vars(out) for out in self.disqualified],
            "settings": self.settings,
        }
        text = json.dumps(_jsonable(plain), indent=2, ensure_ascii=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        return text

    def plot(self) -> "Figure":
        """Who left when and beaten by whom, and the leader's lead over the rounds, as a matplotlib figure."""
        from bestarm.racing.figure import race_figure

        return race_figure(self)

    def to_html(self, path: str | Path) -> None:
        """Write one self-contained HTML page: the verdict, the race as a picture, the table, what is guaranteed."""
        from bestarm.racing.page import write_page

        write_page(self, path)


def summarise(course: Course, labels: tuple[Any, ...]) -> RaceResult:
    """The result of a race as it stands."""
    game, settings = course.game, course.settings
    candidates, settled = _settled(course)
    leader = _leader(game, candidates)
    eliminations = [_named(out, labels) for out in [*game.eliminations, *settled]]
    contradiction = None if game.n_rounds == 0 else game.contradiction
    means = game.means
    if settings.lower_is_better:
        means = -means if game.bounds is None else sum(game.bounds) - means
    by_mean = sorted(candidates, key=lambda arm: (arm != leader, -game.means[arm] if game.n_rounds else 0.0))
    return RaceResult(
        arms=labels,
        best=None if leader is None else labels[leader],
        candidates=tuple(labels[arm] for arm in by_mean),
        reason=course.reason or "interrupted",
        n_queries=course.spent,
        n_rounds=game.n_rounds,
        eliminations=tuple(eliminations),
        disqualified=tuple(
            Disqualification(
                labels[failure.arm],
                failure.round,
                failure.text,
                tuple(out.arm for out in eliminations if out.by is labels[failure.arm]),
            )
            for failure in course.disqualified
        ),
        saved=None if settings.n_items is None else 1.0 - course.spent / (settings.n_items * len(labels)),
        means=means,
        counts=game.counts,
        scores=course.scores(),
        settings=settings.to_json(),
        contradiction=None if contradiction is None else _named(contradiction, labels),
        race_settings=settings,
        failures=tuple(course.disqualified),
    )


def _settled(course: Course) -> tuple[tuple[int, ...], list[Elimination]]:
    """The candidates; when a comparison without a pool has seen all items, those with the best mean over them."""
    game = course.game
    if course.reason != "pool exhausted" or game.finished or game.n_rounds == 0:
        return game.candidates, []
    best = game.best
    lead = game.means[best] - game.means
    behind = [arm for arm in game.candidates if lead[arm] > TIE * max(1.0, abs(game.means[best]))]
    out = [Elimination(arm=arm, round=game.n_rounds, by=best, margin=float(lead[arm])) for arm in behind]
    return tuple(arm for arm in game.candidates if arm not in behind), out


def _leader(game: Game, candidates: Iterable[int]) -> int | None:
    if game.n_rounds > 0:
        return game.best
    standing = tuple(candidates)
    return standing[0] if len(standing) == 1 else None  # all others were disqualified in the first round


def _named(out: Elimination, labels: tuple[Any, ...]) -> RaceElimination:
    key = [label if hashable(label) else name_of(label) for label in labels]
    weights = None if out.weights is None else {key[arm]: weight for arm, weight in out.weights.items()}
    return RaceElimination(labels[out.arm], out.round, labels[out.by], out.margin, weights)


def _jsonable(value: Any) -> Any:
    """Plain values: text for what JSON does not know, null for what is not a finite number."""
    if isinstance(value, Mapping):
        return {name_of(name): _jsonable(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_jsonable(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else name_of(value)


def load_result(path: str | Path) -> RaceResult:
    """The result of a race on disk, finished or not; the file is left as it is."""
    stored = read_store(path)
    if (lack := missing_setting(stored.settings)) is not None:
        raise damaged(Path(path), lack)
    try:
        settings = settings_from(stored.settings)
    except (ValueError, TypeError) as error:
        raise StoreError(f"the race in {path} cannot be shown: {error}") from error
    labels = {number: item for number, item, _ in stored.rounds}
    known = [labels.get(number, "") for number in range(1, max(labels, default=0) + 1)]
    more = () if stored.settings["reason"] == "items exhausted" else repeat("")
    items = islice(chain(known, more), settings.n_items)
    course = Course(settings.algorithm.start(len(stored.arms)), settings, items)
    try:
        course.restore(Past(stored, len(stored.arms)))
    except StoreError as error:
        raise StoreError(f"the race in {path} cannot be read, {error}") from error
    return summarise(course, stored.arms)
