"""`ngmca.ambiguity`: the range of factorisations that fit as well."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

import ngmca
from ngmca._support.messages import ArgumentError
from ngmca.answers.how_sure.ambiguity_words import ambiguity_findings, ambiguity_sentences
from ngmca.engines import open_data, variance_growth
from ngmca.result import History, Marginals, Separation
from ngmca.rotations.feasible_rotations import Rotations


def separation_of(A, S, noise=1e-4, **more):
    """Return a separation with given factors; its noise is a share of the signal."""
    A, S = np.asarray(A, float), np.asarray(S, float)
    size, r = np.linalg.norm(A, axis=0), len(S)
    history = History.of([(0.0, np.zeros(r), 1.0, 0.0, 0.0)])
    level = noise * np.sqrt(np.mean((A @ S) ** 2))
    return Separation(
        A / size, S * size[:, None], np.zeros(r), np.full(len(A), level), 1, "settled", 0.0, history,
        **more,
    )  # fmt: skip


def contributions(A, S):
    return np.linalg.norm(A, axis=0) * np.linalg.norm(S, axis=1) / np.linalg.norm(A @ S)


def bands(r, n, width=0.12, floor=0.03):
    places, x = np.linspace(0.25, 0.75, r), np.linspace(0, 1, n)
    return np.exp(-(((x - places[:, None]) / width) ** 2)) + floor


def mixture(alpha=4.0, m=25, n=150, r=3, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    A, S = rng.dirichlet(np.full(r, alpha), m), bands(r, n)
    clean = A @ S
    return A, S, clean + noise * np.sqrt(np.mean(clean**2)) * rng.standard_normal(clean.shape)


def closed_form(A, S, steps=201):
    """Return smallest and largest contributions of two sources (Lawton and Sylvestre).

    a_1 + x a_2, a_2 + y a_1, and s_1 - y s_2, s_2 - x s_1 are not negative: x and y are in intervals.
    """
    x = np.linspace(-np.min(A[:, 0] / A[:, 1]), np.min(S[1] / S[0]), steps)[:, None]
    y = np.linspace(-np.min(A[:, 1] / A[:, 0]), np.min(S[0] / S[1]), steps)
    G, H, det = A.T @ A, S @ S.T, 1 - x * y
    first = (G[0, 0] + 2 * x * G[0, 1] + x**2 * G[1, 1]) * (H[0, 0] - 2 * y * H[0, 1] + y**2 * H[1, 1])
    second = (G[1, 1] + 2 * y * G[0, 1] + y**2 * G[0, 0]) * (H[1, 1] - 2 * x * H[0, 1] + x**2 * H[0, 0])
    sizes = np.sqrt(np.stack([first, second])) / np.abs(det) / np.linalg.norm(A @ S)
    return sizes.min(axis=(1, 2)), sizes.max(axis=(1, 2))


@pytest.mark.parametrize("seed", range(3))
def test_two_sources_have_the_range_of_lawton_and_sylvestre(seed):
    rng = np.random.default_rng(seed)
    A, S = rng.dirichlet([3, 3], 20), bands(2, 80)
    lowest, highest = closed_form(A, S)
    found = ngmca.ambiguity(A @ S, separation_of(A, S))
    assert found.converged.all()
    assert found.width.min() > 0.05  # there is something to find
    np.testing.assert_allclose(found.lowest, lowest, rtol=0.01)
    np.testing.assert_allclose(found.highest, highest, rtol=0.01)
    T = np.array([[1.0, 0.3], [-0.3 * np.min(A[:, 0] / A[:, 1]), 1.0]])  # from another solution
    T[0, 1] *= np.min(S[0] / S[1])
    other = ngmca.ambiguity(A @ S, separation_of(A @ T, np.linalg.solve(T, S)))
    np.testing.assert_allclose(other.lowest, lowest, rtol=0.01)
    np.testing.assert_allclose(other.highest, highest, rtol=0.01)


def test_no_search_by_chance_finds_more():
    """For three sources: climb at random among factors that are not negative."""
    A, S, _ = mixture(m=12, n=40, noise=0)
    found, rng = ngmca.ambiguity(A @ S, separation_of(A, S)), np.random.default_rng(0)
    for k in range(3):
        for sign, end in ((1, found.highest[k]), (-1, found.lowest[k])):
            T, best = np.eye(3), sign * contributions(A, S)[k]
            for step in np.geomspace(0.3, 0.01, 700):
                trial = T + step * rng.standard_normal((3, 3))
                B, X = A @ trial, np.linalg.solve(trial, S)
                if B.min() >= 0 and X.min() >= 0 and sign * contributions(B, X)[k] > best:
                    T, best = trial, sign * contributions(B, X)[k]
            assert best <= sign * end + 0.005
            assert best >= sign * end - 0.1  # the search by chance comes near


def test_ends_are_feasible():
    A, S, Y = mixture()
    separation = ngmca.separate(Y, 3)
    found = ngmca.ambiguity(Y, separation)
    noise = np.median(separation.noise)
    before, rest = separation.A @ separation.S, np.sum((Y - separation.A @ separation.S) ** 2)
    assert found.converged.all()
    assert found.limit == pytest.approx(10.6446, rel=1e-5)  # 90 % of chi squared with 3 * 2 degrees
    for end, reached in enumerate((found.lowest, found.highest)):
        for k in range(3):
            B, X = found.factors(separation, k, largest=bool(end))
            assert B.min() >= 0
            assert X.min() >= 0
            deviance = np.sum(((B @ X - before) / separation.noise[:, None]) ** 2)
            deviance /= found.variance_growth
            assert deviance == pytest.approx(found.deviance[end, k], rel=0.02)
            assert 0.5 * found.limit < found.deviance[end, k] <= found.limit
            # it fits the data themselves as well: residuals differ by what noise hides
            assert np.sum((Y - B @ X) ** 2) - rest < 3 * found.limit * noise**2 * found.variance_growth
            assert contributions(B, X)[k] == pytest.approx(reached[k], rel=1e-3)
            X *= np.linalg.norm(separation.S, axis=1)[:, None] / np.linalg.norm(X, axis=1)[:, None]
            assert (found.S_high - X).min() > -1e-9
            assert (X - found.S_low).min() > -1e-9
    np.testing.assert_allclose(found.found, contributions(separation.A, separation.S))
    assert (found.lowest <= found.found).all()
    assert (found.found <= found.highest).all()
    order = np.argmax(separation.S @ S.T / np.linalg.norm(S, axis=1), axis=1)
    truth = contributions(A, S)[order]
    assert sorted(order) == [0, 1, 2]
    assert (found.lowest <= truth).all()
    assert (truth <= found.highest).all()
    assert np.abs(found.found / truth - 1).max() > 0.02  # the separation itself is not the truth


def test_pure_measurements_and_pure_channels_leave_no_ambiguity():
    rng = np.random.default_rng(0)
    A, S = np.vstack([np.eye(3), rng.dirichlet(np.ones(3), 15)]), bands(3, 60, floor=0)
    S[:, ::6] = 0
    S[[0, 1, 2], [0, 6, 12]] = 0.5
    found = ngmca.ambiguity(A @ S, separation_of(A, S))
    assert found.width.max() < 0.005
    assert found.relative(separation_of(A, S).S).max() < 0.005
    A, S, Y = mixture(noise=0)  # without them
    assert ngmca.ambiguity(Y, separation_of(A, S)).width.min() > 0.1


def test_it_depends_neither_on_order_nor_on_units():
    A, S, Y = mixture()
    separation = separation_of(A, S, 0.02)
    found, order = ngmca.ambiguity(Y, separation), [2, 0, 1]
    other = ngmca.ambiguity(Y, replace(separation, A=separation.A[:, order], S=separation.S[order]))
    np.testing.assert_allclose(other.lowest, found.lowest[order], rtol=2e-3)
    np.testing.assert_allclose(other.highest, found.highest[order], rtol=2e-3)
    for unit in (1e-160, 1e160):
        large = ngmca.ambiguity(Y * unit, separation.scaled(unit), threads=1)
        np.testing.assert_allclose(large.highest, found.highest, rtol=1e-6)
        np.testing.assert_allclose(large.S_high, found.S_high * unit, rtol=1e-5)


def test_derivatives():
    rng = np.random.default_rng(1)
    A, S = rng.random((8, 3)), 5 * rng.random((3, 20))
    clip = (lambda X: np.maximum(X, 0),) * 2
    problem = Rotations(
        A / np.linalg.norm(A, axis=0), S, rng.random(8) + 0.5, 20, ~np.eye(3, dtype=bool), clip
    )
    z, steps = 0.6 * rng.standard_normal(6), 1e-6 * np.eye(6)
    for rho in (0.0, 2.0):
        values = [[problem._pushed(z + s * e, 1, -1.0, rho) for s in (1, -1)] for e in steps]
        slopes = [(up[0] - down[0]) / 2e-6 for up, down in values]
        np.testing.assert_allclose(problem._pushed(z, 1, -1.0, rho)[1], slopes, rtol=1e-5, atol=1e-7)
        if rho == 0:  # those of the penalty are approximate
            bends = [(up[1] - down[1]) / 2e-6 for up, down in values]
            np.testing.assert_allclose(problem._curvature(z, 1, -1.0, rho), bends, atol=1e-6)


def test_what_is_known_narrows_the_range():
    A, S, _ = mixture(noise=0)
    Y, separation = A @ S, separation_of(A, S, 1e-3)
    free = ngmca.ambiguity(Y, separation)
    known = ngmca.ambiguity(Y, separation, constraints=[ngmca.KnownSources(separation.S[:1])])
    np.testing.assert_allclose(known.S_low[0], separation.S[0])
    np.testing.assert_allclose(known.S_high[0], separation.S[0])
    assert known.width[0] < free.width[0]  # its amounts are free
    assert (known.width <= free.width + 1e-6).all()
    held = ngmca.ambiguity(Y, separation, constraints=[ngmca.KnownMixing(separation.A[:, :1])])
    np.testing.assert_allclose(held.A_low[:, 0], separation.A[:, 0])
    np.testing.assert_allclose(held.A_high[:, 0], separation.A[:, 0])
    assert (held.S_high[0] - held.S_low[0]).max() > 0.01
    assert (known.converged & held.converged).all()
    absent = np.zeros(A.shape, dtype=bool)
    absent[:5, 0] = True
    B = np.where(absent, 0, A)
    separation = separation_of(B, S, 1e-3)
    zero = ngmca.ambiguity(B @ S, separation, constraints=[ngmca.ZeroMixing(absent)])
    assert zero.A_high[absent].max() == 0
    assert zero.width.sum() < ngmca.ambiguity(B @ S, separation).width.sum()
    nothing = ngmca.KnownSources(separation.S)
    assert ngmca.ambiguity(B @ S, separation, constraints=[nothing]).width.max() == 0


def test_closure_keeps_the_sums():
    A, S, _ = mixture(r=2, noise=0)
    found = separation_of(A, S)
    size = np.linalg.norm(A, axis=0)
    found = replace(found, A=found.A * size, S=found.S / size[:, None])  # rows of A sum to 1
    closed = ngmca.ambiguity(A @ S, found, constraints=[ngmca.Closure()])
    assert closed.converged.all()
    np.testing.assert_allclose(closed.A_low[:, 0] + closed.A_high[:, 1], 1, atol=2e-3)
    np.testing.assert_allclose(closed.A_high[:, 0] + closed.A_low[:, 1], 1, atol=2e-3)
    assert np.mean(closed.A_high - closed.A_low) > 0.05


def test_profiles_keep_their_shape():
    x, S = np.linspace(0, 1, 30), bands(2, 60)
    A = np.stack([np.exp(-((x - place) ** 2) / 0.05) + 0.25 for place in (0.35, 0.6)], axis=1)
    separation = separation_of(A, S)
    free = ngmca.ambiguity(A @ S, separation)
    found = ngmca.ambiguity(A @ S, separation, constraints=[ngmca.Unimodal()])
    assert found.converged.all()
    assert found.width.sum() < 0.8 * free.width.sum()
    sizes = []  # of all mixtures on a grid that keep the shape
    for x in np.linspace(-0.4, 0.2, 121):
        for y in np.linspace(-0.4, 0.2, 121):
            B, X = A @ [[1, y], [x, 1]], np.linalg.solve([[1, y], [x, 1]], S)
            falls = np.diff(B, axis=0) < 0
            if B.min() >= 0 and X.min() >= 0 and (np.diff(falls.astype(int), axis=0) >= 0).all():
                sizes.append(contributions(B, X))
    np.testing.assert_allclose(found.lowest, np.min(sizes, axis=0), rtol=0.01)
    np.testing.assert_allclose(found.highest, np.max(sizes, axis=0), rtol=0.01)


def test_correlated_noise_counts_as_larger():
    A, S, _ = mixture(n=600)
    rng = np.random.default_rng(0)
    white = 0.02 * rng.standard_normal((25, 600))
    separation = separation_of(A, S, 0.02)

    def growth(Y):
        engine = open_data(Y)
        return variance_growth(engine, A, S / engine.unit)

    assert growth(A @ S + white) == 1
    smooth = gaussian_filter1d(white, 2)
    expected = 2 * np.sqrt(np.pi) * 2  # of a Gaussian of 2 channels
    assert growth(A @ S + smooth) == pytest.approx(expected, rel=0.1)
    gaps = np.where(rng.random(white.shape) < 0.3, np.nan, A @ S + smooth)
    assert growth(gaps) == pytest.approx(expected, rel=0.1)
    far, near = (ngmca.ambiguity(A @ S + one, separation) for one in (smooth, white))
    assert (far.width > near.width).all()


def test_missing_entries_background_and_empty_sources():
    A, S, Y = mixture()
    gaps = np.random.default_rng(0).random(Y.shape) < 0.3
    background = ngmca.separate(Y + 0.5, 3, constraints=[ngmca.Baseline("polynomial")], n_init=1)
    assert ngmca.ambiguity(Y + 0.5, background).converged.all()
    separation = separation_of(A, S, 0.02)
    whole = ngmca.ambiguity(Y, separation)
    masked = ngmca.ambiguity(np.where(gaps, np.nan, Y), separation)
    assert (masked.width >= 0.999 * whole.width).all()  # fewer entries say less
    assert (ngmca.ambiguity(Y, separation, mask=gaps).highest == masked.highest).all()
    empty = replace(
        separation, A=np.pad(separation.A, ((0, 0), (0, 1))), S=np.pad(separation.S, ((0, 1), (0, 0)))
    )
    found = ngmca.ambiguity(Y, empty)
    assert found.found[3] == found.highest[3] == 0
    np.testing.assert_allclose(found.highest[:3], whole.highest, rtol=0.02)  # of a larger limit
    one = ngmca.ambiguity(np.outer(A[:, 0], S[0]), separation_of(A[:, :1], S[:1]))
    assert one.width.tolist() == [0]
    assert one.found.tolist() == pytest.approx([1])


def test_data_of_zeros_and_a_smooth_residual_without_noise():
    found = ngmca.ambiguity(np.zeros((10, 30)), ngmca.separate(np.zeros((10, 30)), 2))
    assert not found.found.any()
    assert found.converged.all()
    A, S, _ = mixture(m=10, n=50, r=2)
    rest = np.full((10, 50), 1e-9)  # is far below what counts as noise
    exact, smooth = (ngmca.ambiguity(A @ S + x, separation_of(A, S, noise=1e-12)) for x in (0, rest))
    np.testing.assert_allclose(smooth.highest, exact.highest, rtol=1e-6)


def test_errors_name_the_argument():
    A, S, Y = mixture()
    separation = separation_of(A, S)
    with pytest.raises(ArgumentError, match="transposed"):
        ngmca.ambiguity(Y.T, separation)
    with pytest.raises(ArgumentError, match="level must be above 0 and below 1"):
        ngmca.ambiguity(Y, separation, level=1.0)
    with pytest.raises(ArgumentError, match="gmca can give negative"):
        ngmca.ambiguity(Y, replace(separation, S=-separation.S))
    with pytest.raises(ArgumentError, match="3 sources and 2 x 150 entries: separate fewer"):
        ngmca.ambiguity(Y[:2], separation_of(A[:2], S))


@pytest.mark.filterwarnings("error")
def test_dependent_columns_of_the_mixing():
    A, S, Y = mixture(m=8, n=40)
    A[:, 2] = A[:, :2].sum(axis=1)
    found = ngmca.ambiguity(Y[:, :40], separation_of(A, S, noise=0.02))
    assert np.isfinite(found.highest).all()
    assert (found.lowest <= found.found).all()


def test_words_and_warnings():
    A, S, Y = mixture()
    separation = separation_of(A, S, 0.02)
    found = ngmca.ambiguity(Y, separation)
    wide = replace(separation, ambiguity=found)
    assert ambiguity_findings(separation) == []
    assert "other mixtures ±" in ambiguity_sentences(wide)[0]
    (warning,) = ambiguity_findings(wide)
    assert f"source {int(np.argmax(found.width)) + 1} (its contribution" in str(warning.text)
    sd = 0.001 * separation.S.max()
    bars = type("Bars", (), {"S": Marginals(separation.S, np.full_like(S, sd)), "refuted": False})()
    bars.columns, bars.around_answer = None, True
    (warning,) = ambiguity_findings(replace(wide, posterior=bars))
    assert warning.title == "Error bars are narrower than what the data allow"
    assert "error bars ±" in ambiguity_sentences(replace(wide, posterior=bars))[0]
    narrow = replace(found, lowest=found.found, highest=found.found)
    assert ambiguity_findings(replace(separation, ambiguity=narrow)) == []
    figure = found.plot()
    assert len(figure.axes) == 6
    assert figure.axes[0].collections[0].get_paths()  # a filled band


def test_report_and_file_have_it(tmp_path):
    A, S, Y = mixture()
    separation = separation_of(A, S, 0.02)
    separation = replace(separation, ambiguity=ngmca.ambiguity(Y, separation))
    back = ngmca.load(ngmca.save(tmp_path / "one.nc", separation, Y)).ambiguity
    for name, value in vars(separation.ambiguity).items():
        np.testing.assert_array_equal(getattr(back, name), value, err_msg=name)
    page = ngmca.report.write(tmp_path / "report.html", separation, Y).read_text()
    assert page.count("The orange band is what the data allow") == 2
    assert page.count("allowed, highest") == 6  # three sources, three columns of A
    assert "<th>other mixtures<th>contribution" in page


def test_contributions_are_in_the_units_of_the_data():
    """Columns of A are kept in units of the noise of each measurement, which differs."""
    rng = np.random.default_rng(0)
    A, S, plain = rng.random((6, 2)), rng.random((2, 9)), np.linspace(1, 5, 6)
    free, as_it_is = ~np.eye(2, dtype=bool), lambda X: X
    rotations = Rotations(A / plain[:, None], S, plain, 9, free, (as_it_is, as_it_is))
    T = np.array([[1.0, 0.3], [-0.2, 1.0]])
    for k in range(2):
        expected = np.linalg.norm((A @ T)[:, k]) * np.linalg.norm(np.linalg.solve(T, S)[k])
        assert rotations.size(T, k) == pytest.approx(expected)
