"""What a race has found: the answer, why, at what cost, and how sure."""

import math
import warnings
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Elimination, Game, Guarantee, Intervals, Lead, Reason
from bestarm.algorithms.game import Arm
from bestarm.errors import AssumptionWarning
from bestarm.files import write_text
from bestarm.record.record import ByArm, Record
from bestarm.record.replay import Outage, replay, reward_transform
from bestarm.record.settings import RaceSettings, Target, start_game, target_of, unit_of
from bestarm.result.explanation import explanation
from bestarm.result.history import EvidenceHistory, evidence_history
from bestarm.result.outcome import (
    ArmRecord,
    Breakdown,
    Disqualification,
    FailureCount,
    RaceOutcome,
    breakdown_of,
    disqualifications_of,
    failure_counts,
    with_labels,
)
from bestarm.result.page import fragment, page
from bestarm.result.population import ForPopulation, for_population, widest_lead
from bestarm.result.shape import Shape
from bestarm.result.table import result_json, table_lines, text_form, verdict_lines
from bestarm.sources.items import RaceArms
from bestarm.text import label_text, short_repr, with_noun

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class RaceResult(Generic[Arm]):
    """The result of a race, finished or not; its text form is a table. ``result["name"]`` is the record of one arm.

    Attributes
    ----------
    answered : whether the race has its answer
    best : the answer; None unless the race is answered
    leader : the candidate with the best mean, answered or not; None before the first round
    candidates : the arms that may still be the best, the best mean first
    target : what these are about: the ``"items"`` of the list, or the ``"population"`` behind it
    for_population : candidates and regret bound for items like these
    reason : why the race ended: ``"decided"``, ``"within epsilon"`` or ``"all items used"``, which are answers;
        ``"budget"``, ``"ran out of items"`` (of a stream), ``"interrupted"``, ``"outage"``; or ``"running"``
    n_evaluations, n_rounds : evaluations asked for, and rounds that are complete
    eliminations, disqualified : who left when, and why
    failures : how many evaluations failed and were retried, count as worst, timed out or disqualified, by arm
    breakdown : None, or that every evaluation of a round failed, or more than half of all
    outage : None, or the round in which no candidate could be evaluated, which ended the race
    saved : the share of evaluations that was not needed, where the race is answered and the number of items is known
    arms, means, counts : the arms, and of each the mean of its scores and their number (of groups: how many groups).
        All of the record up to round ``n_rounds`` count, also those in flight when an arm left
    scores, items : all scores, one row per round and one column per arm (NaN where not asked); the items of the rows
    warnings : scores that do not look the way the test assumes, and what to do
    shapes : where the test assumes nearly Gaussian differences, how they look for each pair that decided something
    settings : all that decides the course of the race besides its scores
    bounds : the interval that scores had to lie in, if there was one
    guarantee : what the race promises, and what it assumes
    record : what was scored, round by round
    outcome : leader, candidates and eliminations by the numbers of the arms
    complete : whether all arms have scores on all items, as in a recorded table; ``n_evaluations`` is then how many of
        them the race needed

    """

    arms: tuple[Arm, ...]
    reason: Reason
    n_evaluations: int
    n_rounds: int
    means: NDArray[np.float64]
    counts: NDArray[np.int64]
    outcome: RaceOutcome
    settings: RaceSettings
    bounds: tuple[float, float] | None
    guarantee: Guarantee
    record: Record
    warnings: tuple[str, ...] = ()
    shapes: tuple[Shape[Arm], ...] = ()
    outage: Outage | None = None
    complete: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: without the game, which may be the user's own, and what was worked out."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        leader = short_repr(self.leader)
        found = f"best={leader}" if self.answered else f"leader={leader}, {len(self.candidates)} candidates"
        spent = f"{with_noun(self.n_evaluations, 'evaluation')}, {with_noun(self.n_rounds, 'round')}"
        return f"<RaceResult {self.reason}: {found}, {spent}>"

    @property
    def answered(self) -> bool:
        """Whether the race has its answer: decided, within epsilon, or all items used, and not mostly on failures."""
        failing = self.breakdown is not None and self.breakdown.no_answer
        return self.reason.answers and self.outcome.leader is not None and not failing

    @property
    def best(self) -> Arm | None:
        """The answer; None unless the race is answered.

        Of a race that ended within epsilon, an arm that is so close to the best; of arms that tie, the first.
        """
        return self.leader if self.answered else None

    @property
    def leader(self) -> Arm | None:
        """The candidate with the best mean, answered or not; None before the first round."""
        return None if self.outcome.leader is None else self.arms[self.outcome.leader]

    @property
    def candidates(self) -> tuple[Arm, ...]:
        """The arms that may still be the best, the best mean first."""
        return tuple(self.arms[arm] for arm in self.outcome.candidates)

    @cached_property
    def eliminations(self) -> tuple[Elimination[Arm], ...]:
        """Who was beaten when, and by whom."""
        return tuple(with_labels(self.arms, out) for out in self.outcome.eliminations)

    @property
    def disqualified(self) -> tuple[Disqualification[Arm], ...]:
        """Who could not be evaluated, and why."""
        return disqualifications_of(self.arms, self.outcome)

    @cached_property
    def failures(self) -> tuple[FailureCount[Arm], ...]:
        """How often evaluations failed, and what followed, for each arm with failures."""
        return failure_counts(self.arms, self.record, self.outcome.failures)

    @cached_property
    def breakdown(self) -> Breakdown | None:
        """None, or that every evaluation of a round failed, or more than half of all; results warn of it."""
        return breakdown_of(self.record)

    @property
    def contradiction(self) -> Elimination[Arm] | None:
        """The evidence against the leader, if every remaining candidate was beaten in the same round."""
        against = self.outcome.contradiction
        return None if against is None else with_labels(self.arms, against)

    @property
    def saved(self) -> float | None:
        """The share of evaluations that was not needed; None without an answer or a known number of items."""
        everything = self.settings.everything
        if everything is None or not self.answered:
            return None
        return 1.0 - self.n_evaluations / (everything * len(self.arms))

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """All scores, one row per round and one column per arm; NaN where an arm was not asked."""
        scores = self.record.dense(1, self.n_rounds, len(self.arms))
        scores.setflags(write=False)
        return scores

    @cached_property
    def by_arm(self) -> ByArm:
        """All scores arm by arm, without what was not asked: for races of many arms, of which few stay long."""
        return self.record.by_arm(self.n_rounds, len(self.arms))

    @property
    def items(self) -> tuple[str, ...]:
        """The items of the rows of `scores`, as text of at most 200 characters, as files and messages hold them."""
        return tuple(item or "" for item in self.record.items)

    def new_game(self) -> Game:
        """A game by the rules of the race, before its first round."""
        return start_game(self.settings, len(self.arms))

    def play(self, game: Game, last: int) -> None:
        """Play such a game through the rounds of the race up to the last, as the race went."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssumptionWarning)  # was said when the race ran
            replay(game, self.record, self.outcome.disqualifying, last, reward_transform(self.settings, game))

    def keep_game(self, game: Game) -> None:
        """Take over the game of the race, which must not go on: everything that is asked of it needs no replay."""
        game.rest()
        vars(self)["game"] = game

    @cached_property
    def game(self) -> Game:
        """The game as it stood; a replay where the race went on and so kept its game."""
        game = self.new_game()
        self.play(game, self.n_rounds)
        for failure in self.outcome.failures:
            if failure.round > self.n_rounds and not game.finished:  # they ended the race before their round
                game.disqualify(failure.arm)
        game.rest()
        return game

    @cached_property
    def evidence_history(self) -> EvidenceHistory | None:
        """The evidence against each arm in some of the rounds, by a replay; None where the algorithm has none."""
        return evidence_history(self)

    @cached_property
    def regret_bound(self) -> float:
        """With probability ``1 - delta`` no arm beats `leader` by more, or the best was disqualified; NaN: unknown."""
        if len(self.candidates) == 1 or self.exact:
            return 0.0
        bound = self.game.regret_bound if self.n_rounds else math.inf
        widest = widest_lead(self.bounds, self.guarantee) if self.n_rounds else math.inf
        return math.nan if bound is None else min(bound * self.unit, widest)

    @property
    def exact(self) -> bool:
        """Whether the answer needs no test: all scores that it is about are there."""
        by_mean = self.target == "items" and self.guarantee.criterion == "mean"
        nobody_out = len(self.outcome.candidates) == len(self.arms)
        return by_mean and (self.complete or (self.reason is Reason.ALL_ITEMS_USED and nobody_out))

    @property
    def target(self) -> Target:
        """What the answer is about: ``"items"``, those of the list, or the ``"population"`` that they are from."""
        return target_of(self.settings, self.guarantee)

    @cached_property
    def for_population(self) -> ForPopulation[Arm] | None:
        """What the race says about items like these, whatever its target; None where it says nothing about them.

        Each of the two statements holds with probability at least ``1 - delta``, both with at least ``1 - 2 delta``.
        """
        return for_population(self)

    @cached_property
    def intervals(self) -> Intervals | None:
        """Simultaneous intervals for all leads: ``[a, b]`` is by how much arm number a is ahead of arm number b.

        At level delta, at all times together, from the rounds that both shared. None where the algorithm keeps no
        statistics of differences. `lead` is the same for one pair, by label.
        """
        found = self.game.intervals()
        return None if found is None else Intervals(found.low * self.unit, found.high * self.unit)

    @property
    def unit(self) -> float:
        """What one point of a difference in the game is worth in scores: 1 unless groups are weighed by their sizes."""
        return unit_of(self.settings, self.guarantee)

    def lead(self, a: Arm, b: Arm) -> Lead:
        """By how much arm a is ahead of arm b (also where lower scores are better): estimate, low and high.

        The estimate is over the items that both share; NaN is unknown. With probability at least ``1 - delta`` the
        intervals of all pairs hold, at all times together: wider than the tests, which protect the best arm alone.
        """
        first, second = self._number(a), self._number(b)
        if first == second:
            raise ValueError(f"lead takes two different arms, got {short_repr(a)} twice")
        known = self.game.lead(first, second, simultaneous=True)
        low, high = (math.nan, math.nan) if known is None else (known.low * self.unit, known.high * self.unit)
        return Lead(self._lead_seen(first, second), low, high)

    def __getitem__(self, arm: Arm) -> ArmRecord[Arm]:
        try:
            return self._arm_record(self._number(arm))
        except ValueError as error:
            raise KeyError(str(error)) from error

    __iter__ = None  # arms are looked up, not counted

    def _number(self, arm: Arm) -> int:
        """The number of an arm, by its label or its name."""
        return RaceArms(self.arms, tuple(map(label_text, self.arms)), self.arms).find(arm)

    @property
    def _sign(self) -> float:
        """What a point of a score is worth: 1, or -1 where lower scores are better."""
        return -1.0 if self.settings.lower_is_better else 1.0

    def _lead_seen(self, a: int, b: int) -> float:
        """By how much arm number a is ahead of arm number b on the items that both were evaluated on."""
        rounds, scores_a, scores_b = self.by_arm.shared(a, b)
        if not rounds.size:
            return math.nan
        leads = scores_a - scores_b
        leads = np.sign(leads) if self.guarantee.criterion == "wins" else leads
        weighed = self.unit != 1.0  # groups of several sizes
        sizes = np.array(self.settings.group_sizes)[rounds] if weighed else None
        return self._sign * float(np.average(leads, weights=sizes))

    def _arm_record(self, arm: int) -> ArmRecord[Arm]:
        out, failed = self.outcome.elimination(arm), self.outcome.failure(arm)
        gone = out or failed
        won, lost = self._duel(arm)
        return ArmRecord(
            arm=self.arms[arm],
            status=self.outcome.status(arm, self.reason, self.answered),
            mean=float(self.means[arm]),
            n_items=self._n_items(arm),
            behind=0.0 if arm == self._leader else self._lead_seen(self._leader, arm),
            left_in_round=gone.round if gone else None,
            beaten_by=self.arms[out.by] if out else None,
            margin=out.margin if out else None,
            failure=failed.text if failed else None,
            won=won,
            lost=lost,
        )

    def _duel(self, arm: int) -> tuple[int, int]:
        """On how many of the items that both were evaluated on an arm was better and worse than the leader."""
        _, scores, of_leader = self.by_arm.shared(arm, self._leader)
        ahead = self._sign * np.sign(scores - of_leader)
        return int((ahead > 0).sum()), int((ahead < 0).sum())

    def _n_items(self, arm: int) -> int:
        """The number of items that an arm was evaluated on."""
        sizes = self.settings.group_sizes
        if sizes is None:
            return int(self.counts[arm])
        rounds, _ = self.by_arm.of(arm)
        return sum(sizes[t] for t in rounds.tolist())

    @property
    def delta(self) -> float:
        """The accepted probability of a wrong answer."""
        return self.guarantee.delta

    @property
    def _leader(self) -> int:
        """The number of the leader; of the first arm, where nobody leads yet."""
        return self.outcome.leader or 0

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The numbers of the arms: the leader, the other candidates, and those that are out, each from the closest on.

        How far an arm is behind is known from the items that it shares with the leader. In a complete table all arms
        share all items: there they are ordered by their means.
        """
        arms = range(len(self.arms))
        if self.complete:
            return tuple(sorted(arms, key=lambda arm: (-self._sign * self.means[arm], arm != self.outcome.leader, arm)))
        behind = [self._lead_seen(self._leader, arm) for arm in arms]
        first = [
            *self.outcome.candidates[:1],
            *sorted(self.outcome.candidates[1:], key=lambda arm: _known(behind[arm])),
        ]
        left = sorted(set(arms) - set(first), key=lambda arm: (_known(behind[arm]), arm))
        return (*first, *left)

    @cached_property
    def records(self) -> tuple[ArmRecord[Arm], ...]:
        """One record per arm, the leader first."""
        return tuple(self._arm_record(arm) for arm in self.order)

    @property
    def verdict(self) -> str:
        """The answer on one line, and on a second one what one asks next."""
        return "\n".join(verdict_lines(self))

    def __str__(self) -> str:
        return text_form(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: verdict, table and picture."""
        return fragment(self)

    def table(self) -> str:
        """The table with all arms; the text form of a result has the first ones."""
        return "\n".join(table_lines(self, every=True))

    def explain(self) -> str:
        """What the answer means, what it assumes, what weakens it, and how the race went, in full sentences."""
        return explanation(self)

    def to_records(self) -> list[dict[str, Any]]:
        """One record per arm as a dictionary, the leader first; `ArmRecord` says what is in it."""
        return [{one.name: getattr(record, one.name) for one in fields(record)} for record in self.records]

    def to_frame(self) -> "pd.DataFrame":
        """The table as a pandas DataFrame, one row per arm (needs the extra ``bestarm[frames]``)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install 'bestarm[frames]'") from error
        return pd.DataFrame(self.to_records()).set_index("arm")

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything but the individual scores as JSON, written to a file if one is given; NaN becomes null."""
        text = result_json(self)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def plot(self) -> "Figure":
        """The evidence against each arm as it grew, and where that is open how far arms are behind, by Matplotlib.

        In a notebook the figure shows itself.
        """
        from bestarm.result.figure import race_figure

        return race_figure(self)

    def to_html(self, path: str | Path) -> None:
        """Write one self-contained HTML page: the verdict, the race as a picture, the table, what is guaranteed."""
        write_text(path, page(self))


def _known(behind: float) -> float:
    """A difference to sort by; unknown ones come last."""
    return math.inf if math.isnan(behind) else behind
