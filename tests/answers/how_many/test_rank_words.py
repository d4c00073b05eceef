"""The sentence about the number of sources."""

import numpy as np
import pytest

from ngmca.answers.how_many.rank_choice import Evidence, advice, advice_at_limit, alternatives, ordinal


def told(rank, held_out, edge, stability, seen, **known):
    """The sentence where so many of 5 folds predict better with each source, and the others worse."""
    criteria = {"held_out": held_out, "singular_values": edge, "stability": stability}
    steps = np.where(np.arange(5)[:, None] < seen, -1.0, 3.0)
    perhaps = alternatives(rank, criteria, 100 + np.cumsum(steps, axis=1))
    return advice(Evidence(rank, criteria, np.array(seen), 5, **known), perhaps)


def test_the_next_source_is_in_doubt():
    assert told(4, 4, 4, 4, [0, 5, 5, 5, 5, 2, 1]) == (
        "4, perhaps 5: the fifth source improves the prediction in 2 of 5 folds."
    )
    assert told(4, 4, 4, 4, [0, 5, 5, 5, 5, 1, 5]) == "4: all criteria agree."
    found = told(4, 4, 4, 4, [0, 5, 5, 5, 5, 3, 2, 0])
    assert found == "4, perhaps 5 or 6: the fifth source improves the prediction in 3 of 5 folds."


def test_a_criterion_suggests_another_number():
    found = told(4, 4, 5, 4, [0, 5, 5, 5, 5, 0, 0])
    assert found == "4: singular values suggest 5."
    found = told(4, 4, 5, 4, [0, 5, 5, 5, 5, 1, 0])
    assert found == (
        "4, perhaps 5: the fifth source improves the prediction in 1 of 5 folds and singular values "
        "suggest 5."
    )
    found = told(4, 4, 4, 3, [0, 5, 5, 5, 4, 0])
    assert found == (
        "4, perhaps 3: the fourth source improves the prediction in 4 of 5 folds and sources that are "
        "found again in other measurements suggest 3."
    )
    found = told(4, 4, 4, 3, [0, 5, 5, 5, 5, 0])
    assert found == "4: sources that are found again in other measurements suggest 3."
    found = told(4, 3, 4, 4, [0, 5, 5, 5, 2, 0])
    assert found == (
        "4, perhaps 3: the fourth source improves the prediction in 2 of 5 folds and held-out entries "
        "suggest 3."
    )


def test_singular_values_beyond_all_that_was_tried():
    found = told(2, 2, 30, 2, [0, 5, 5, 0, 0, 0])
    cause = "more than the 5 that were tried: the noise may not be white"
    assert found == f"2: singular values suggest 30 ({cause})."
    found = told(2, 2, 30, 2, [0, 5, 5, 0, 0])  # so few do not show that more predict no better
    assert found == "2: singular values suggest 30 (more than the 4 that were tried)."
    found = told(2, 2, 3, 2, [0, 5, 5, 0, 0], missing=True)
    assert found == "2: singular values suggest 3 (missing entries may make this number too large)."
    assert told(2, 2, 1, 2, [0, 5, 5, 0, 0], missing=True) == "2: singular values suggest 1."


def test_spikes_are_counted():
    assert told(2, 2, 2, 2, [0, 5, 5, 0], spikes=1) == "2: all criteria agree. 1 spike was left out."
    criteria = {"held_out": 1, "singular_values": 1, "stability": 1}
    found = advice_at_limit(Evidence(1, criteria, np.array([0, 5]), 5, spikes=2))
    assert found.endswith(
        "the first source improves the prediction in 5 of 5 folds. 2 spikes were left out."
    )


def test_nothing_and_too_early():
    assert told(0, 0, 0, 0, [0, 0, 0, 0]) == "0: no source stands out from the noise."
    assert told(0, 0, 1, 0, [0, 0, 0, 0]) == "0: singular values suggest 1."
    criteria = {"held_out": 13, "singular_values": 13, "stability": 2}
    assert advice_at_limit(Evidence(13, criteria, np.full(14, 4), 5)) == (
        "13 or more: the search stopped there, the 13th source improves the prediction in 4 of 5 folds "
        "and sources that are found again in other measurements suggest 2."
    )


@pytest.mark.parametrize(
    ("number", "word"), [(1, "first"), (12, "twelfth"), (21, "21st"), (22, "22nd"), (112, "112th")]
)
def test_ordinals(number, word):
    assert ordinal(number) == word
