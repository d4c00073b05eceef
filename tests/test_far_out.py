"""Inputs at the edge: contradictions, dead sources, numbers far from 1. Right, or an error in words."""

import warnings

import numpy as np
import pytest

import ngmca
from ngmca._support.messages import ArgumentError

QUICK = ngmca.Soft(n_iter=30)
rng = np.random.default_rng(0)
Y = rng.random((10, 3)) @ rng.random((3, 40))
Y2 = np.random.default_rng(1).random((10, 3)) @ np.random.default_rng(2).random((3, 64))


@pytest.fixture(params=["own", "single"])
def precision(request, monkeypatch):
    """Wavelets work in the precision of small data, and in that of large ones."""
    if request.param == "single":
        monkeypatch.setattr("ngmca.algorithms.wavelets.wavelet_data.SMALL", 0)


def run(data, r, *constraints, method=QUICK, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ngmca.separate(data, r, constraints=constraints, n_init=1, method=method, **options)


def away_from(shape, A):
    """How far columns are from their shape."""
    steps = np.diff(A, axis=0)
    if shape != "unimodal":
        return max(0.0, float((-steps if shape == "increasing" else steps).max()))
    peaks = A.argmax(axis=0)
    sides = [(np.diff(c[: p + 1]), np.diff(c[p:])) for c, p in zip(A.T, peaks, strict=True)]
    return max(max(-up.min(initial=0), down.max(initial=0)) for up, down in sides)


@pytest.mark.parametrize("shape", ["increasing", "decreasing", "unimodal"])
@pytest.mark.parametrize("seed", range(4))
def test_profiles_hold_for_dead_and_revived_sources(shape, seed):
    draw = np.random.default_rng(seed)
    data = np.sort(draw.random((12, 2)), axis=0) @ np.maximum(0, draw.standard_normal((2, 40)))
    kind = ngmca.Unimodal() if shape == "unimodal" else ngmca.Monotonic(shape)
    found = run(data, 5, kind, seed=seed)
    assert away_from(shape, found.A) < 1e-6
    assert away_from(shape, run(np.zeros((8, 20)), 2, kind).A) == 0


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shape", ["increasing", "decreasing", "unimodal"])
@pytest.mark.parametrize("known", ["KnownMixing", "ZeroMixing"])
def test_profiles_hold_beside_known_zeros(shape, known, missing):
    draw = np.random.default_rng(3)
    data = draw.random((12, 2)) @ np.maximum(0, draw.standard_normal((2, 40)))
    data[0, 0] = np.nan if missing else data[0, 0]
    zero = np.zeros((12, 3), dtype=bool)
    zero[[2, 5] if shape == "increasing" else [6, 9], 0] = True  # the mixture does not have these zeros
    zero[[5, 8], 1] = shape == "unimodal"
    one = (
        ngmca.ZeroMixing(zero) if known == "ZeroMixing" else ngmca.KnownMixing(np.where(zero, 0, np.nan))
    )
    kind = ngmca.Unimodal() if shape == "unimodal" else ngmca.Monotonic(shape)
    found = run(data, 3, kind, one)
    assert (found.A[zero] == 0).all()
    assert away_from(shape, found.A) < 1e-6


def test_zeros_that_leave_nothing_of_a_profile_are_refused():
    last = np.zeros((10, 2), dtype=bool)
    last[-1, 1] = True
    with pytest.raises(ArgumentError, match=r"known zeros .*, increasing, make source 1 0 in all"):
        run(Y, 2, ngmca.ZeroMixing(last), ngmca.Monotonic("increasing"))
    run(Y, 2, ngmca.ZeroMixing(last), ngmca.Monotonic("decreasing"))


def test_amounts_and_a_window_of_one_spectrum_are_refused():
    amounts, window = rng.random((10, 1)), rng.random((1, 40))
    window[:, 8:] = np.nan
    for scale in ("fixed", "free"):
        with pytest.raises(ArgumentError, match="both define source 0"):
            run(Y, 2, ngmca.KnownMixing(amounts), ngmca.KnownSources(window, scale))


def test_amounts_that_are_all_known_beside_a_shape_and_a_closure():
    amounts = np.sort(rng.random((10, 2)), axis=0)
    known = ngmca.KnownMixing(amounts), ngmca.Closure(amounts.sum(axis=1)), ngmca.Monotonic("increasing")
    np.testing.assert_allclose(run(Y, 2, *known).A, amounts, rtol=1e-12)


@pytest.mark.parametrize("kind", ["equal", "at least"])
def test_a_closure_of_known_amounts_alone_leaves_the_shapes_of_the_others(kind):
    amounts = rng.random((10, 1))
    shapes = ngmca.Monotonic("increasing", sources=[1, 2])
    data = np.hstack([amounts, np.sort(rng.random((10, 2)), axis=0)]) @ rng.random((3, 40))
    known = ngmca.KnownMixing(amounts), shapes
    found = run(data, 3, *known, ngmca.Closure(amounts[:, 0], kind, sources=[0]))
    np.testing.assert_allclose(found.A[:, :1], amounts)
    assert away_from("increasing", found.A[:, 1:]) < 1e-6
    assert found.history.mixing_violation[-1] < 1e-6


def test_contradictions_are_refused():
    mixing = np.array([0.1, 0.5, 0.2, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2])[:, None]
    with pytest.raises(ArgumentError, match="known values of source 0 are not increasing"):
        run(Y, 2, ngmca.KnownMixing(mixing), ngmca.Monotonic("increasing"))
    run(Y, 2, ngmca.KnownMixing(np.sort(mixing, axis=0)), ngmca.Monotonic("increasing"))
    whole = np.full((10, 3), 0.25)
    with pytest.raises(ArgumentError, match="contradict the total of Closure in measurement 0"):
        run(Y, 3, ngmca.KnownMixing(whole), ngmca.Closure(1.0))
    run(Y, 3, ngmca.KnownMixing(whole), ngmca.Closure(0.75))
    with pytest.raises(ArgumentError, match="k at most 2, got"):
        run(Y, 2, ngmca.KnownSources(rng.random((3, 40))), method=ngmca.Soft(n_iter=30, penalised="A"))


@pytest.mark.usefixtures("precision")
@pytest.mark.parametrize("domain", ["direct", "wavelet"])
@pytest.mark.parametrize("scale", ["fixed", "free"])
def test_a_known_source_is_as_given_where_nothing_was_observed(domain, scale):
    known, data = 0.1 + rng.random((1, 64)), Y2.copy()
    data[:, 5:8] = np.nan
    S = run(data, 2, ngmca.KnownSources(known, scale=scale), domain=domain).S
    ratio = S[0] / known[0]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
    assert ratio[0] > 0
    np.testing.assert_array_equal(S[1, 5:8], 0)


def test_all_sources_known_in_single_precision():
    known = rng.random((3, 40)).astype(np.float32)
    found = run((rng.random((10, 3)) @ known).astype(np.float32), 3, ngmca.KnownSources(known))
    np.testing.assert_allclose(found.S, known, rtol=1e-5)


@pytest.mark.usefixtures("precision")
@pytest.mark.parametrize("power", [-140, 140, -900, 900])
@pytest.mark.parametrize("kind", ["missing", "robust", "known"])
def test_answers_do_not_depend_on_units(power, kind):
    data, unit = Y2.copy(), 2.0**power
    if kind == "missing":
        data[2, 3] = np.nan
    known = [Y2[:1]] if kind == "known" else []
    one, other = (
        run(data * u, 2, *(ngmca.KnownSources(u * k) for k in known), domain="wavelet",
            robust=kind == "robust")
        for u in (1.0, unit)
    )  # fmt: skip
    np.testing.assert_allclose(other.A, one.A, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(other.S / unit, one.S, rtol=1e-6, atol=1e-9)


def test_counts_far_from_one_event():
    counts = np.round(10 * Y)
    for noise in ("poisson", ngmca.Counts()):
        with pytest.raises(ArgumentError, match=r"events: Y does not hold counts"):
            run(counts * 2.0**-1000, 2, noise=noise)
    found = run(counts * 2.0**-1000, 2, noise=ngmca.Counts(gain=2.0**-1000))
    assert np.isfinite(found.A).all()
    counts[0, 0] = 1e150
    with pytest.raises(ArgumentError, match=r"1e\+150 events: Y does not hold counts"):
        run(counts, 2, noise=ngmca.Counts())


@pytest.mark.parametrize("method", [ngmca.Naive(n_iter=10), ngmca.Anls(n_iter=3)])
def test_an_entry_beside_which_all_others_vanish_is_refused(method):
    data = 1e-18 * Y
    data[2, 3] = -1e300
    with pytest.raises(ArgumentError, match=r"-1e\+300 at row 2, column 3, is so large that all others"):
        run(data, 2, method=method)
    data[2, 3] = 0
    data[2] *= 1e300  # a whole measurement is no slip
    run(data, 2, method=method)


@pytest.mark.usefixtures("precision")
def test_sources_that_nothing_observed_determines_do_not_overflow():
    gap = np.nan
    data = np.array(
        [[gap, gap, 1e10, gap], [gap, 6e11, 8e-10, gap], [3e7, 2e-5, gap, gap], [gap, gap, gap, 1e11]]
    )
    assert np.isfinite(run(data, 1, domain="wavelet").S).all()  # warnings are errors in tests


def test_known_sources_far_from_the_data():
    with pytest.raises(ArgumentError, match=r"KnownSources has a largest entry of 1e\+150"):
        run(Y, 2, ngmca.KnownSources(1e150 * np.ones((1, 40))))


@pytest.mark.parametrize("kind", ["polynomial", "splines"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_baseline_that_fits_anything_is_refused(kind, n):
    with pytest.raises(ArgumentError, match="nothing is left for the sources"):
        run(Y[:, :n], 1, ngmca.Baseline(kind))


def test_the_byte_order_does_not_matter():
    data = Y.astype(">f4")
    holed = data.copy()
    holed[0, 0] = np.nan
    for one, other in ((data, data.astype("=f4")), (holed, holed.astype("=f4"))):
        found = [run(values, 2) for values in (one, other)]
        assert found[0].A.dtype == found[1].A.dtype == np.float32
        np.testing.assert_array_equal(found[0].A, found[1].A)


CASES = {
    "closure": [ngmca.Closure(1.0)],
    "known": [ngmca.KnownSources(np.ones((1, 20)))],
    "both": [ngmca.KnownSources(np.ones((1, 20))), ngmca.Closure(1.0)],
    "mixing": [ngmca.KnownMixing(np.ones((8, 1)))],
    "baseline": [ngmca.Baseline("polynomial")],
    "shapes": [ngmca.Unimodal()],
}


@pytest.mark.parametrize("name", CASES)
def test_no_warning_of_numpy_gets_out(name):
    gaps = Y[:8, :20].copy()
    gaps[:, 3] = gaps[2] = np.nan
    for data in (np.zeros((8, 20)), gaps):
        with np.errstate(all="warn"):  # warnings are errors in tests
            run(data, 2, *CASES[name], method=ngmca.Soft(n_iter=10))


def test_missing_entries_are_named_in_our_words():
    data = Y.copy()
    data[0, 0] = np.nan
    with pytest.raises(ArgumentError, match="X contains NaN in 1 of its entries, and the method 'gmca'"):
        ngmca.NGMCA(2, method="gmca").fit(data)
    model = ngmca.NGMCA(2, n_init=1).fit(Y)
    with pytest.raises(ArgumentError, match="`inverse_transform` does not support missing entries"):
        model.inverse_transform(np.full((3, 2), np.nan))


def test_one_source_is_not_told_to_be_fewer():
    from ngmca.answers.how_sure import diagnose, findings

    found = ngmca.separate(Y, 1, n_init=1, noise=100.0)
    told = {one.title: str(one.text) for one in findings(found, diagnose(Y, found))}
    assert "noise or tau is too large" in told["The source is empty"]
    assert not any("ewer" in text or "Try 1 source" in text for text in (*told, *told.values()))


def test_the_command_line_says_where_an_argument_is():
    from ngmca._support.messages import option
    from ngmca.settings.option_names import as_flag

    assert as_flag(option("names")) == "names in Python"


def test_unusual_line_ends_in_a_name_do_not_split_its_line(tmp_path):
    from ngmca.io.cell_grid import read_grid

    (tmp_path / "t.csv").write_text("name,conc\na\u2028b,1\nc\x0bd,2\n", encoding="utf-8")
    rows, _ = read_grid(tmp_path / "t.csv")
    assert [cells[0] for _, cells in rows] == ["name", "a\u2028b", "c\x0bd"]


def chain(seed, m=30, n=120):
    """Spectra and amounts of A -> B -> C -> D."""
    draw, x = np.random.default_rng(seed), np.arange(n)
    rates = np.diag([-9.0, -5.0, -3.0, 0.0]) + np.diag([9.0, 5.0, 3.0], -1)
    values, vectors = np.linalg.eig(rates)
    begin = np.linalg.solve(vectors, np.eye(4)[0])
    A = (vectors @ (np.exp(np.outer(values, np.linspace(0, 1, m))) * begin[:, None])).T.real
    centres = draw.permutation([15, 40, 65, 90]) + draw.uniform(-4, 4, 4)
    S = np.exp(-(((x - centres[:, None]) / 6) ** 2))
    S += 0.6 * np.exp(-(((x - draw.uniform(10, 110, (4, 1))) / 5) ** 2))
    return S, A @ S + 0.003 * draw.standard_normal((m, n))


@pytest.mark.parametrize("seed", range(2, 6))
def test_shapes_find_their_sources(seed):
    S, data = chain(seed)
    shapes = (
        ngmca.Monotonic("decreasing", sources=[0]), ngmca.Unimodal(sources=[1, 2]),
        ngmca.Monotonic("increasing", sources=[3]),
    )  # fmt: skip
    found = run(data, 4, *shapes, method=ngmca.Soft(n_iter=100), seed=seed, domain="direct")
    alike = np.corrcoef(found.S, S)[:4, 4:]
    assert alike[0].argmax() == 0
    assert alike[3].argmax() == 3
    assert alike.max(axis=1).min() > 0.98


def test_totals_that_no_profile_in_its_shape_can_have_are_refused():
    totals = np.array([1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0])
    with pytest.raises(ArgumentError, match=r"no result meets all constraints.*Closure.*Monotonic"):
        run(Y, 2, ngmca.Closure(totals), ngmca.Monotonic("increasing"))
    found = run(Y, 2, ngmca.Closure(np.sort(totals)), ngmca.Monotonic("increasing"))
    np.testing.assert_allclose(found.A.sum(axis=1), np.sort(totals), rtol=1e-6)


@pytest.mark.parametrize("exponent", [-600, 600])
def test_known_sources_far_from_the_size_of_the_data_are_refused(exponent):
    spectrum, data = np.abs(Y[:1]) * 2.0**exponent, Y * 2.0 ** (-exponent / 2)
    with pytest.raises(ArgumentError, match=r"KnownSources has a largest entry of .* unit of the data"):
        run(data, 2, ngmca.KnownSources(spectrum, sources=[0]))
