"""Columns and rows that are computed from others: errors, ratios, means; and a legend beside a table."""

import re

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import message, option
from ngmca.io.dataset import monotonic
from ngmca.io.read_error import ReadError
from ngmca.io.tables.column_labels import axis_above
from ngmca.io.tables.text_tables import Table

SPREADS = {"sd", "std", "stdev", "err", "error", "sem", "rsd", "cv", "variance", "var", "unc", "sigma",
           "uncertainty", "dev", "deviation", "standard", "esd"}  # fmt: skip
MEANS = {"mean", "average", "avg", "median"}
COUNTS = {"n", "count", "replicates"}  # of the measurements behind a mean
SUMMARIES = SPREADS | MEANS | {"min", "max", "minimum", "maximum", "mittelwert", "moyenne"}
RELATIVE = re.compile(r"\brel|\bnorm|%", re.I)
MAX_COLUMNS = 8  # of a table in which columns may be computed from each other
MIN_ROWS = 20  # that show it


def without_computed(table: Table) -> Table:
    """Return the table without errors and relative values of columns; raise an error for a ratio."""
    if axis_above(table) is not None:
        return table
    table = _without_means(_without_spreads(table)) if table.names else table
    width = table.values.shape[1]
    if not 3 <= width <= MAX_COLUMNS or table.words or len(table.values) < MIN_ROWS:
        return table
    columns = table.values.T
    if not monotonic(columns[0]) or not np.isfinite(columns).all():
        return table
    pairs = [(j, k) for k in range(1, width) for j in range(1, width) if j != k]
    left = {k for j, k in pairs if _is_root(columns[k], columns[j]) or _is_relative(table, k, j)}
    for k in reversed(range(1, width)):
        _check_ratio(table, k)
    return table.take([j for j in range(width) if j not in left])


def _without_spreads(table: Table) -> Table:
    """Return the table without columns that are the standard deviations or errors of other columns."""
    words = [re.findall(r"[a-z]+|\d+", name.lower()) for name in table.names]
    plain = {name.strip().lower() for name in table.names[1:]}
    bases = [tuple(w for w in one if w not in SPREADS | MEANS) for one in words]
    differs = [name[:1] == "d" and name[1:].lower() in plain for name in table.names]  # dI beside I
    spread = [
        bool(SPREADS & set(one)) or d or _is_sigma(one, words)
        for d, one in zip(differs, words, strict=True)
    ]
    others = [j for j in range(1, len(words)) if not spread[j]]
    of_others = {bases[j] for j in others}
    left = [j for j in range(1, len(words)) if spread[j] and (bases[j] in of_others or len(others) == 1)]
    named = [j for j in others if words[j] and set(words[j]) <= COUNTS]
    counted = named if any(spread[1:]) and len(named) < len(others) else []
    kept = [j for j in range(len(words)) if j not in {*left, *counted}]
    return table.take(kept) if others else table


def _without_means(table: Table) -> Table:
    """Return the table without a column that is called the mean of all others, and is it."""
    called = [{*re.findall(r"[a-z]+", name.lower())} for name in table.names]
    others = [j for j in range(1, len(called)) if not called[j] & MEANS and j not in table.words]
    if len(others) < 2 or len(table.values) < MIN_ROWS:
        return table
    mean = table.values[:, others].mean(axis=1)
    near = 2e-3 * np.ptp(mean)  # it may be rounded
    left = [
        j
        for j in range(1, len(called))
        if called[j] and called[j] <= MEANS and np.abs(table.values[:, j] - mean).max() < near
    ]
    return table.take([j for j in range(len(called)) if j not in left])


def _is_sigma(words: list[str], all_words: list[list[str]]) -> bool:
    """Return whether a heading is Sig(q) beside I(q); sig alone may be a signal."""
    inner = set(words[1:])
    return (
        words[:1] == ["sig"]
        and bool(inner)
        and any(one[-1:] == words[-1:] for one in all_words[1:] if one != words)
    )


def _is_root(column: NDArray, other: NDArray) -> bool:
    """Return whether a column is the square root of another one: the error of counts."""
    if other.min() < 0 or column.max() <= 1 or monotonic(column):
        return False
    return bool(np.allclose(column, np.sqrt(other), rtol=1e-3, atol=6e-3))


def _is_relative(table: Table, k: int, j: int) -> bool:
    """Return whether a column is called relative, and is another one times a constant."""
    if not table.names or not RELATIVE.search(table.names[k]) or RELATIVE.search(table.names[j]):
        return False
    a, b = table.values[:, k], table.values[:, j]
    return a.max() > 0 and b.max() > 0 and bool(np.abs(a / a.max() - b / b.max()).max() < 1e-3)


def _check_ratio(table: Table, k: int) -> None:
    """Raise an error if a column is a ratio of two others, or its logarithm."""
    width, column = table.values.shape[1], table.values[:, k]
    for i in range(1, width):
        for j in range(1, width):
            a, b = table.values[:, i], table.values[:, j]
            if len({i, j, k}) < 3 or min(a.min(), b.min()) <= 0 or np.ptp(a) == 0 or np.ptp(b) == 0:
                continue
            if _proportional(column, a / b) or _proportional(column, np.log(a / b)):
                raise ReadError(
                    "{}: column {} is a ratio of columns {} and {}. Say which columns are data, for "
                    "example {}.",
                    *(table.where, table.columns[k] + 1, table.columns[i] + 1, table.columns[j] + 1),
                    option("columns", f"{table.columns[k] + 1}"),
                )


def _proportional(v: NDArray, w: NDArray) -> bool:
    """Return whether numbers are others times a constant, to three digits, and vary."""
    scale = float(v @ w) / (float(w @ w) or 1.0)
    spread = np.ptp(v)
    return bool(spread > 0.05 * np.abs(v).max() and np.abs(v - scale * w).max() < 2e-3 * spread)


def without_summaries(table: Table) -> Table:
    """Return the table without rows such as mean and standard deviation of the others, with a note."""
    if 0 not in table.words:
        return table
    plain = [re.sub(r"[^\w ]", "", cell.lower()).split() for cell in table.words[0]]
    summary = np.array([bool(one) and set(one) <= SUMMARIES for one in plain])
    if not summary.any() or (~summary).sum() < 3:
        return table
    named = ", ".join(
        f"{n} {cell}"
        for n, cell, one in zip(table.lines.numbers, table.words[0], summary, strict=True)
        if one
    )
    remark = message("lines that summarise the others were left out: {}.", named)
    return table.rows(~summary).with_remarks(remark)


def without_legend(table: Table) -> Table:
    """Return the table without a small table of words and numbers beside its upper lines."""
    wordy = [j for j in table.words if j > 1]
    first = min(wordy, default=0)
    if (
        not first
        or any(j in table.words for j in range(first))
        or not np.isfinite(table.values[:, 0]).all()
    ):
        return table
    filled = np.array([bool(cell) for cell in table.words[first]])
    beside = np.isfinite(table.values[:, first + 1 :])
    if (
        not beside.size
        or 2 * filled.sum() > len(filled)
        or beside[~filled].any()
        or not beside[filled].any()
    ):
        return table
    return table.take(range(first))
