"""How large a table may be that a small file describes: sizes are checked before memory is taken."""

MOST_CELLS = 10**7
PER_PART = 10  # cells for each part of a file, where that is more


def check_size(rows: int, columns: int, parts: int, what: str) -> None:
    """Refuse a table that is far larger than what it is made from: ``parts`` of a file, such as its scores or bytes."""
    if rows * columns > max(MOST_CELLS, PER_PART * parts):
        raise ValueError(
            f"{rows:,} rows and {columns:,} columns from {parts:,} {what} are too many: a table may have "
            f"{MOST_CELLS:,} cells, or {PER_PART} for each of the {what} if that is more"
        )
