"""Standards whose first column is the coordinate of the measurements."""

import numpy as np
import pytest

from ngmca.answers.how_much.standards import read_standards
from ngmca.io import ReadError

NAMES = [str(i + 1) for i in range(5)]
TIMES = np.array([0.0, 0.5, 1.0, 1.5, 2.0])


def known(table, label="time [h]"):
    return read_standards(table, NAMES, coordinates=(TIMES, label))


def test_the_nearest_measurement_is_taken():
    found = known({"time": [0.1, 1.4], "glucose (g/L)": [44.0, 30.0]})
    assert np.isfinite(found.known[:, 0]).nonzero()[0].tolist() == [0, 3]
    assert found.units == ("g/L",)
    assert (known({"time (h)": [0.1, 1.4], "glucose": [44.0, 30.0]}).known[[0, 3], 0] == [44, 30]).all()


def test_another_unit_or_quantity_is_not_taken_for_it():
    for head in ("time (min)", "measurement"):
        found = known({head: [1, 2], "glucose": [44.0, 30.0]})
        assert np.isfinite(found.known[:, 0]).nonzero()[0].tolist() == [0, 1]  # numbers from 1


def test_a_time_without_a_measurement_is_told():
    with pytest.raises(ReadError, match=r"no measurement was made at 2\.4.*from 0 to 2"):
        known({"time": [2.4], "glucose": [44.0]})
