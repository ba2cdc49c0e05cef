"""The sharper comparison for bounded rewards: betting on the leaders so far."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from bestarm.checks import check_share
from bestarm.comparisons.betting import Betting
from bestarm.comparisons.evidence import BoundedComparison, Evidence, Goal, Role, shared_rounds
from bestarm.comparisons.wealth import WealthEvidence
from bestarm.kernels.state import (
    GOING_ON,
    WITHIN_EPSILON,
    LeaderBets,
    ShiftedWealth,
    new_leaders,
    new_past_leaders,
    new_shifted_wealth,
    with_room,
)
from bestarm.values import Array, Indices

N_SHIFTS = 32  # shifts that are told apart at a time: whole vector registers, so they cost hardly more than a few
# Steps of a twentieth, down to 5e-6 of the range of rewards.
SHIFTS: Array = 10.0 ** (np.arange(1 - 8 * N_SHIFTS, 1) / 48)
LAST_WAKING = 10**7  # the round; a bet on a pair that would wake later is left asleep
REMEMBERED = 4  # leaders whose wealth is kept; of another one it is computed anew from the first round on
# Chosen with some 250 others on 32 score tables, where the optimum is flat.
BETS: Array = 0.95 * 0.5 ** np.arange(8.0)
WEIGHTS: Array = BETS**0.6 / (BETS**0.6).sum()
SIZES = np.array([1, 2, 4, 8, 16])  # of the averages of leaders
PAIRS = 1 / 20  # the share of the wealth in bets on pairs
FEW_ARMS = 100  # up to which bets on pairs cost little beside an evaluation


@dataclass(frozen=True, repr=False)
class LeaderBetting(BoundedComparison):
    """Bets that each arm is worse than the leaders so far: one wealth against each arm, no union over opponents.

    For bounded rewards. Scaled to an interval of length one, the wealth against arm ``i`` grows in each round by
    ``1 + lambda (Y - y)``, where ``Y`` is the average reward of the ``m`` leaders, arm ``i`` left out, minus that of
    arm ``i``, and ``y`` is 0 (on a pool the largest mean that is left for ``Y``). The leaders, how many of them (1, 2,
    4, 8 or 16), and ``lambda`` are chosen before the round from earlier ones, for each arm and each of eight bets, and
    a small share of the wealth is spread over the bets again in each round. Arm ``i`` is out when the wealth against it
    reaches ``1 / delta``. A share of the wealth, ``pairs``, is in bets on single pairs as in `Betting`: they find the
    arm that beats another one of which it is nearly a copy. Elimination margins are logarithms of wealth over
    threshold; ``by`` is the opponent with the most wealth on pairs, without these the leader.

    How much better than the leader any arm can still be (``regret_bound``, and with it ``epsilon``) is read off the
    same wealth, made again as if the leader were worse: no part of delta is given up for it. With epsilon, games look
    whether they can end when the leaders are renewed. ``lead_bound`` and ``intervals`` are those of `Betting`.

    **Guarantee.** Rounds independent and identically distributed (or, with ``pool``, a uniformly random order of its
    items), rewards within the bounds, one best arm: with probability at least ``1 - delta`` the best arm is never out.
    (Against the best arm ``Y`` has conditional mean at most ``y`` whoever leads, so its wealth is a nonnegative
    supermartingale of the common filtration, starting at one: Ville's inequality. See ``docs/theory.md``.)

    Parameters
    ----------
    bounds : the interval that rewards lie in. In a race it comes from the race, unless it is set here to another one
    pool : the number of items of a finite pool that is drawn without replacement in random order; in a race the number
        of its items. The target is then the mean over the pool, as in `Betting`
    pairs : the share of the wealth in bets on pairs, in [0, 1). Bets on pairs take K^2 steps a round; with 0 a round
        takes K, and the twentieth of the wealth that is left is only asked about the leader, for the regret bound. By
        default a twentieth up to 100 arms, and 0 from there on

    """

    _: KW_ONLY
    pairs: float | None = None

    role: ClassVar[Role] = "pairs"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pairs is not None:
            check_share("pairs", self.pairs)

    def on_pairs(self, n_arms: int) -> Betting | None:
        """The bets on pairs in a game of so many arms, None where there are none."""
        return Betting(self.bounds, pool=self.pool) if self._share(n_arms) > 0.0 else None

    def _share(self, n_arms: int) -> float:
        usual = PAIRS if n_arms <= FEW_ARMS else 0.0
        return usual if self.pairs is None else self.pairs

    def evidence(self, n_arms: int, goal: Goal) -> Evidence:
        """The wealth of the bets in a new game."""
        return LeaderEvidence(n_arms, Betting(self.bounds, pool=self.pool), goal, self._share(n_arms))


class LeaderEvidence(WealthEvidence):
    """The wealth of bets on averages of the leaders, and of bets on pairs beside it where there are any."""

    def __init__(self, n_arms: int, betting: Betting, goal: Goal, pairs: float) -> None:
        share = pairs or PAIRS  # without bets on pairs, the share that only the regret bound uses
        for_kernel = goal._replace(epsilon=0.0)  # it leaves the end by epsilon to `play`, and pauses for it
        super().__init__(n_arms, betting, for_kernel, share=share, on_pairs=pairs > 0.0, pause=goal.epsilon > 0.0)
        self._goal = goal
        self._arms_withdrawn = False  # since the last round
        self.leaders = new_leaders(n_arms, BETS, WEIGHTS, SIZES)
        self.past_leaders = new_past_leaders(n_arms, BETS.size)
        epsilon = goal.epsilon * betting.scale
        self.regret = RegretBound(self, np.append(SHIFTS, epsilon) if epsilon > 0.0 else SHIFTS)
        self._at_epsilon = RegretBound(self, np.array([epsilon]))  # of this shift alone, to end within epsilon

    def play(self, rows: Array) -> int:
        """Play rounds from whole rows until the end; the number of rows used."""
        if self._arms_withdrawn:
            self._replace_withdrawn()
        used = 0
        while used < len(rows) and (played := super().play(rows[used:])):
            used += played
            if self.rule.pause and self._paused():
                self._end_within_epsilon()
        return used

    def _chosen(self) -> tuple[LeaderBets, None]:
        """The bets on leaders, with room to note the next renewal."""
        self.past_leaders = with_room(self.past_leaders)
        return LeaderBets(self.leaders, self.past_leaders), None

    def _wealth_on_chosen(self) -> Array:
        return self.leaders.total

    def _paused(self) -> bool:
        """Whether the leaders were renewed after the last round, however the rounds are told."""
        n_entries = self.past_leaders.n_entries[0]
        last = self.past_leaders.first_rounds[n_entries - 1] if n_entries > 0 else 0
        return bool(last == self.board.n_rounds + 1)

    def note_withdrawn(self) -> None:
        """Before the next round, look whether the leaders must be chosen anew."""
        self._arms_withdrawn = True

    def _replace_withdrawn(self) -> None:
        """Choose the leaders anew where somebody was withdrawn, which is decided before the round."""
        from bestarm.kernels.leaders import replace_withdrawn

        board, leaders = self.board, self.leaders
        self._arms_withdrawn = False
        columns, queried = self._columns(), board.arms[: board.n_queried]
        if board.n_rounds > 0 and not np.isin(columns[~leaders.failing[columns]], queried).all():
            schedule = leaders.progress[0]
            planned = schedule.next_renewal
            self.past_leaders = with_room(self.past_leaders)
            replace_withdrawn(board.n_rounds, board, leaders, self.past_leaders, self.rule.zone)
            schedule.next_renewal = min(planned, schedule.next_renewal)

    def _columns(self) -> Indices:
        """The arms that the bets on leaders are about."""
        return self.leaders.arms[: self.leaders.progress[0].n_columns]

    def _end_within_epsilon(self) -> None:
        """End the game if the leader is shown to be within epsilon of every other candidate."""
        board = self.board
        queried = slice(board.n_queried)
        arms, means = board.arms[queried], board.means[queried]
        candidates = np.flatnonzero(~board.is_out[queried])
        if candidates.size < 2 or board.now.ended != GOING_ON or board.now.n_candidates > candidates.size:
            return  # it has ended, or somebody was withdrawn
        leader = int(arms[candidates[np.argmax(means[candidates])]])
        others = [arm for arm in arms[candidates].tolist() if arm != leader]
        if self._at_epsilon.largest_shift(leader, others) <= self._goal.epsilon * self.rule.scale:
            board.progress["ended"] = WITHIN_EPSILON

    def smallest_lead_bound(self, a: int, others: Sequence[int]) -> float:
        """``-max_b(shift of b) / scale``, where ``shift of b`` is how much worse than arm b arm a may still be."""
        return -self.regret.largest_shift(a, others) / self.rule.scale

    @property
    def _log_threshold(self) -> float:
        """Of the wealth on a single pair, for bounds that are a statement of their own: level ``delta / (K - 1)``."""
        return float(np.log(self.board.arms.size - 1) - np.log(self._goal.delta))

    def discard_evidence(self, arm: int) -> None:
        """An arm that fails in the round now asked stays among the leaders until it is over, with the worst reward.

        Who fails may depend on the rewards of the round, so it must not change what was bet on before.
        """
        super().discard_evidence(arm)
        if arm in self._columns():
            self.leaders.failing[arm] = True
            self.leaders.progress[0].any_failing = True


class _Replay:
    """The bets of a game made again as if a leader were worse, by each of some shifts from the place ``first`` on."""

    def __init__(self, wealth: ShiftedWealth, first: int) -> None:
        self.wealth = wealth
        self.first = first
        self.n_rounds = 0

    def covers(self, arms: Sequence[int]) -> bool:
        """Whether the wealth against all these arms is known."""
        return set(arms) <= set(self.wealth.arms.tolist())

    def ruled_out_from(self, arms: Sequence[int]) -> dict[int, int]:
        """By arm, the place of the first shift that is ruled out."""
        left = dict(zip(self.wealth.arms.tolist(), self.wealth.n_left.tolist(), strict=True))
        return {arm: self.first + left[arm] for arm in arms}


class RegretBound:
    """The largest shift by which the leader may be worse than other arms, up to a twentieth: kept up as a game goes on.

    Some shifts are told apart at a time: first the largest, and when these are ruled out for all arms, those below. So
    an answer costs the same after any number of rounds, but for the rounds in which it falls to other shifts or there
    is another leader, of whom it is worked out from the first round on. Shifts are of rewards scaled to length one.
    """

    def __init__(self, evidence: "LeaderEvidence", shifts: Array) -> None:
        self._evidence = evidence
        self._shifts = np.unique(np.maximum(shifts, evidence.rule.zone))  # with a zone the best leads at least by that
        self._replays: dict[int, _Replay] = {}  # by leader
        self._on_pair = evidence.betting.mixture(LAST_WAKING)

    def largest_shift(self, leader: int, arms: Sequence[int]) -> float:
        """``max_b min {s : leader worse than b by s is ruled out}`` over these arms b, with s among the shifts.

        An upper bound: where even the smallest shift computed so far is ruled out for an arm, that one is its value.
        """
        if not arms:
            return 0.0
        replay = self._replays.pop(leader, None)
        if replay is None or not replay.covers(arms):
            replay = self._new(leader, arms, self._shifts.size - N_SHIFTS)
        self._catch_up(replay)
        while replay.first > 0 and max(replay.ruled_out_from(arms).values()) == replay.first:
            replay = self._new(leader, arms, replay.first - N_SHIFTS)
            self._catch_up(replay)
        self._replays[leader] = replay
        for oldest in list(self._replays)[:-REMEMBERED]:
            del self._replays[oldest]
        return max(self._largest(leader, arm, place) for arm, place in replay.ruled_out_from(arms).items())

    def wealth_against(self, leader: int) -> ShiftedWealth:
        """The wealth behind the last answer about a leader."""
        return self._replays[leader].wealth

    def _largest(self, leader: int, arm: int, place: int) -> float:
        """Up to a shift that was ruled out, and no more than what is left of a pool can make of it."""
        rule, n = self._evidence.rule, shared_rounds(self._evidence.board, leader, arm)
        shift = float(self._shifts[place]) if place < self._shifts.size else 1.0
        if rule.pool == 0 or n == 0:
            return shift
        behind = -n * self._evidence.lead(leader, arm) * rule.scale
        return min(shift, max(0.0, (behind + rule.pool - n) / rule.pool))

    def _new(self, leader: int, arms: Sequence[int], first: int) -> _Replay:
        """What is known before the first round about the shifts from a place on."""
        evidence, begin = self._evidence, max(0, first)
        shifts = self._shifts[begin : first + N_SHIFTS] - evidence.rule.zone
        weights, pair_weights = evidence.leaders.weights, self._on_pair.weights
        K = evidence.board.arms.size
        return _Replay(new_shifted_wealth(K, leader, np.array(sorted(arms)), shifts, weights, pair_weights), begin)

    def _catch_up(self, replay: _Replay) -> None:
        """Make the bets of all rounds that are new, as long as there are shifts left."""
        from bestarm.kernels.leaders import replay_shifted

        evidence, wealth = self._evidence, replay.wealth
        for begun, arms, rows in evidence.history.blocks(replay.n_rounds):
            if not wealth.n_left.any():
                break
            column_of = np.full(evidence.board.arms.size, -1)
            column_of[arms] = np.arange(arms.size)
            bets = evidence.past_leaders, evidence.leaders, self._on_pair
            replay_shifted(rows, column_of, begun, *bets, wealth, evidence.rule)
        replay.n_rounds = evidence.history.n_rounds
