"""Pairs with the smallest sum of costs."""

import subprocess
import sys
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from ngmca._support.assignment import cheapest_pairs


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (4, 6), (6, 4), (1, 5), (5, 1), (5, 5)], ids=str)
@pytest.mark.parametrize("kind", ["random", "whole numbers", "equal"])
def test_the_sum_is_the_smallest_of_all_pairings(shape, kind):
    rng = np.random.default_rng(sum(shape))
    for _ in range(20):
        costs = rng.standard_normal(shape) * 100
        costs = np.round(costs / 80) if kind == "whole numbers" else costs
        costs = np.full(shape, 3.0) if kind == "equal" else costs
        rows, columns = cheapest_pairs(costs)
        assert len(rows) == len(set(rows)) == len(set(columns)) == min(shape)
        np.testing.assert_array_equal(rows, np.sort(rows))
        few = costs if shape[0] <= shape[1] else costs.T
        best = min(
            sum(few[i, j] for i, j in enumerate(some))
            for some in permutations(range(few.shape[1]), len(few))
        )
        assert costs[rows, columns].sum() == pytest.approx(best)


def test_large_tables_agree_with_scipy():
    costs = np.random.default_rng(0).random((60, 90)) ** 3
    rows, columns = cheapest_pairs(costs)
    np.testing.assert_array_equal(columns, linear_sum_assignment(costs)[1])
    np.testing.assert_array_equal(rows, np.arange(60))


def test_a_separation_does_not_load_the_optimizers_of_scipy():
    code = (
        "import sys, numpy as np, ngmca; Y = np.random.default_rng(0).random((6, 2)) @ np.eye(2, 40);"
        "ngmca.separate(Y, 2, n_init=3); assert 'scipy.optimize' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
