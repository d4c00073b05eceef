"""Answers in a result file: all that they hold comes back."""

from dataclasses import fields, is_dataclass, replace

import numpy as np

import ngmca
from ngmca.answers.run import NO_ANSWERS, Answers
from ngmca.saving.result_file import read_result, write_result
from ngmca.saving.results import described
from ngmca.saving.variables_in_file import answers_from_variables, answers_to_variables


def same(a, b):
    """Whether two records hold the same, of the same kinds."""
    if is_dataclass(a):
        assert type(a) is type(b)
        return all(same(getattr(a, part.name), getattr(b, part.name)) for part in fields(a))
    if isinstance(a, np.ndarray):
        assert isinstance(b, np.ndarray)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        return True
    if isinstance(a, tuple):
        assert isinstance(b, tuple)
        assert len(a) == len(b)
        return all(same(*pair) for pair in zip(a, b, strict=True))
    if isinstance(a, dict):
        assert list(a) == list(b)
        return all(same(a[key], b[key]) for key in a)
    assert type(a) is type(b) or a == b
    assert a == b or (a != a and b != b)
    return True


def all_answers():
    mixture = ngmca.simulate.spectra(m=12, n=300, r=3, lines=4, snr=25, seed=1)
    found = ngmca.separate(mixture.Y, 3, method=ngmca.Soft(n_iter=30), n_init=1)
    axis = np.linspace(1, 9, 300)
    library = {f"a <b> {i}": (axis, row) for i, row in enumerate(mixture.S)}
    return found, Answers(
        ngmca.choose_rank(mixture.Y, 4, seed=0),
        ngmca.identify(found, library, axis=axis),
        ngmca.quantify(found, (range(5), mixture.A[:5])),
    )


def test_all_answers_come_back(tmp_path):
    found, answers = all_answers()
    write_result(tmp_path / "all.nc", found, described(found, None), None, {}, answers)
    assert same(answers, read_result(tmp_path / "all.nc")[-1])
    one = replace(NO_ANSWERS, amounts=answers.amounts)
    write_result(tmp_path / "one.nc", found, described(found, None), None, {}, one)
    back = read_result(tmp_path / "one.nc")[-1]
    assert back.rank is None
    assert same(one, back)


def test_nothing_asked_is_nothing_kept():
    assert answers_to_variables(NO_ANSWERS) == {}
    assert answers_from_variables({"A": np.zeros(2)}) == NO_ANSWERS
