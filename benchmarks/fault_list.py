"""The faults that `planted_faults.py` plants: where, what stands there, what stands there instead, and who should mind.

They are what slips through a review: one off, a wrong sign, a comparison the other way, an update that is missing.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A fault in a file of src/bestarm, and the test files that are aimed at it."""

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]


# Faults that once survived.
KNOWN = (
    Fault(
        "errors of a simulation ignore epsilon",
        "simulation.py",
        "too_bad = means[self.winners] < means.max() - epsilon",
        "too_bad = means[self.winners] < means.max()",
        ("test_simulation.py",),
    ),
    Fault(
        "a negative certificate without allowance for rounding",
        "kernels/convex.py",
        "sure = Bw[j] - ROUNDING * scale * np.sqrt(B[j, j])",
        "sure = Bw[j]",
        ("test_convex_solver.py",),
    ),
    Fault(
        "a label of another type names an arm",
        "inputs/arms.py",
        "if type(other) is type(label) and other == label:",
        "if other == label:",
        ("test_labels.py",),
    ),
    Fault(
        "a failure is acted on at the end of its round only",
        "racing/execution.py",
        "if failed or time.monotonic() - begun > SAVE_AFTER:",
        "if time.monotonic() - begun > SAVE_AFTER:",
        ("test_joint_failures.py",),
    ),
)

FAULTS = (
    # --- algorithms
    Fault(
        "arms queried in every round so far are not looked at",
        "algorithms/game.py",
        "np.flatnonzero(self.counts >= min(self.n_rounds, LOOK))",
        "np.flatnonzero(self.counts > min(self.n_rounds, LOOK))",
        ("test_data_kind.py",),
    ),
    Fault(
        "margins of LUCB by the width of the round after the last",
        "algorithms/lucb.py",
        "self._thresholds(self.n_rounds - 1).slopes[0]",
        "self._thresholds(self.n_rounds).slopes[0]",
        ("test_reference.py", "test_decisions.py"),
    ),
    # --- comparisons
    Fault(
        "simultaneous bounds spend delta on too few pairs",
        "comparisons/boundary.py",
        "delta = self._delta / K if simultaneous else self._delta",
        "delta = self._delta / (K - 1) if simultaneous else self._delta",
        ("test_differences.py", "test_boundaries.py"),
    ),
    Fault(
        "the wealth on a disqualified arm comes back when it is folded",
        "comparisons/wealth.py",
        "bets.log_wealth[:, :, arm] = -np.inf",
        "bets.log_wealth[:, :, arm] = 0.0",
        ("test_race_failures.py", "test_betting.py", "test_sharp_games.py"),
    ),
    # --- kernels
    Fault(
        "the last of several leaders leads",
        "kernels/base.py",
        "board.means[a] > board.means[leader]",
        "board.means[a] >= board.means[leader]",
        ("test_reference.py", "test_decisions.py", "test_contradiction.py"),
    ),
    Fault(
        "the squares of the arms do not close up when one leaves",
        "kernels/base.py",
        "board.own[a] = board.own[a + 1]",
        "board.own[a] = board.own[a]",
        ("test_moments.py", "test_reference.py"),
    ),
    Fault(
        "a portfolio may lose all of its wealth",
        "kernels/wealth.py",
        "if stake > rule.cap:",
        "if stake > 1.0:",
        ("test_kernels.py",),
    ),
    Fault(
        "combinations are looked at a round too early",
        "kernels/convex.py",
        "np.int64(np.ceil(rule.growth * t))",
        "np.int64(np.floor(rule.growth * t))",
        ("test_convex_game.py",),
    ),
    Fault(
        "the leader is within epsilon plus the zone",
        "kernels/pairs.py",
        "_leader_within(board, epsilon, slope, offsets[r], scale)",
        "_leader_within(board, epsilon, slope, offset, scale)",
        ("test_decisions.py", "test_sharp_games.py", "test_reference.py"),
    ),
    # --- arms, simulation
    Fault(
        "the covariance of a table as if it were a sample",
        "arms/table.py",
        "bias=True",
        "bias=False",
        ("test_arms.py",),
    ),
    Fault(
        "a game that ran out of rewards gave an answer",
        "simulation.py",
        'np.isin(self.reasons, ("", "budget"))',
        'np.isin(self.reasons, ("budget",))',
        ("test_simulation.py",),
    ),
    # --- inputs
    Fault(
        "items that are left keep the names of the first",
        "inputs/tables.py",
        "tuple(table.items[row] for row in whole)",
        "table.items[: whole.size]",
        ("test_table.py",),
    ),
    Fault(
        "texts that run into each other have one fingerprint",
        "inputs/items.py",
        'fingerprint.update(len(encoded).to_bytes(8, "little"))',
        'fingerprint.update(b"")',
        ("test_small_print.py",),
    ),
    Fault(
        "a first column without any score is taken for the items",
        "inputs/files.py",
        'not any(map(_is_number, cells)) and not all(cell in (None, "") for cell in cells)',
        "not any(map(_is_number, cells))",
        ("test_small_print.py",),
    ),
    Fault(
        "rounding beyond a bound is refused",
        "checks.py",
        "slack = ROUNDING * (bounds[1] - bounds[0])",
        "slack = 0.0",
        ("test_failure_counts.py",),
    ),
    Fault(
        "rounding does not depend on the range",
        "checks.py",
        "slack = ROUNDING * (bounds[1] - bounds[0])",
        "slack = ROUNDING",
        ("test_failure_counts.py",),
    ),
    Fault(
        "a score that rounding put out of bounds stays there",
        "inputs/scores.py",
        "return min(max(score, bounds[0]), bounds[1])",
        "return score",
        ("test_failure_counts.py",),
    ),
    Fault(
        "words of a user are taken for what followed from a failure",
        "racing/ask_tell.py",
        'return worst, Note(str(failure), failure.retried, "worst").stored',
        "return worst, Note(str(failure), failure.retried).stored",
        ("test_failure_counts.py",),
    ),
    # --- racing
    Fault(
        "on_error is applied to scores out of bounds",
        "racing/ask_tell.py",
        'return self.state.settings.on_error == "raise" or isinstance(failure, OutOfBoundsError)',
        'return self.state.settings.on_error == "raise"',
        ("test_failure_counts.py",),
    ),
    Fault(
        "scores out of bounds are drawn again",
        "racing/evaluation.py",
        "if attempt == self.retries or any(isinstance(outcome, OutOfBoundsError) for outcome in outcomes):",
        "if attempt == self.retries:",
        ("test_failure_counts.py",),
    ),
    Fault(
        "a time-out is a failure also where the time is the score",
        "inputs/programs.py",
        'if self.score == "time" else CommandError(why)',
        "if False else CommandError(why)",
        ("test_failure_counts.py",),
    ),
    Fault(
        "attempts before a disqualification that ended the race are not counted",
        "racing/failures.py",
        "if failure.round > record.n_rounds]",
        "if failure.round > record.n_rounds + 1]",
        ("test_failure_counts.py",),
    ),
    Fault(
        "only arms that a disqualified arm beat itself are left open",
        "report/failing.py",
        "if out.by in failed | left_open}",
        "if out.by in failed}",
        ("test_failure_counts.py",),
    ),
    Fault(
        "failures of the last round are not copied",
        "racing/record.py",
        "for number, failed in self.failures.items() if number <= last}",
        "for number, failed in self.failures.items() if number < last}",
        ("test_record.py", "test_race_failures.py"),
    ),
    Fault(
        "what a game does not read is 0, also out of its bounds",
        "racing/replay.py",
        "blank = 0.0 if game.bounds is None else game.bounds[0]",
        "blank = 0.0",
        ("test_small_print.py",),
    ),
    Fault(
        "rounds in flight are played at once when a race goes on",
        "racing/state.py",
        "self._replay(past, max(0, whole - self.settings.rounds_in_flight))",
        "self._replay(past, max(0, whole - 1))",
        ("test_store.py", "test_frozen_files.py"),
    ),
    Fault(
        "scores may be lost when the machine loses power",
        "racing/sqlite_store.py",
        'connection.execute("PRAGMA synchronous=FULL")',
        'connection.execute("PRAGMA synchronous=NORMAL")',
        ("test_store_writing.py", "test_store.py"),
    ),
    Fault(
        "what a race has saved forgets the rounds in flight",
        "racing/summary.py",
        "saved=game.n_arms * _items_so_far(state) - state.spent",
        "saved=game.n_arms * game.n_rounds - state.spent",
        ("test_race_result.py", "test_race.py"),
    ),
    Fault(
        "an arm that was beaten and failed later is disqualified",
        "racing/outcome.py",
        '"disqualified" if self.failure(arm) and not self.elimination(arm) else "out"',
        '"disqualified" if self.failure(arm) else "out"',
        ("test_small_print.py",),
    ),
    Fault(
        "of several failures any is raised, not the first",
        "racing/execution.py",
        "ordered = sorted(done, key=lambda future: running[future][:2])",
        "ordered = sorted(done, key=lambda future: running[future][:2], reverse=True)",
        ("test_small_print.py",),
    ),
    Fault(
        "a function that is named is never tried again",
        "racing/origins.py",
        "jointly=self.jointly, retries=self.retries)",
        "jointly=self.jointly)",
        ("test_cli_race.py",),
    ),
    # --- report
    Fault(
        "five names and 0 more",
        "inputs/texts.py",
        "if len(parts) > FEW:",
        "if len(parts) >= FEW:",
        ("test_small_print.py",),
    ),
    Fault(
        "numbers just below a power of ten with an exponent",
        "report/page.py",
        "10**digits - 0.5 <= abs(value) < 1e12",
        "10**digits <= abs(value) < 1e12",
        ("test_page.py",),
    ),
    Fault(
        "an arm is a rival in the round in which it failed",
        "report/figure.py",
        "gone.get(arm, t + 1) > t]",
        "gone.get(arm, t + 1) >= t]",
        ("test_race_result.py", "test_page.py"),
    ),
    Fault(
        "what pairing was worth forgets epsilon",
        "report/pairing.py",
        "else (leader, promise.epsilon)",
        "else (leader, 0.0)",
        ("test_pairing.py",),
    ),
    Fault(
        "what pairing was worth needs more than all items of a pool",
        "report/pairing.py",
        "rounds = np.minimum(rounds, pool or LONGEST)",
        "rounds = np.minimum(rounds, LONGEST)",
        ("test_pairing.py",),
    ),
    Fault(
        "fresh seeds are an arithmetic progression again",
        "inputs/seeds.py",
        "permuted(k % HALF**2, tables)",
        "WEYL * k % HALF**2",
        ("test_seeds.py",),
    ),
    Fault(
        "the display takes most of the time of a race",
        "report/live.py",
        "max(PERIOD, (ended - begun) / SHARE)",
        "max(PERIOD, (ended - begun) * SHARE)",
        ("test_race_result.py",),
    ),
    # --- command line, planning, the conformance kit
    Fault(
        "a race that is continued forgets its budget",
        "cli/resume.py",
        "max_evaluations=settings.max_evaluations if max_evaluations is None else max_evaluations,",
        "max_evaluations=max_evaluations,",
        ("test_cli_race.py", "test_cli_tools.py"),
    ),
    Fault(
        "a plan forgets that items run out",
        "planning/races.py",
        '"max_rounds": self.n_items,',
        '"max_rounds": None,',
        ("test_plan.py",),
    ),
    Fault(
        "a plan is as sure as a pilot of full size",
        "planning/races.py",
        "size=(len(scores) + 1) // 2",
        "size=len(scores)",
        ("test_plan.py",),
    ),
    Fault(
        "the kit lets simultaneous intervals be narrower than single ones",
        "testing/saying.py",
        "require(wide == together[a, b] and wide <= low,",
        "require(wide == together[a, b],",
        ("test_small_print.py",),
    ),
    # --- the surface
    Fault(
        "a race without an answer has a best arm",
        "racing/result.py",
        "return self.leader if self.answered else None",
        "return self.leader",
        ("test_surface.py",),
    ),
    Fault(
        "a race without an answer has saved something",
        "racing/result.py",
        "if everything is None or not self.answered:",
        "if everything is None:",
        ("test_surface.py",),
    ),
    Fault(
        "the lead of a result is read the other way round",
        "racing/result.py",
        "known = self._game.lead(first, second, simultaneous=True)",
        "known = self._game.lead(second, first, simultaneous=True)",
        ("test_surface.py",),
    ),
    Fault(
        "the lead of a game over an arm that has left is that of other rounds",
        "comparisons/boundary.py",
        "if both_queried else board.parted[b, a]",
        "if both_queried else board.parted[a, b]",
        ("test_differences.py",),
    ),
    Fault(
        "bounds that were set on a comparison are forgotten",
        "comparisons/betting.py",
        "own = self.bounds if bounds is None or self.bounds != UNIT else bounds",
        "own = self.bounds if bounds is None else bounds",
        ("test_choosing.py",),
    ),
    Fault(
        "an algorithm is used although delta says otherwise",
        "inputs/options.py",
        "if given is not None and given != own:",
        "if given is not None and own is None:",
        ("test_choosing.py",),
    ),
    Fault(
        "a table is raced one round beyond its budget",
        "racing/replay.py",
        "if budget is not None and spent > budget:",
        "if budget is not None and game.n_queries > budget:",
        ("test_surface.py",),
    ),
    Fault(
        "a file of a later format is read",
        "racing/store.py",
        'if present["format"] != FORMAT:',
        'if present["format"] is None:',
        ("test_file_settings.py",),
    ),
    Fault(
        "an arm within epsilon is called the best",
        "racing/outcome.py",
        "if reason is Reason.WITHIN_EPSILON:",
        "if reason is Reason.INTERRUPTED:",
        ("test_surface.py",),
    ),
    Fault(
        "a failed evaluation ends a command as bad input does",
        "cli/app.py",
        "raise refuse(str(error), FAILED) from error",
        "raise refuse(str(error)) from error",
        ("test_cli_race.py",),
    ),
    Fault(
        "a race that has used all items runs out of its budget",
        "racing/state.py",
        "cost = 0 if used_up else len(asked)",
        "cost = len(asked)",
        ("test_surface.py",),
    ),
    Fault(
        "a race by an own comparison cannot be continued",
        "inputs/plain.py",
        "return present if _has_own(present) else encode(decode(present))",
        "return encode(decode(present))",
        ("test_file_settings.py",),
    ),
    Fault(
        "weights are scaled each time",
        "checks.py",
        "scaled = vector if abs(total - 1.0) <= 1e-12 else vector / total",
        "scaled = vector / total",
        ("test_file_settings.py",),
    ),
    Fault(
        "settings of the same name hide each other",
        "inputs/plain.py",
        "where = (*path, name)",
        "where = (name,)",
        ("test_file_settings.py",),
    ),
    Fault(
        "scores of a few items that count up are taken for items",
        "inputs/files.py",
        "return len(cells) >= COUNTED and",
        "return len(cells) > 2 and",
        ("test_surface.py",),
    ),
    Fault(
        "a confidence is taken for delta",
        "inputs/options.py",
        "if delta > MOST_DELTA:",
        "if delta > 1:",
        ("test_choosing.py",),
    ),
    Fault(
        "rewards of an arm that has left are looked at",
        "algorithms/data_kind.py",
        "rows = rows[:, ~np.isnan(rows).any(axis=0)]",
        "rows = np.nan_to_num(rows)",
        ("test_surface.py",),
    ),
    Fault(
        "controls of eight bits steer a terminal",
        "shown.py",
        r"\x7f-\x9f\xad",
        r"\x7f\xad",
        ("test_shown.py", "test_hostile_texts.py"),
    ),
    Fault(
        "long names that begin and end alike look the same",
        "shown.py",
        "[{len(text):,} characters, {fingerprint}]",
        "[{len(text):,} characters]",
        ("test_shown.py", "test_hostile_texts.py"),
    ),
    Fault(
        "a page replaces what its command reads by another name",
        "cli/outputs.py",
        "return path.samefile(other)",
        "return path == other",
        ("test_writing.py",),
    ),
    Fault(
        "a page is lost with standard output",
        "cli/app.py",
        "finally:  # nor does a result that cannot be printed",
        "except ValueError:\n        raise\n    else:",
        ("test_writing.py",),
    ),
)
