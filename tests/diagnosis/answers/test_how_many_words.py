"""The sentence about the number of sources."""

import numpy as np
import pytest

from ngmca.diagnosis.answers.how_many_words import advice, at_the_end, maybe, ordinal


def told(rank, held_out, edge, stability, seen):
    """The sentence where so many of 5 folds predict better with each source, and the others worse."""
    witnesses = {"held_out": held_out, "edge": edge, "stability": stability}
    steps = np.where(np.arange(5)[:, None] < seen, -1.0, 3.0)
    perhaps = maybe(rank, witnesses, 100 + np.cumsum(steps, axis=1))
    return advice(rank, perhaps, witnesses, np.array(seen), 5)


def test_the_next_source_is_in_doubt():
    assert told(4, 4, 4, 4, [0, 5, 5, 5, 5, 2, 1]) == "4, perhaps 5: the fifth is seen in 2 of 5 folds."
    assert told(4, 4, 4, 4, [0, 5, 5, 5, 5, 1, 5]) == "4: all witnesses agree."
    found = told(4, 4, 4, 4, [0, 5, 5, 5, 5, 3, 2, 0])
    assert found == "4, perhaps 5 or 6: the fifth is seen in 3 of 5 folds."


def test_a_witness_says_something_else():
    found = told(4, 4, 5, 4, [0, 5, 5, 5, 5, 0, 0])
    assert found == "4: singular values say 5."
    found = told(4, 4, 5, 4, [0, 5, 5, 5, 5, 1, 0])
    assert found == "4, perhaps 5: the fifth is seen in 1 of 5 folds and singular values say 5."
    found = told(4, 4, 4, 3, [0, 5, 5, 5, 4, 0])
    assert found == (
        "4, perhaps 3: the fourth is seen in 4 of 5 folds and sources that come again from other "
        "measurements say 3."
    )
    found = told(4, 4, 4, 3, [0, 5, 5, 5, 5, 0])
    assert found == "4: sources that come again from other measurements say 3."
    found = told(4, 3, 4, 4, [0, 5, 5, 5, 2, 0])
    assert found == "4, perhaps 3: the fourth is seen in 2 of 5 folds and held-out entries say 3."


def test_singular_values_beyond_all_that_was_tried():
    found = told(2, 2, 30, 2, [0, 5, 5, 0, 0, 0])
    assert found == "2: singular values say 30 (as if the noise were not white)."


def test_nothing_and_too_early():
    assert told(0, 0, 0, 0, [0, 0, 0, 0]) == "0: no source is seen above the noise."
    assert told(0, 0, 1, 0, [0, 0, 0, 0]) == "0: singular values say 1."
    witnesses = {"held_out": 13, "edge": 13, "stability": 2}
    assert at_the_end(13, witnesses, np.full(14, 4), 5) == (
        "13 or more: the search ended there, where the 13th source is seen in 4 of 5 folds and sources "
        "that come again from other measurements say 2."
    )


@pytest.mark.parametrize(
    ("number", "word"), [(1, "first"), (12, "twelfth"), (21, "21st"), (22, "22nd"), (112, "112th")]
)
def test_ordinals(number, word):
    assert ordinal(number) == word
