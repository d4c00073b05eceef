"""Equally good answers: which they are, and how far their sources differ."""

from dataclasses import replace

import numpy as np
import pytest

import ngmca
from ngmca.algorithms.restarts import equally_good
from ngmca.answers.how_sure import agreement, diagnose, findings
from ngmca.result import Restart

Y = ngmca.simulate.spectra(m=12, n=200, r=2, lines=4, snr=25, seed=0).Y


@pytest.fixture(scope="module")
def separation():
    return ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=20), n_init=1)


def with_starts(separation, *starts):
    """Starts by cost, agreement and that of each source, compared by their costs."""
    equal = equally_good([cost for cost, *_ in starts])
    restarts = (Restart(*one, equal=bool(good)) for one, good in zip(starts, equal, strict=True))
    return replace(separation, restarts=tuple(restarts))


def test_only_equally_good_answers_count_and_the_worst_of_them(separation):
    several = with_starts(
        separation,
        (100.5, 20.0, (30.0, 10.5)),
        (100.0, 250.0, (250.0, 250.0)),  # the chosen one
        (100.9, 20.0, (12.0, 28.0)),
        (150.0, -7.0, (-7.0, -7.0)),  # fits worse: no other answer, but a bad one
    )
    np.testing.assert_array_equal(agreement(several), [12.0, 10.5])
    assert "starts" not in {f.kind for f in findings(several, diagnose(Y, several))}


def test_sources_that_the_data_do_not_decide_are_named(separation):
    several = with_starts(separation, (-1.0, 250.0, (250.0, 250.0)), (-0.995, 9.0, (25.0, -7.6)))
    numbers = diagnose(Y, several)
    told = {f.kind: f for f in findings(several, numbers)}["starts"]
    assert "2 of 2 starts" in told.text
    assert "source 2 (down to -8 dB)" in told.text
    assert told.cost == pytest.approx(numbers.share[1])


def test_nothing_is_known_of_one_start_or_of_an_older_file(separation):
    assert agreement(separation) is None
    assert agreement(with_starts(separation, (1.0, 250.0), (1.0, 3.0))) is None
