"""What happened in a game, in words and a table."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bestarm.algorithms import Game

if TYPE_CHECKING:
    from rich.console import RenderableType


def game_story(game: Game) -> "Iterator[RenderableType]":
    """Who left when, beaten by whom; then the verdict and what it cost."""
    from rich.table import Table

    table = Table(title="Who left when")
    for heading in ("round", "arm", "beaten by", "margin"):
        table.add_column(heading, justify="right")
    for out in game.eliminations:
        table.add_row(f"{out.round:,}", str(out.arm), str(out.by), f"{out.margin:.2g}")
    yield table
    everything = game.n_rounds * game.n_arms
    yield (
        f"[bold]Arm {game.best} is best[/bold] ({game.reason} after {game.n_rounds:,} rounds and "
        f"{game.n_queries:,} queries; querying every arm in every round would have taken {everything:,})."
    )
    if game.contradiction is not None:
        yield (
            f"The evidence contradicts itself: in round {game.contradiction.round:,} every candidate was beaten, also "
            f"arm {game.best}, by arm {game.contradiction.by}."
        )
