"""The advice: a number, a range, and the reasons that matter."""

import numpy as np
import pytest

from ngmca.answers.how_many.rank_choice import Evidence, advice, ordinal


def evidence(rank, criteria, *, halves=(), left_out=(), tried=20, spikes=0):
    table = np.full((tried + 2, 4), np.nan)
    for number, value in dict(halves).items():
        table[number] = value
    explained = np.full(tried + 2, 0.002)
    return Evidence(rank, criteria, dict(left_out), table, explained, tried, spikes)


def test_agreement_is_short():
    found = evidence(3, {"directions": 3, "held_out": 3, "halves": 3}, halves={3: 0.95, 4: -0.2})
    assert found.range == (3, 3)
    assert advice(found) == "3: all criteria agree."
    assert advice(evidence(2, {"directions": 2, "held_out": 2})) == "2: both criteria agree."


def test_a_source_that_comes_again_is_in_the_range():
    found = evidence(3, {"directions": 3, "held_out": 3, "halves": 4}, halves={3: 0.9, 4: 0.9})
    assert found.range == (3, 4)
    assert advice(found) == (
        "3 (3 to 4): both criteria agree. A fourth source comes again from halves of the data and "
        "explains 0.2 %."
    )


def test_dissent_is_in_the_range():
    criteria = {"directions": 20, "held_out": 5, "halves": 2}
    found = evidence(2, criteria, halves={2: 0.9, 3: -0.5}, spikes=2)
    assert found.range == (2, 20)
    assert advice(found) == (
        "2 (2 to 20 or more): singular values suggest 20 or more. The prediction of "
        "held-out blocks suggests 5. A third source does not come again from halves of the data and "
        "explains 0.2 %. 2 spikes were left out."
    )


def test_sources_that_do_not_come_again_lower_the_range():
    found = evidence(3, {"directions": 3, "held_out": 3}, halves={3: 0.1})
    assert found.range == (2, 3)
    assert advice(found) == (
        "3 (2 to 3): both criteria agree. Not all of the 3 sources come again from halves of the data."
    )


def test_one_source_that_does_not_come_again():
    found = evidence(1, {"directions": 1, "held_out": 1}, halves={1: 0.1})
    assert advice(found).endswith("agree. This source does not come again from halves of the data.")


def test_why_criteria_were_left_out_is_said():
    why = {"directions": "there are too few channels", "halves": "there are too few measurements"}
    found = evidence(2, {"held_out": 2}, left_out=why, halves={2: 0.1})
    assert found.range == (2, 2)
    assert advice(found) == (
        "2: the prediction of held-out blocks suggests 2. There are too few channels. There are too few "
        "measurements."
    )


@pytest.mark.parametrize(
    ("number", "word"), [(1, "first"), (12, "twelfth"), (21, "21st"), (22, "22nd"), (112, "112th")]
)
def test_ordinals(number, word):
    assert ordinal(number) == word
