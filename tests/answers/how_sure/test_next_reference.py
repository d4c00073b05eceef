"""Which reference is advised, where the answer follows by hand or by trying all of them."""

from dataclasses import replace

import numpy as np
import pytest

import ngmca
from ngmca.answers.how_sure.next_reference import reference_sentences

SHARES = np.linspace(0.35, 0.75, 15)
X = np.arange(60)
S = 0.1 + np.exp(-0.5 * ((X - np.array([[22], [35]])) / 8) ** 2)


@pytest.fixture(scope="module")
def closed():
    """A separation of two substances with a closure, and its range."""
    A = np.column_stack([SHARES, 1 - SHARES])
    Y = A @ S + 0.003 * np.random.default_rng(0).standard_normal((15, 60))
    known = [ngmca.Closure()]
    found = ngmca.separate(Y, 2, constraints=known, n_init=1)
    return replace(found, ambiguity=ngmca.ambiguity(Y, found, constraints=known))


def factorisations(A, S):
    """A T and T^-1 S for many T with rows that sum to 1, where none is negative."""
    drawn = []
    for p in np.linspace(-0.5, 0.5, 81):
        for q in np.linspace(-0.5, 0.5, 81):
            T = np.array([[1 - p, p], [q, 1 - q]])
            if abs(np.linalg.det(T)) > 0.1:
                mixing, sources = A @ T, np.linalg.solve(T, S)
                if mixing.min() >= -0.005 and sources.min() >= -0.01 * sources.max():
                    drawn.append((mixing, sources))
    return drawn[:: max(1, len(drawn) // 400)]


def test_the_advised_measurement_narrows_most_of_all(closed):
    drawn = factorisations(closed.A, closed.S)
    units = np.linalg.norm(closed.A, axis=0), np.linalg.norm(closed.S, axis=1)[:, None]
    every = np.array([np.append((a / units[0]).ravel(), (s / units[1]).ravel()) for a, s in drawn])
    left = []
    for i in range(len(SHARES)):
        seen = np.array([a[i] for a, _ in drawn])
        near = np.argsort(((seen[:, None] - seen) ** 2).sum(axis=2), axis=1)[:, :8]
        left.append(every[near].var(axis=1).sum(axis=1).mean())
    made = [one for one in ngmca.references(closed) if one.kind == "measurement"]
    assert left[made[0].index] < np.median(left) < left[made[-1].index]
    assert [one.narrowing for one in made] == sorted((one.narrowing for one in made), reverse=True)
    assert 0 < made[-1].narrowing < made[0].narrowing < 1


def test_a_source_that_does_not_move_tells_nothing(closed):
    T = np.array([[1, 0.3], [0, 1]])  # the second spectrum stays, the first column of A stays
    found = replace(closed.ambiguity, T=np.broadcast_to(T, (2, 2, 2, 2)))
    free = replace(closed, A=closed.A / np.linalg.norm(closed.A, axis=0))
    made = ngmca.references(free, found)
    assert [(one.kind, one.index) for one in made] == [("spectrum", 0), ("spectrum", 1)]
    assert made[0].narrowing > 0.9 > made[1].narrowing == pytest.approx(0, abs=1e-12)


def test_it_is_said_where_the_range_is_wide(closed):
    best = ngmca.references(closed)[0]
    (words,) = reference_sentences(closed)
    assert words.startswith("What to measure next: the amounts in measurement "), words
    assert f"measurement {best.index + 1} " in words
    same = np.broadcast_to(np.eye(2), (2, 2, 2, 2))
    parts = {"S_low": closed.S, "S_high": closed.S, "T": same}
    assert reference_sentences(replace(closed, ambiguity=replace(closed.ambiguity, **parts))) == []
    assert ngmca.references(replace(closed, ambiguity=None)) == []
