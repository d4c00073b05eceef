"""Find where the table begins and ends in a text."""

from collections import Counter
from typing import NamedTuple

from ngmca.io.tables.cells import Kind, Lines, Style, kind_of, rising, sample

MAX_NAME_LINES = 6  # above a table


class Place(NamedTuple):
    """First and last line of a table, its width, and whether its lines begin with numbers."""

    first: int
    last: int
    width: int
    numbered: bool


def find_table(lines: Lines, style: Style) -> Place | None:
    """Return the place of the table: most numbers are in lines of its form, and it has all of them."""
    kinds = {i: kind_of(style.cells(text), style) for i, text in sample(lines)}
    rows = [kind for kind in kinds.values() if kind.is_row]
    weights: Counter[tuple[int, bool | None]] = Counter()
    for kind in [kind for kind in rows if kind.first is not None] or rows:
        weights[kind.width, kind.first] += kind.numbers
    if not weights:
        return None
    form = max(weights, key=lambda form: weights[form])
    places = [i for i, kind in kinds.items() if kind.is_row and (kind.width, kind.first) == form]
    if len(places) > 2 and not form[1] and not _row_at(places[0] + 1, kinds):  # names, then their types
        places = places[1:]
    first, last = places[0], places[-1]
    while last + 1 < len(lines.texts) and _continues(lines, last + 1, style, form):
        last += 1
    return Place(_begin(lines, first, style, form), last, form[0], bool(form[1]))


def _row_at(place: int, kinds: dict[int, Kind]) -> bool:
    return place in kinds and kinds[place].is_row


def _continues(lines: Lines, i: int, style: Style, form: tuple[int, bool | None]) -> bool:
    """Return whether a line below belongs to the table; not if it begins with a word after a gap."""
    cells = style.cells(lines.texts[i])
    if len(cells) != form[0] or not _is_entry(cells, style):
        return False
    apart = lines.numbers[i] > lines.numbers[i - 1] + 1
    return not (apart and form[1] and style.is_word(cells[0]))


def _is_entry(cells: list[str], style: Style) -> bool:
    """Return whether a line belongs to a table; its numbers may be missing."""
    if kind_of(cells, style).is_row:
        return True
    rest = [cell for cell in cells[1:] if cell]
    return bool(rest) and not any(style.is_word(cell) for cell in rest)


def _begin(lines: Lines, first: int, style: Style, form: tuple[int, bool | None]) -> int:
    """Return the first line of the table, including lines above that cannot be names."""
    head: list[list[str]] = []
    for text in reversed(lines.texts[:first]):
        cells = style.cells(text)
        if len(cells) != form[0]:
            break
        head.append(cells)
    head.reverse()
    places = range(len(head)) if form[1] else range(0)
    entries = (i for i in places if _is_entry(head[i], style) and _is_no_name(head, i, style))
    return first - len(head) + next(entries, len(head))


def _is_no_name(head: list[list[str]], i: int, style: Style) -> bool:
    """Return whether a line above belongs to the table: it has a position, or is below an axis."""
    first, is_axis = head[i][0], rising(head[i][1:], style)
    is_row = kind_of(head[i], style).is_row
    if i == 0 and is_axis:
        return False
    if first and not style.is_word(first) and (is_row or style.number(first) is not None):
        return True
    above = any(rising(cells[1:], style) for cells in head[: min(i, MAX_NAME_LINES)])
    return bool(first) and above and is_row and not is_axis
