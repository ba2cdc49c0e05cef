"""The rows of a long race, out of the pages of its SQLite file.

The format is https://www.sqlite.org/fileformat2.html. Whoever made the file, nothing is read outside of its pages, and
the work is limited by their number. What a race does not write (other kinds of values, rows out of their order, rows
that go on in other pages) is not read at all: the answer is then -1, and SQLite must say what it is.
"""

import numpy as np

from bestarm.kernels.compiling import compiled, inlined

INNER_INDEX, INNER_TABLE, LEAF_INDEX, LEAF_TABLE = 2, 5, 10, 13  # kinds of pages; in an index inner ones have rows too
FILE_HEADER = 100  # bytes before the header of page 1
DEEPEST = 20  # levels of a tree, as in SQLite
CHILD = 4  # bytes that name a page
NULL, REAL, ZERO, ONE, TEXT = 0, 7, 8, 9, 13  # kinds of values; 1 to 6 are whole numbers, odd ones from 13 on texts
SIZES = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0])  # bytes of a value by its kind
LARGEST = 2**31 - 1  # number of an arm


@inlined
def _big_endian(pages, place, size):  # type: ignore[no-untyped-def]
    """The number without a sign in so many bytes."""
    number = np.int64(0)
    for k in range(size):
        number = (number << 8) | np.int64(pages[place + k])
    return number


@inlined
def _varint(pages, place, end):  # type: ignore[no-untyped-def]
    """A number in one to nine bytes, and the place behind it, which is beyond the end if the number is."""
    if place < end and pages[place] < 128:  # nearly always
        return np.int64(pages[place]), place + 1
    number = np.int64(0)
    for k in range(9):
        if place + k >= end:
            break
        byte = np.int64(pages[place + k])
        if k == 8:
            return (number << 8) | byte, place + 9
        number = (number << 7) | (byte & 127)
        if byte < 128:
            return number, place + k + 1
    return np.int64(-1), end + 1


@inlined
def _is_whole(kind):  # type: ignore[no-untyped-def]
    """Whether a value of this kind is a whole number."""
    return kind <= ONE and kind not in (NULL, REAL)


@inlined
def _whole(pages, end, kind):  # type: ignore[no-untyped-def]
    """The whole number of this kind that ends at a place, with its sign: there are eight bytes before any value."""
    if kind >= ZERO:
        return np.int64(kind) - ZERO
    unused = 64 - 8 * SIZES[kind]
    return (_big_endian(pages, end - 8, 8) << unused) >> unused


@inlined
def _text_size(kind):  # type: ignore[no-untyped-def]
    """How many bytes a text of this kind takes; more than there are if the value is neither a text nor missing."""
    if kind == NULL:
        return np.int64(0)
    return (kind - TEXT) // 2 if kind >= TEXT and kind % 2 == 1 else np.int64(2**62)


@inlined
def _header(pages, page_size, usable, page):  # type: ignore[no-untyped-def]
    """The kind of a page, how many cells it has, and where their places are listed; -1 if it is none of a tree."""
    start = (page - 1) * page_size
    head = start + (FILE_HEADER if page == 1 else 0)
    kind, n_cells = np.int64(pages[head]), _big_endian(pages, head + 3, 2)
    listed = head + (8 if kind in (LEAF_INDEX, LEAF_TABLE) else 12)
    if kind not in (INNER_INDEX, INNER_TABLE, LEAF_INDEX, LEAF_TABLE) or listed + 2 * n_cells > start + usable:
        return np.int64(-1), n_cells, listed
    return kind, n_cells, listed


@inlined
def _cell(pages, page_size, usable, n_cells, listed, k):  # type: ignore[no-untyped-def]
    """The place of a cell of a page, which has at least four bytes; -1 if it is not among the cells of the page."""
    start = listed & -page_size
    place = start + _big_endian(pages, listed + 2 * k, 2)
    return place if listed + 2 * n_cells <= place <= start + usable - 4 else np.int64(-1)


@compiled
def cells_in_order(pages, page_size, usable, root, in_index, found):  # type: ignore[no-untyped-def]
    """The places of all rows below a page, in their order, as far as there is room for them; returns how many."""
    inner, leaf = (INNER_INDEX, LEAF_INDEX) if in_index else (INNER_TABLE, LEAF_TABLE)
    path, entered = np.zeros(DEEPEST, dtype=np.int64), np.zeros(DEEPEST, dtype=np.int64)
    n_pages, seen, level, n = pages.size // page_size, 0, 0, 0
    path[0] = root
    while level >= 0:
        if entered[level] == 0:
            seen += 1
            if not 1 <= path[level] <= n_pages or seen > n_pages:
                return -1
        kind, n_cells, listed = _header(pages, page_size, usable, path[level])
        if kind not in (inner, leaf):
            return -1
        # Of a leaf all cells; of an inner page the one between the child that was left and that which is next.
        k = entered[level]
        first, last = (0, n_cells) if kind == leaf else (max(0, k - 1), min(k, n_cells))
        for c in range(first, last if kind == leaf or in_index else first):
            place = _cell(pages, page_size, usable, n_cells, listed, c)
            if place < 0:
                return -1
            place += 0 if kind == leaf else CHILD
            if place > (listed & -page_size) + usable - 4:
                return -1
            if n < found.size:
                found[n] = place
            n += 1
        if kind == leaf or k > n_cells:
            level -= 1
            continue
        child = listed - CHILD if k == n_cells else _cell(pages, page_size, usable, n_cells, listed, k)
        entered[level] = k + 1
        level += 1
        if child < 0 or level == DEEPEST:
            return -1
        path[level], entered[level] = _big_endian(pages, child, CHILD), 0
    return n


@compiled
def read_scores(pages, page_size, usable, cells, rounds, arms, scores):  # type: ignore[no-untyped-def]
    """Round, arm and score of each row, NaN where there is none; returns how many have no score, or a failure."""
    bits, failed = scores.view(np.int64), 0
    most, here = (usable - 12) * 64 // 255 - 23, (usable - 12) * 32 // 255 - 23  # a longer row has so much of it here
    for k in range(cells.size):
        end = (cells[k] & -page_size) + usable
        size, begin = _varint(pages, cells[k], end)
        end = min(end, begin + (size if size <= most else here))
        if end < begin + 5:
            return -1
        of_round, of_arm, of_score = pages[begin + 1], pages[begin + 2], pages[begin + 3]
        of_failure, first = _varint(pages, begin + 4, end)
        if first != begin + pages[begin] or not (_is_whole(of_round) and _is_whole(of_arm) and of_score <= ONE):
            return -1
        behind_round = first + SIZES[of_round]
        behind_arm = behind_round + SIZES[of_arm]
        behind_score = behind_arm + SIZES[of_score]
        if behind_score > end or behind_score + _text_size(of_failure) != begin + size:
            return -1
        number, arm = _whole(pages, behind_round, of_round), _whole(pages, behind_arm, of_arm)
        if k > 0 and (number < rounds[k - 1] or (number == rounds[k - 1] and arm <= arms[k - 1])):
            return -1
        if of_score == REAL:
            bits[k] = _big_endian(pages, behind_arm, 8)
        else:
            scores[k] = np.nan if of_score == NULL else _whole(pages, behind_score, of_score)
        if not -LARGEST <= arm <= LARGEST or not (np.isfinite(scores[k]) or of_score == NULL):
            return -1
        rounds[k], arms[k] = number, arm
        failed += of_score == NULL or of_failure != NULL
    return failed


@compiled
def read_rounds(pages, page_size, usable, cells, numbers, asked, ends):  # type: ignore[no-untyped-def]
    """Number and arms asked of each round, and where its item ends among all items; ``cells`` become their places."""
    for k in range(cells.size):
        end = (cells[k] & -page_size) + usable
        size, begin = _varint(pages, cells[k], end)
        number, begin = _varint(pages, begin, end)
        if not 4 <= size <= min(end - begin, usable - 35):  # longer rows go on in other pages, wherever they begin
            return -1
        if pages[begin + 1] != NULL:  # the number of a round is that of its row
            return -1
        of_item, place = _varint(pages, begin + 2, begin + size)
        of_asked, first = _varint(pages, place, begin + size)
        if first != begin + pages[begin] or not (of_asked >= 0 and _is_whole(of_asked)):
            return -1
        behind_item = first + _text_size(of_item)
        if of_item == NULL or behind_item + SIZES[of_asked] != begin + size:
            return -1
        n_arms = _whole(pages, begin + size, of_asked)
        if not 0 <= n_arms <= LARGEST or (k > 0 and number <= numbers[k - 1]):
            return -1
        numbers[k], asked[k], cells[k] = number, n_arms, first
        ends[k + 1] = ends[k] + behind_item - first
    return cells.size


@compiled
def join(pages, places, ends, joined):  # type: ignore[no-untyped-def]
    """Put texts at several places into one piece."""
    for k in range(places.size):
        for c in range(ends[k + 1] - ends[k]):
            joined[ends[k] + c] = pages[places[k] + c]
