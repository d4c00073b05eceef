"""Arguments of the library as options of the command line."""

import pytest

from ngmca.cli.console import in_flags


@pytest.mark.parametrize(
    ("library", "spoken"),
    [
        ("tau must be at least 0, got -1.0.", "--tau must be at least 0, got -1.0."),
        ("n_iter must be an integer.", "--iterations must be an integer."),
        ("noise must be real.", "--noise must be real."),
        ("r must be at least 1, got 0.", "-r must be at least 1, got 0."),
        (
            "tau has no meaning for method='anls': leave it out.",
            "--tau has no meaning for --method anls: leave it out.",
        ),
        (
            "some sources explain noise, or a larger tau.",
            "some sources explain noise, or a larger --tau.",
        ),
        ("Give it, for instance noise=0.12, or not.", "Give it, for instance --noise 0.12, or not."),
        ("fewer than 3, or a larger tau=.", "fewer than 3, or a larger --tau."),
        ("choose one by dataset=: a, b.", "choose one with --dataset: a, b."),
        ("leave it out (Dataset.crop).", "leave it out (--range)."),
        ("measurements (transpose=True if not).", "measurements (--transpose if not)."),
        ("leave out transpose=False.", "leave out --no-transpose."),
        ("choose with dataset='/scan/data'.", "choose with --dataset /scan/data."),
        ("a exists; force=True replaces it", "a exists; --force replaces it"),
        # what only looks like an argument
        ("the noise of method A", "the noise of method A"),
        ("/data/tau/n_iter.csv does not exist.", "/data/tau/n_iter.csv does not exist."),
        ("--tau 2 is not --method soft", "--tau 2 is not --method soft"),
        ("ngmca.rivals.hals has all the options", "ngmca.rivals.hals has all the options"),
    ],
)
def test_translation(library, spoken):
    assert in_flags(library) == spoken
