"""What a race has found: the answer, why, for how much, and how sure."""

import json
import math
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import DataWarning, Elimination, Game, Guarantee, Intervals
from bestarm.inputs.plain import jsonable
from bestarm.inputs.texts import hashable, name_of
from bestarm.racing.record import Record
from bestarm.racing.replay import Failure, replay
from bestarm.racing.settings import RaceSettings, start_game

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ANSWERS = ("decided", "within epsilon", "pool exhausted")
TIE = 1e-12  # means over a whole pool that differ by no more are equal up to rounding


@dataclass(frozen=True)
class Disqualification:
    """An arm that could not be evaluated: in which round, why, and whom it had eliminated before."""

    arm: Any
    round: int
    failure: str
    had_eliminated: tuple[Any, ...]


@dataclass(frozen=True)
class Outcome:
    """How a race stands, by the numbers of its arms."""

    leader: int | None
    candidates: tuple[int, ...]  # the leader first, then by their means
    eliminations: tuple[Elimination[int], ...]
    failures: tuple[Failure, ...]  # those that disqualified an arm
    contradiction: Elimination[int] | None


@dataclass(frozen=True, eq=False)
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
    settings : all that decides the course of the race besides its scores
    bounds : the interval that scores had to lie in, if there was one
    guarantee : what the race promises, and what it assumes
    record : what was scored, round by round
    outcome : the same as best, candidates and eliminations, by the numbers of the arms

    """

    arms: tuple[Any, ...]
    reason: str
    n_queries: int
    n_rounds: int
    means: NDArray[np.float64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    outcome: Outcome
    settings: RaceSettings = field(repr=False)
    bounds: tuple[float, float] | None = field(repr=False)
    guarantee: Guarantee = field(repr=False)
    record: Record = field(repr=False)

    @property
    def best(self) -> Any:
        """The candidate with the best mean; None before the first round."""
        return None if self.outcome.leader is None else self.arms[self.outcome.leader]

    @property
    def candidates(self) -> tuple[Any, ...]:
        """The arms that may still be the best, the best mean first."""
        return tuple(self.arms[arm] for arm in self.outcome.candidates)

    @cached_property
    def eliminations(self) -> tuple[Elimination[Any], ...]:
        """Who was beaten when, and by whom."""
        return tuple(self._labelled(out) for out in self.outcome.eliminations)

    @property
    def disqualified(self) -> tuple[Disqualification, ...]:
        """Who could not be evaluated, and why."""
        return tuple(
            Disqualification(
                self.arms[failure.arm],
                failure.round,
                failure.text,
                tuple(self.arms[out.arm] for out in self.outcome.eliminations if out.by == failure.arm),
            )
            for failure in self.outcome.failures
        )

    @property
    def contradiction(self) -> Elimination[Any] | None:
        """The evidence against the best, if a round beat every candidate that was left."""
        against = self.outcome.contradiction
        return None if against is None else self._labelled(against)

    def _labelled(self, out: Elimination[int]) -> Elimination[Any]:
        key = [label if hashable(label) else name_of(label) for label in self.arms]
        if len(set(key)) < len(key):  # 1, 1.0 and True are one key
            key = [name_of(label) for label in self.arms]
        weights = None if out.weights is None else {key[arm]: weight for arm, weight in out.weights.items()}
        return Elimination(self.arms[out.arm], out.round, self.arms[out.by], out.margin, weights)

    @property
    def saved(self) -> float | None:
        """The share of evaluations that was not needed, where the number of items is known."""
        n_items = self.settings.n_items
        return None if n_items is None else 1.0 - self.n_queries / (n_items * len(self.arms))

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """All scores, one row per round and one column per arm; NaN where an arm was not asked."""
        scores = self.record.dense(1, self.n_rounds, len(self.arms))
        scores.setflags(write=False)
        return scores

    def new_game(self) -> Game:
        """A game by the rules of the race, before its first round."""
        return start_game(self.settings, len(self.arms))

    def play(self, game: Game, last: int) -> None:
        """Play such a game through the rounds of the race up to the last, as the race went."""
        failures: dict[int, dict[int, str]] = {}
        for failure in self.outcome.failures:
            failures.setdefault(failure.round, {})[failure.arm] = failure.text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # was said when the race ran
            replay(game, self.record, failures, last, self.settings.lower_is_better)

    @cached_property
    def _game(self) -> Game:
        """The game as it stood: the race itself may have gone on."""
        game = self.new_game()
        self.play(game, self.n_rounds)
        for failure in self.outcome.failures:
            if failure.round > self.n_rounds and not game.finished:  # they ended the race before their round
                game.disqualify(failure.arm)
        return game

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
        return self.guarantee.delta

    @property
    def verdict(self) -> str:
        """The answer in a sentence or two."""
        from bestarm.report.words import verdict

        return verdict(self)

    def __str__(self) -> str:
        from bestarm.report.words import text_table

        return text_table(self)

    def to_records(self) -> list[dict[str, Any]]:
        """One record per arm, the best first: mean, items, how far behind the best on the items they share, its end."""
        return [self._record(arm) for arm in self.order]

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The numbers of the arms: candidates by their means, then those that left last."""
        sign = 1.0 if self.settings.lower_is_better else -1.0
        leader, standing = self.outcome.leader, self.outcome.candidates
        first = sorted(standing, key=lambda arm: (arm != leader, sign * self.means[arm], arm))  # ties up to rounding
        left = [arm for arm in range(len(self.arms)) if arm not in standing]
        return (*first, *sorted(left, key=lambda arm: (-self.counts[arm], sign * self.means[arm])))

    def behind(self, arm: int) -> float:
        """By how much an arm (its number) is behind the best on the items that both were evaluated on."""
        leads = self.scores[:, self.order[0]] - self.scores[:, arm]
        shared = leads[~np.isnan(leads)]
        if shared.size == 0:
            return math.nan
        lead = float(shared.mean())
        return -lead if self.settings.lower_is_better else lead

    def _record(self, arm: int) -> dict[str, Any]:
        out = next((out for out in self.outcome.eliminations if out.arm == arm), None)
        failed = next((failure for failure in self.outcome.failures if failure.arm == arm), None)
        gone = out or failed
        return {
            "arm": self.arms[arm],
            "status": "disqualified" if failed and not out else self._standing(arm),
            "mean": float(self.means[arm]),
            "items": int(self.counts[arm]),
            "behind": self.behind(arm),
            "round": gone.round if gone else None,
            "beaten_by": self.arms[out.by] if out else None,
            "margin": out.margin if out else None,
            "failure": failed.text if failed else None,
        }

    def _standing(self, arm: int) -> str:
        """What an arm is: out, a candidate, or the first of them."""
        if arm not in self.outcome.candidates:
            return "out"
        if arm != self.outcome.leader:
            return "candidate"
        return "best" if self.reason in ANSWERS else "leader"

    def to_frame(self) -> "pd.DataFrame":
        """The table as a pandas DataFrame, one row per arm (needs the extra ``bestarm[frames]``)."""
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
            "settings": self.settings.to_plain(),
        }
        text = json.dumps(jsonable(plain), indent=2, ensure_ascii=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
        return text

    def plot(self) -> "Figure":
        """Who left when and beaten by whom, and the leader's lead over the rounds, as a matplotlib figure."""
        from bestarm.report.figure import race_figure

        return race_figure(self)

    def to_html(self, path: str | Path) -> None:
        """Write one self-contained HTML page: the verdict, the race as a picture, the table, what is guaranteed."""
        from bestarm.report.page import write_page

        write_page(self, path)
