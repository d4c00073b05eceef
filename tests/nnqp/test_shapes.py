"""Shapes of profiles: projections against every peak, the sub-problem against a cone solver."""

from itertools import pairwise

import numpy as np
import pytest
from cone_solver import minimum
from sklearn.isotonic import isotonic_regression

from ngmca.algorithms.steps import SHAPED_ROUNDS, SHAPED_TOL
from ngmca.nnqp import Solution, pivot, pooling, shaped
from ngmca.nnqp import profile_shapes as shapes
from ngmca.nnqp.gram import Gram
from ngmca.nnqp.profile_shapes import descend_shaped, residual_shaped


def descend_each(H, which, C, bound, X, max_iter, tol, fixed=None):
    """Bounded columns of X, each row with its own matrix."""
    given = {"bound": bound, "which": which, "fixed": fixed, "max_iter": max_iter, "tol": tol}
    return descend_shaped(H, C, X, "free", **given)


def projection(shape):
    """The nearest vector b >= 0 in a shape, each entry with its own weight."""

    def project(b, w=1.0, points=np.nan):
        b = np.array(b, dtype=float)
        w, x = np.broadcast_to(w, b.shape).astype(float), np.empty(b.shape)
        points = np.broadcast_to(points, b.shape).astype(float)
        pooling.best_column(shapes.SHAPES[shape], b * w, w, np.inf, points, x)
        return x

    return project


increasing, decreasing, unimodal = map(projection, ("increasing", "decreasing", "unimodal"))


def monotone(b, w, *, rising):
    """The non-negative monotone projection by scikit-learn."""
    if not b.size:
        return b
    return isotonic_regression(b, sample_weight=w, y_min=0, increasing=rising)


def with_peak(b, w, p):
    """The projection that increases before p and decreases from p on."""
    return np.concatenate([monotone(b[:p], w[:p], rising=True), monotone(b[p:], w[p:], rising=False)])


def misfit(b, w, x):
    return np.sum(w * (x - b) ** 2)


def vectors(count=300):
    rng = np.random.default_rng(0)
    for t in range(count):
        m = int(rng.integers(1, 15))
        b = rng.standard_normal(m) + 0.4
        b = np.round(2 * b) if t % 3 == 0 else b  # ties
        yield b, 10.0 ** rng.uniform(-2, 2, m) if t % 2 else np.ones(m)


@pytest.mark.parametrize("rising", [True, False])
def test_monotone_projections_are_those_of_another_program(rising):
    project = increasing if rising else decreasing
    bent = 0
    for b, w in vectors():
        x = project(b, w)
        np.testing.assert_allclose(x, monotone(b, w, rising=rising), atol=1e-12)
        bent += not np.allclose(x, np.maximum(b, 0))
    assert bent > 200


def test_the_unimodal_projection_is_the_best_of_all_peaks():
    bent, monotonous = 0, 0
    for b, w in vectors():
        x = unimodal(b, w)
        peak = int(x.argmax())
        assert (x >= 0).all()
        assert (np.diff(x[: peak + 1]) >= 0).all()
        assert (np.diff(x[peak:]) <= 0).all()
        least = min(misfit(b, w, with_peak(b, w, p)) for p in range(len(b) + 1))
        assert misfit(b, w, x) <= least + 1e-12 * misfit(b, w, 0)
        bent += not np.allclose(x, np.maximum(b, 0))
        one_side = min(misfit(b, w, project(b, w)) for project in (increasing, decreasing))
        monotonous += one_side <= least * (1 + 1e-9)
    assert bent > 150
    assert monotonous < 200  # neither would do


def test_a_peak_at_the_largest_entry_would_be_wrong():
    b = np.array([0.0, 5.0, 0.0] + 10 * [4.0])
    x = unimodal(b)
    assert x.argmax() == 3
    assert misfit(b, 1, x) < misfit(b, 1, with_peak(b, np.ones(13), 1)) - 1


def test_what_has_its_shape_already_is_not_touched():
    b = np.array([0.1, 0.1, 0.3, 0.7, 0.7, 0.2, 0.0])
    np.testing.assert_array_equal(unimodal(b), b)
    np.testing.assert_array_equal(increasing(b[:4]), b[:4])
    np.testing.assert_array_equal(decreasing(b[4:]), b[4:])
    assert unimodal([]).shape == (0,)


def test_entries_without_weight_keep_the_shape_and_cost_nothing():
    b = np.array([9.0, 1.0, -7.0, 2.0, 3.0, 9.0, 1.0, 9.0])
    w = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(unimodal(b, w), [0, 1, 1, 2, 3, 1, 1, 0])
    np.testing.assert_array_equal(increasing(b[:5], w[:5]), [0, 1, 1, 2, 3])
    np.testing.assert_array_equal(decreasing(b[4:], w[4:]), [3, 1, 1, 0])
    np.testing.assert_array_equal(unimodal(b, 0.0), 0)


KINDS = ("free", "increasing", "decreasing", "unimodal")
FAMILIES = ("shared", "own", "shared singular", "own singular")
PRECISE = {"max_iter": 50_000, "tol": 1e-13}


def problem(family, rng, kinds=KINDS[:3]):
    """A (columns, n, r), y, the names of shapes and bounds; profiles are rows of X (r, columns)."""
    r, m = int(rng.integers(2, 5)), int(rng.integers(4, 9))
    n = r - 1 if "singular" in family else r + 2
    A = rng.random((m if "own" in family else 1, n, r))
    if "own" in family:
        A *= 10.0 ** rng.uniform(-1, 1, (m, 1, 1))
        A[rng.integers(m)] = 0  # nothing was observed there
    A = np.broadcast_to(A, (m, n, r))
    y = np.einsum("tnr,tr->tn", A, rng.random((m, r))) * (1 + 0.5 * rng.standard_normal((m, n)))
    names = [kinds[i] for i in rng.integers(0, len(kinds), r)]
    return A, y, names, 10.0 ** rng.uniform(-0.5, 0.7, r)


def small(A, y, family):
    """The sub-problem: G, C and which."""
    H, C = np.einsum("tnj,tnk->tjk", A, A), np.einsum("tnj,tn->jt", A, y)
    return (H, C, np.arange(len(A))) if "own" in family else (H[0], C, None)


def value(A, y, X):
    return np.sum((np.einsum("tnr,rt->tn", A, X) - y) ** 2) / 2


def by_cone(A, y, names, bound):
    """The least misfit, by an interior-point method; x holds the profiles one after the other."""
    m, _, r = A.shape
    P, q = np.zeros((r, m, r, m)), -np.einsum("tnj,tn->jt", A, y).ravel()
    for t in range(m):
        P[:, t, :, t] = A[t].T @ A[t]
    entries = np.eye(r * m).reshape(r, m, r * m)  # entries[k, t] @ x is X[k, t]
    rising = [np.diff(entries[k], axis=0) for k, name in enumerate(names) if name == "increasing"]
    falling = [-np.diff(entries[k], axis=0) for k, name in enumerate(names) if name == "decreasing"]
    linear = np.concatenate([*entries, *rising, *falling])
    norms = [
        ("norm", np.vstack([np.zeros(r * m), entries[k]]), np.append(bound[k], np.zeros(m)))
        for k in range(r)
        if np.isfinite(bound[k])
    ]
    signs = ("nonnegative", linear, np.zeros(len(linear)))
    return minimum(P.reshape(r * m, -1), q, signs, *norms)[1] + np.sum(y**2) / 2


def check(solve, family, *, limited, warm=False, count=60):
    """All that is asked of solutions; raises AssertionError for a wrong solver."""
    rng = np.random.default_rng(FAMILIES.index(family) + 10)
    bent, at_bound = 0, 0
    for _ in range(count):
        A, y, names, bound = problem(family, rng)
        bound = bound if limited else np.full(len(bound), np.inf)
        G, C, which = small(A, y, family)
        X0 = rng.standard_normal(C.shape) if warm else None
        X = solve(G, C, names, X0, bound=bound, which=which, **PRECISE).X
        assert (X >= 0).all()
        norms = np.linalg.norm(X, axis=1)
        assert (norms <= bound * (1 + 1e-12)).all()
        for x, name in zip(X, names, strict=True):
            step = {"free": [0], "increasing": np.diff(x), "decreasing": -np.diff(x)}[name]
            assert np.min(step) >= 0
        least, none = by_cone(A, y, names, bound), np.sum(y**2) / 2
        assert value(A, y, X) <= least + 1e-6 * none
        free = by_cone(A, y, ["free"] * len(names), bound)
        bent += free < least - 1e-4 * none
        at_bound += np.any(norms > bound * (1 - 1e-9))
    assert bent > count / 4  # the constraints must bite
    assert at_bound > count / 4 or not limited


@pytest.mark.parametrize("limited", [False, True], ids=["unbounded", "bounded"])
@pytest.mark.parametrize("family", FAMILIES)
def test_convex_shapes_are_at_the_minimum(family, limited):
    check(shaped, family, limited=limited)


@pytest.mark.parametrize("family", FAMILIES[:2])
def test_wherever_they_start(family):
    check(shaped, family, limited=True, warm=True)


def free_then_projected(G, C, names, X0, *, bound, which, **options):
    X = shaped(G, C, "free", X0, bound=bound, which=which, **options).X
    moves = {"free": lambda b: b, "increasing": increasing, "decreasing": decreasing}
    return Solution(np.array([moves[name](x) for x, name in zip(X, names, strict=True)]), 0.0)


def without_bounds_then_shrunk(G, C, names, X0, *, bound, which, **options):
    X = shaped(G, C, names, X0, which=which, **options).X
    norms = np.linalg.norm(X, axis=1)
    return Solution(X * np.minimum(1, bound / np.maximum(norms, 1e-300))[:, None], 0.0)


def stopping_early(G, C, names, X0, *, bound, which, **options):
    return shaped(G, C, names, X0, bound=bound, which=which, max_iter=2)


def of_equal_weights(G, C, names, X0, *, bound, which, **options):
    """As if every column weighed alike in its row."""
    mean = G.mean(axis=0)
    return shaped(mean, C, names, X0, bound=bound, **options)


@pytest.mark.parametrize(
    ("wrong", "family"),
    [
        (free_then_projected, "shared"),
        (without_bounds_then_shrunk, "shared"),
        (without_bounds_then_shrunk, "own"),
        (stopping_early, "shared"),
        (of_equal_weights, "own"),
    ],
)
def test_the_checks_catch_wrong_solvers(wrong, family):
    with pytest.raises(AssertionError):
        check(wrong, family, limited=True, count=20)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("limited", [False, True], ids=["unbounded", "bounded"])
def test_the_objective_never_rises(family, limited):
    rng = np.random.default_rng(2)
    fell = 0
    for _ in range(30):
        A, y, names, bound = problem(family, rng, kinds=("free", "increasing", "unimodal", "unimodal"))
        G, C, which = small(A, y, family)
        options = {"bound": bound if limited else np.inf, "which": which, "max_iter": 1}
        X, values = rng.random(C.shape), []
        for _ in range(12):
            X = shaped(G, C, names, X, **options).X
            values.append(value(A, y, X))
        for before, after in pairwise(values):
            assert after <= before * (1 + 1e-13) + 1e-15
        fell += values[-1] < 0.999 * values[0]
    assert fell > 10


def test_a_start_that_breaks_the_constraints_is_not_kept_for_its_objective():
    rng = np.random.default_rng(12)
    for _ in range(20):
        A, y, _, bound = problem("own", rng)
        H, C, which = small(A, y, "own")
        X0 = shaped(H, C, "free", which=which, **PRECISE).X  # better than anything in its shape
        X = shaped(H, C, "unimodal", X0, bound=bound / 5, which=which, max_iter=3).X
        assert (np.linalg.norm(X, axis=1) <= bound / 5 * (1 + 1e-12)).all()
        for x in X:
            np.testing.assert_array_equal(unimodal(x), x)


def test_under_a_bound_the_best_peak_may_be_another_one():
    """Without the bound the first three entries are equally good peaks; within it the third is best."""
    h, b, bound = np.array([0.15, 0.478, 70.639, 0.685]), np.array([4.0, 4.0, 4.0, 0.0]), 1.0592
    options = {"bound": bound, "which": np.arange(4)}
    x = shaped(h[:, None, None], (h * b)[None], "unimodal", **options).X[0]
    assert x.argmax() == 2
    multipliers = h[:3] * (b[:3] - x[:3]) / x[:3]  # that of the bound, in every entry
    np.testing.assert_allclose(multipliers, multipliers[0], rtol=1e-9)
    assert misfit(b, h, x) < 0.9 * misfit(b, h, np.array([0.61153, 0.61153, 0.61153, 0.0]))


def test_a_better_place_of_a_peak_is_not_given_up():
    """Where the peak jumps on the way to the bound, the search may end with the worse one of two."""
    h = np.array([1.623, 2.375, 24.727, 0.038, 0.423, 43.635])
    b = np.array([4.0, 0.0, 2.0, 4.0, 3.0, 2.0])
    better = np.array([[1.47906895, 1.47906895, 1.97188076, 1.97188076, 2.04983496, 1.99105933]])
    H, C, bound, which = h[:, None, None], (h * b)[None], 4.50755566569307, np.arange(6)

    def misfits(X):
        return np.sum(h * (X - b) ** 2)

    alone = shaped(H, C, "unimodal", bound=bound, which=which).X
    kept = shaped(H, C, "unimodal", better, bound=bound, which=which).X
    assert misfits(better) < misfits(alone) * (1 - 1e-3)  # or there would be nothing to give up
    assert misfits(kept) <= misfits(better) * (1 + 1e-7)


@pytest.mark.parametrize("family", ["shared", "own"])
def test_no_unimodal_row_can_be_improved_by_any_peak(family):
    rng = np.random.default_rng(3)
    inner = 0
    for _ in range(40):
        A, y, names, _ = problem(family, rng, kinds=("unimodal", "unimodal", "free"))
        G, C, which = small(A, y, family)
        found = shaped(G, C, names, which=which, **PRECISE)
        assert found.violation <= 1e-9
        H = np.broadcast_to(G, (C.shape[1], *G.shape[-2:]))
        for k in np.flatnonzero(np.array(names) == "unimodal"):
            w = H[:, k, k]
            seen = w > 0
            rest = C[k] - np.einsum("tj,jt->t", H[:, k], found.X) + w * found.X[k]
            b, w, x = rest[seen] / w[seen], w[seen], found.X[k, seen]
            least = min(misfit(b, w, with_peak(b, w, p)) for p in range(len(b) + 1))
            assert misfit(b, w, x) <= least + 1e-9 * misfit(b, w, 0)
            inner += 0 < x.argmax() < len(x) - 1
    assert inner > 15


@pytest.mark.parametrize("names", ["free", "unimodal"])
def test_fixed_rows_stay_and_the_others_make_the_best_of_it(names):
    rng = np.random.default_rng(4)
    A, y, _, _ = problem("own", rng)
    H, C, which = small(A, y, "own")
    X0 = rng.standard_normal(C.shape)
    fixed = np.arange(len(C)) == 1
    found = shaped(H, C, names, X0, which=which, fixed=fixed, **PRECISE)
    np.testing.assert_array_equal(found.X[1], X0[1])
    assert (X0[1] < 0).any()  # as given, whatever it is
    rest = C - np.einsum("tj,t->jt", H[:, :, 1], X0[1])
    others = ~fixed
    apart = shaped(H[:, others][:, :, others], rest[others], names, which=which, **PRECISE)
    if names == "free":
        np.testing.assert_allclose(found.X[others], apart.X, atol=1e-9)
    assert found.violation <= 1e-9
    assert np.abs(found.X[others] - np.maximum(X0[others], 0)).max() > 0.1


def test_bounded_columns_with_their_own_grams_are_at_the_minimum():
    rng = np.random.default_rng(5)
    uneven = 0
    for _ in range(200):
        A, y, names, bound = problem("own", rng)
        H, C, which = small(A, y, "own")
        X = rng.random(C.T.shape)
        descend_each(H, which, np.ascontiguousarray(C.T), bound, X, 50_000, 1e-13)
        norms = np.linalg.norm(X, axis=0)
        assert (norms <= bound * (1 + 1e-12)).all()
        assert residual_shaped(H, C.T, X, "free", bound=bound, which=which) <= 1e-9
        least = by_cone(A, y, ["free"] * len(names), bound)
        assert value(A, y, X.T) <= least + 1e-7 * np.sum(y**2)
        at_bound = norms > bound * (1 - 1e-9)
        uneven += at_bound.any()
    assert uneven > 100


def test_shrinking_to_the_bound_is_not_the_minimum_where_weights_differ():
    h, b, bound = np.array([1.0, 100.0, 10.0]), np.array([3.0, 2.0, -1.0]), 2.0
    X = np.zeros((3, 1))
    descend_each(h[:, None, None], np.arange(3), (h * b)[:, None], np.array([bound]), X, 10, 1e-12)
    x = X[:, 0]
    mu = h[0] * (b[0] - x[0]) / x[0]
    assert mu > 0
    assert mu == pytest.approx(h[1] * (b[1] - x[1]) / x[1], rel=1e-9)
    assert x[2] == 0
    assert np.linalg.norm(x) == pytest.approx(bound, rel=1e-12)
    shrunk = np.maximum(b, 0) * bound / np.linalg.norm(np.maximum(b, 0))
    assert misfit(b, h, x) < misfit(b, h, shrunk) / 2
    kept = np.array([[1.0, 2.0]] * 3)
    H = np.broadcast_to(np.eye(2), (3, 2, 2)) * h[:, None, None]
    descend_each(
        H, np.arange(3), np.outer(h * b, [1, 1]), np.ones(2), kept, 5, 0.0, np.array([True, False])
    )
    np.testing.assert_array_equal(kept[:, 0], 1)
    assert np.linalg.norm(kept[:, 1]) == pytest.approx(1)


def test_free_rows_are_the_plain_problem():
    rng = np.random.default_rng(6)
    A = rng.random((20, 4))
    G, C = A.T @ A, A.T @ rng.standard_normal((20, 30))
    np.testing.assert_allclose(shaped(G, C, "free", **PRECISE).X, pivot(G, C).X, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_change_nothing(unit):
    rng = np.random.default_rng(7)
    for family in ("shared", "own"):
        A, y, _, bound = problem(family, rng)
        G, C, which = small(A, y, family)
        options = {"which": which, **PRECISE}
        X = shaped(G, C, "unimodal", bound=bound, **options).X
        other = shaped(G * unit, C * unit, "unimodal", bound=bound, **options).X
        np.testing.assert_allclose(other, X, rtol=1e-6, atol=1e-9)
        other = shaped(G, C * unit, "unimodal", bound=bound * unit, **options).X
        np.testing.assert_allclose(other / unit, X, rtol=1e-6, atol=1e-9)


def test_without_a_round_nothing_is_certified_and_zero_curvature_gives_zero():
    rng = np.random.default_rng(8)
    A, y, names, _ = problem("shared", rng)
    G, C, _ = small(A, y, "shared")
    assert shaped(G, C, names, max_iter=0).violation > 0.5
    assert shaped(G, C, names, max_iter=1).violation > 1e-6
    for name in KINDS:
        assert not shaped(np.zeros((2, 2)), np.ones((2, 3)), name, np.ones((2, 3))).X.any()
        assert not shaped(np.eye(2), np.ones((2, 3)), name, bound=0.0).X.any()
    assert shaped(np.eye(2), np.ones((2, 0)), "unimodal").X.shape == (2, 0)


def test_single_precision_is_solved_in_double():
    rng = np.random.default_rng(9)
    A, y, names, _ = problem("shared", rng)
    G, C, _ = small(A, y, "shared")
    C = C.astype(np.float32)
    X = np.zeros(C.T.shape, dtype=np.float32)
    descend_shaped(G, C.T, X, names, **PRECISE)
    exact = shaped(G, C.astype(float), names, **PRECISE).X
    np.testing.assert_allclose(X.T, exact, rtol=1e-6, atol=1e-6)


def test_bad_shapes_are_refused():
    with pytest.raises(ValueError, match="shapes must be 2 of 'free', 'increasing'"):
        shaped(np.eye(2), np.ones((2, 3)), ["free"])
    with pytest.raises(ValueError, match="got \\['free', 'round'\\]"):
        shaped(np.eye(2), np.ones((2, 3)), ["free", "round"])
    with pytest.raises(ValueError, match="bound must not be negative"):
        shaped(np.eye(2), np.ones((2, 3)), "free", bound=-1.0)


def test_nearly_equal_profiles_reach_their_minimum_and_it_is_said_how_far_they_are():
    rng = np.random.default_rng(0)
    S, t = rng.random((4, 300)), np.linspace(0, 1, 40)
    S[1] = S[0] + 0.03 * rng.random(300)
    A = np.stack([t**2, t**3, 1 - t, np.exp(-(((t - 0.5) / 0.2) ** 2))], axis=1)
    C = (A @ S + 0.01 * rng.standard_normal((40, 300))) @ S.T
    names = ["increasing", "increasing", "decreasing", "unimodal"]
    best = rng.random((40, 4))
    start, gram = best.copy(), Gram(S @ S.T)
    descend_shaped(gram.values, C, best, names, **PRECISE)
    assert residual_shaped(gram.values, C, best, names) < 1e-11
    found = start.copy()
    rounds = descend_shaped(gram.values, C, found, names, max_iter=SHAPED_ROUNDS, tol=SHAPED_TOL)
    assert rounds < SHAPED_ROUNDS / 2
    np.testing.assert_allclose(found, best, atol=1e-3)
    early = start.copy()
    descend_shaped(gram.values, C, early, names, max_iter=100, tol=0.0)
    distance = np.abs(early - best).max() / early.max()
    assert distance > 0.05
    assert distance / 3 < gram.distance(C, early, np.full(4, np.inf), names) < 30 * distance


def by_cone_with_points(b, w, points, rising):
    """The monotone projection with points, by a cone solver: signs say where x rises and falls."""
    m, known = len(b), ~np.isnan(points)
    steps = rising[:, None] * np.diff(np.eye(m), axis=0)
    return minimum(
        np.diag(2 * w),
        -2 * w * b,
        ("zero", np.eye(m)[known], -points[known]),
        ("nonnegative", np.vstack([np.eye(m), steps]), np.zeros(2 * m - 1)),
    )[0]


def test_projections_with_known_points_against_a_cone_solver():
    rng, met = np.random.default_rng(3), 0
    for _ in range(12):
        m = int(rng.integers(3, 10))
        b, w = rng.standard_normal(m) + 0.5, 10.0 ** rng.uniform(-1, 1, m)
        truth = unimodal(rng.random(m))
        points = np.where(rng.random(m) < 0.4, truth, np.nan)
        x, known = unimodal(b, w, points), ~np.isnan(points)
        np.testing.assert_array_equal(x[known], points[known])
        fits = [
            by_cone_with_points(b, w, points, np.where(np.arange(m - 1) < p, 1, -1)) for p in range(m)
        ]
        least = min(misfit(b, w, fit) for fit in fits if fit is not None)
        assert misfit(b, w, x) <= least + 1e-6
        peak = int(x.argmax())
        assert (np.diff(x[: peak + 1]) >= 0).all()
        assert (np.diff(x[peak:]) <= 0).all()
        met += misfit(b, w, x) > misfit(b, w, unimodal(b, w)) + 1e-3
        rises = np.where(known, np.sort(truth), np.nan)
        expected = by_cone_with_points(b, w, rises, np.ones(m - 1))
        np.testing.assert_allclose(increasing(b, w, rises), expected, atol=1e-5)
        np.testing.assert_allclose(decreasing(b[::-1], w[::-1], rises[::-1])[::-1], expected, atol=1e-5)
    assert met > 6


def test_points_without_weight_hold_and_neighbours_follow():
    b, w = np.array([9.0, 0.0, 1.0, 5.0]), np.array([0.0, 0.0, 1.0, 1.0])
    points = np.array([np.nan, 2.0, np.nan, np.nan])
    np.testing.assert_array_equal(increasing(b, w, points), [0, 2, 2, 5])
    np.testing.assert_array_equal(unimodal(b, w, points), [0, 2, 2, 5])
