"""Pairs of rows and columns with the smallest sum of costs.

SciPy has the same. Small runs need nothing else of `scipy.optimize`, which takes long to load.
"""

import numpy as np
from numpy.typing import NDArray


def cheapest_pairs(costs: NDArray) -> tuple[NDArray, NDArray]:
    """Return rows and columns of finite costs, each in at most one pair, with the smallest sum.

    Each row in turn gets a column along the shortest path of exchanges. Prices of rows and columns keep
    all costs above their prices at 0 or more, so that a path never has to be taken back.
    """
    if len(costs) > costs.shape[1]:
        columns, rows = cheapest_pairs(costs.T)
        order = np.argsort(rows)
        return rows[order], columns[order]
    n, m = costs.shape
    of_rows, of_columns = np.zeros(n), np.zeros(m + 1)
    owner = np.full(m + 1, -1)  # row of each column; the last one is that of the row without a column
    for row in range(n):
        owner[m], column = row, m
        least, before = np.full(m, np.inf), np.full(m, m)
        seen = np.zeros(m + 1, dtype=bool)
        while owner[column] >= 0:
            seen[column] = True
            left = costs[owner[column]] - of_rows[owner[column]] - of_columns[:m]
            shorter = (left < least) & ~seen[:m]
            least[shorter], before[shorter] = left[shorter], column
            column = int(np.argmin(np.where(seen[:m], np.inf, least)))
            step = least[column]
            of_rows[owner[seen]] += step
            of_columns[seen] -= step
            least[~seen[:m]] -= step
        while column != m:
            owner[column], column = owner[before[column]], int(before[column])
    order = np.argsort(owner[:m], kind="stable")[m - n :]
    return np.arange(n), order
