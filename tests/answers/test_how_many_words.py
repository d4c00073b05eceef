"""The sentence about the number of sources."""

import numpy as np
import pytest

from ngmca.answers.how_many.rank_words import advice, at_the_end, maybe, ordinal


def told(rank, held_out, edge, stability, seen, **known):
    """The sentence where so many of 5 folds predict better with each source, and the others worse."""
    witnesses = {"held_out": held_out, "edge": edge, "stability": stability}
    steps = np.where(np.arange(5)[:, None] < seen, -1.0, 3.0)
    perhaps = maybe(rank, witnesses, 100 + np.cumsum(steps, axis=1))
    return advice(rank, perhaps, witnesses, np.array(seen), 5, **known)


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
    cause = "more than the 5 that were tried, as if the noise were not white"
    assert found == f"2: singular values say 30 ({cause})."
    found = told(2, 2, 30, 2, [0, 5, 5, 0, 0])  # so few do not show that more predict no better
    assert found == "2: singular values say 30 (more than the 4 that were tried)."
    found = told(2, 2, 3, 2, [0, 5, 5, 0, 0], missing=True)
    assert found == "2: singular values say 3 (missing entries may add to them)."
    assert told(2, 2, 1, 2, [0, 5, 5, 0, 0], missing=True) == "2: singular values say 1."


def test_spikes_are_counted():
    assert told(2, 2, 2, 2, [0, 5, 5, 0], spikes=1) == "2: all witnesses agree, with 1 spike left out."
    witnesses = {"held_out": 1, "edge": 1, "stability": 1}
    found = at_the_end(1, witnesses, np.array([0, 5]), 5, spikes=2)
    assert found.endswith("the first source is seen in 5 of 5 folds, with 2 spikes left out.")


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
