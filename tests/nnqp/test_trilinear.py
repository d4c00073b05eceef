"""Profiles that are the same in every data set, against the definition and other data."""

import numpy as np
import pytest

import ngmca
from ngmca.nnqp.gram import Gram
from ngmca.nnqp.trilinear import solve_trilinear

PARTS, ROWS, R, N = 5, 8, 3, 40


def problem(*, own=False, seed=0):
    """Gram matrices, correlations, weights, data, sources, amounts and profiles of a noisy problem."""
    rng = np.random.default_rng(seed)
    S, c, b = rng.random((R, N)), rng.random((PARTS, R)), rng.random((ROWS, R))
    X = np.einsum("pk,ik->pik", c, b).reshape(-1, R)
    Y = X @ S + 0.1 * rng.standard_normal((PARTS * ROWS, N))
    W = np.where(rng.random(Y.shape) < 0.3, 0.0, 1.0) if own else np.ones(Y.shape)
    each = np.einsum("ij,kj,lj->ikl", W, S, S)
    G = Gram(each, np.arange(len(Y))) if own else Gram(S @ S.T)
    return G, (W * Y) @ S.T, W, Y, S, X


def cost(W, Y, S, X):
    return float(np.sum(W * (Y - X @ S) ** 2)) / 2


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("inside", [(True, True, True), (True, True, False)])
def test_no_profile_no_amount_and_no_free_entry_can_be_improved(own, inside):
    G, C, W, Y, S, _ = problem(own=own)
    inside = np.array(inside)
    X = np.random.default_rng(1).random(C.shape)
    far = solve_trilinear(G, C, X, PARTS, inside)
    assert far < 1e-6
    assert X.min() >= 0
    for k in np.flatnonzero(inside):
        assert np.linalg.matrix_rank(X[:, k].reshape(PARTS, ROWS), tol=1e-9 * X.max()) == 1
    best, rng = cost(W, Y, S, X), np.random.default_rng(2)
    for _ in range(200):  # small moves of amounts, of profiles and of free columns
        moved = X.reshape(PARTS, ROWS, R).copy()
        k = rng.integers(R)
        if not inside[k]:
            moved[rng.integers(PARTS), rng.integers(ROWS), k] += 1e-3 * rng.standard_normal()
        elif rng.random() < 0.5:
            moved[rng.integers(PARTS), :, k] *= 1 + 1e-3 * rng.standard_normal()
        else:
            moved[:, rng.integers(ROWS), k] *= 1 + 1e-3 * rng.standard_normal()
        moved = np.maximum(moved, 0).reshape(-1, R)
        assert cost(W, Y, S, moved) >= best * (1 - 1e-9)


def test_a_certificate_that_tells_a_wrong_answer():
    G, C, *_ = problem()
    assert solve_trilinear(G, C, np.ones(C.shape), PARTS, np.ones(R, dtype=bool), rounds=1) > 1e-3


def test_common_profiles_determine_sources_that_nothing_else_does():
    """Spectra and profiles that are nowhere 0: without common profiles, many mixtures fit as well."""
    rng = np.random.default_rng(3)
    x = np.linspace(0, 1, 50)
    S = 0.3 + np.array([np.exp(-((x - p) ** 2) / 0.05) for p in (0.2, 0.5, 0.8)])
    b = 0.2 + np.array([np.exp(-((np.linspace(0, 1, 10) - p) ** 2) / 0.1) for p in (0.1, 0.4, 0.9)]).T
    c = rng.random((6, R)) + 0.1
    sets = [(b * one) @ S + 0.002 * rng.standard_normal((10, 50)) for one in c]

    def error(found):
        unit = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in (found.S, S)]
        return 1 - np.min(np.max(unit[1] @ unit[0].T, axis=1))

    given = {"n_init": 1, "domain": "direct", "noise": 0.002}
    free = ngmca.separate(sets, R, constraints=[], **given)
    common = ngmca.separate(sets, R, constraints=[ngmca.Trilinear()], **given)
    assert error(common) < 3e-3 < error(free) / 3
    assert common.history.mixing_violation[-1] < 1e-4


def test_data_sets_that_do_not_suit_are_named():
    Y = np.random.default_rng(0).random((12, 20))
    for data, words in ((Y, "one data set"), ([Y[:5], Y[5:]], "5 and 7 measurements")):
        with pytest.raises(ValueError, match=words):
            ngmca.separate(data, 2, constraints=[ngmca.Trilinear()])
    with pytest.raises(ValueError, match="names source 2"):
        ngmca.separate([Y[:6], Y[6:]], 2, constraints=[ngmca.Trilinear(sources=[2])])
