"""Missing entries, noise levels, counts, spikes and constraints: the answers are right."""

import itertools
import warnings

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca import constraints, rules
from ngmca._support.messages import ArgumentError
from ngmca.engines import Counts

R = 4
M, N = 40, 120


@pytest.fixture(scope="module")
def mixture():
    return ngmca.simulate.sparse(m=M, n=N, r=R, p_S=0.2, snr=20, seed=3)


def score(mixture, found):
    return ngmca.evaluate(mixture.S, found.S).mean_sdr


def separate(Y, r=R, **options):
    return ngmca.separate(Y, r, **records(**{"seed": 1, "domain": "direct"} | options))


def test_nan_masks_and_masked_arrays_are_the_same(mixture):
    gap = np.random.default_rng(0).random((M, N)) < 0.3
    holes = np.where(gap, np.nan, mixture.Y)
    found = separate(holes)
    for same in (
        separate(mixture.Y, mask=gap),
        separate(np.where(gap, 1e9, mixture.Y), mask=gap),  # what is missing is never looked at
        separate(np.ma.array(np.where(gap, -np.inf, mixture.Y), mask=gap)),
    ):
        np.testing.assert_array_equal(same.A, found.A)
        np.testing.assert_array_equal(same.S, found.S)
    assert found.violation < 1e-9
    assert score(mixture, found) > score(mixture, separate(mixture.Y)) - 4
    assert score(mixture, found) > score(mixture, separate(np.where(gap, 0, mixture.Y))) + 5
    assert score(mixture, separate(holes.astype(np.float32))) == pytest.approx(
        score(mixture, found), abs=0.05
    )


def test_few_missing_entries_change_little_and_none_change_nothing(mixture):
    none = separate(mixture.Y, mask=np.zeros((M, N), dtype=bool))
    np.testing.assert_array_equal(none.S, separate(mixture.Y).S)
    Y = mixture.Y.copy()
    Y[3, 5] = np.nan
    assert score(mixture, separate(Y)) == pytest.approx(score(mixture, none), abs=0.2)


def test_whole_blocks_and_stripes(mixture):
    gap = np.zeros((M, N), dtype=bool)
    gap[:12, :60] = gap[::4, 70:100] = True
    found = separate(mixture.Y, mask=gap)
    assert score(mixture, found) > score(mixture, separate(mixture.Y)) - 3
    seen = ~gap
    rest = (mixture.Y - found.A @ found.S)[seen]
    assert found.history.cost[-1] == pytest.approx(np.sum(rest**2) / 2, rel=1e-9)


def test_nothing_observed_is_zero_with_a_warning(mixture):
    Y = mixture.Y.copy()
    Y[7] = np.nan
    Y[:, 11] = np.nan
    with pytest.warns(UserWarning, match="no observed entries") as warned:
        found = separate(Y)
    assert [str(one.message) for one in warned] == [
        "measurement 7 has no observed entries: A is 0 there.",
        "channel 11 has no observed entries: S is 0 there.",
    ]
    assert not found.A[7].any()
    assert not found.S[:, 11].any()
    assert np.isfinite(found.noise).all()
    assert score(mixture, found) > 15


def test_all_missing_and_wrong_masks_are_refused(mixture):
    with pytest.raises(ValueError, match="all entries of Y are missing"):
        separate(np.full((3, 4), np.nan), 1)
    with pytest.raises(TypeError, match="mask must be an array of booleans"):
        separate(mixture.Y, mask=np.zeros((M, N)))
    with pytest.raises(ValueError, match="mask must have the shape of Y"):
        separate(mixture.Y, mask=np.zeros((M, 2), dtype=bool))
    with pytest.raises(ValueError, match="missing entries"):
        separate(np.where(mixture.Y > 9, np.nan, mixture.Y), method="hals", domain="auto")
    with pytest.raises(ValueError, match="method='hard' cannot be combined with missing entries"):
        separate(np.where(mixture.Y > 9, np.nan, mixture.Y), method="hard")


def test_rescaling_a_measurement_and_its_noise_changes_nothing(mixture):
    sigma = np.full(M, float(np.std(mixture.Y - mixture.A @ mixture.S)))
    factor = 10.0 ** np.random.default_rng(1).uniform(-2, 2, M)
    plain = separate(mixture.Y, noise=sigma)
    scaled = separate(mixture.Y * factor[:, None], noise=sigma * factor)
    order = ngmca.evaluate(plain.S, scaled.S)
    assert order.mean_sdr > 100  # up to the norms of the columns of A, the same sources
    np.testing.assert_allclose(scaled.noise, sigma * factor)
    columns = np.resize(factor, N)
    scaled = separate(mixture.Y * columns, noise=(sigma[0] * columns)[None])
    np.testing.assert_allclose(scaled.S / columns, plain.S, atol=1e-6 * plain.S.max())


@pytest.mark.parametrize("shape", [(M, 1), (1, N), (M, N)])
def test_levels_weigh_the_fit(mixture, shape):
    rng = np.random.default_rng(2)
    clean = mixture.A @ mixture.S
    sigma = 0.1 * clean.std() * 10 ** rng.uniform(-0.7, 0.7, shape)
    Y = clean + sigma * rng.standard_normal((M, N))
    given = sigma[:, 0] if shape[1] == 1 else sigma
    weighted = separate(Y, noise=given)
    # levels of measurements are found without being given, and those of channels matter for A alone
    gain = 1 if shape == (M, N) else 0
    assert score(mixture, weighted) > score(mixture, separate(Y)) + gain
    single = separate(Y.astype(np.float32), noise=given)
    assert score(mixture, single) == pytest.approx(score(mixture, weighted), abs=0.1)


def test_levels_that_are_all_one_are_a_number(mixture):
    one = separate(mixture.Y, noise=0.3)
    for same in (np.full(M, 0.3), np.full((1, N), 0.3), np.full((M, N), 0.3)):
        np.testing.assert_array_equal(separate(mixture.Y, noise=same).S, one.S)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (np.ones(7), r"one for each measurement \(40\), each channel \(120\)"),
        (np.full((M, N), -1.0), "not negative"),
        (np.r_[np.zeros(1), np.ones(M - 1)], "differ by more than a factor of 1e6"),
        ("gaussian", "noise must be one of 'poisson'"),
    ],
)
def test_wrong_levels_are_named(mixture, noise, words):
    with pytest.raises(ValueError, match=words):
        separate(mixture.Y, noise=noise)


@pytest.mark.parametrize("gain", [1.0, 4.0])
def test_counts(mixture, gain):
    rng = np.random.default_rng(4)
    clean = mixture.A @ mixture.S
    clean *= 20 / clean.mean()
    Y = gain * rng.poisson(clean) + 2.0 * rng.standard_normal(clean.shape) * (gain > 1)
    noise = "poisson" if gain == 1 else Counts(gain, readout=2.0)
    found = separate(Y.astype(int) if gain == 1 else Y, noise=noise)
    assert score(mixture, found) > score(mixture, separate(Y)) + 0.7
    variance = gain * np.maximum(gain * clean, gain) + 4.0 * (gain > 1)
    expected = np.sqrt(variance.mean(axis=1))
    np.testing.assert_allclose(found.noise, expected, rtol=0.25)  # thresholds make the fit smaller


def test_spikes_are_found_listed_and_without_effect(mixture):
    rng = np.random.default_rng(5)
    Y, level = mixture.Y.copy(), float(np.std(mixture.Y - mixture.A @ mixture.S))
    places = np.unique(rng.integers([M, N], size=(6, 2)), axis=0)
    Y[tuple(places.T)] += 50 * level
    found, clean = separate(Y, robust=True), separate(mixture.Y)
    np.testing.assert_array_equal(found.outliers, places)
    assert score(mixture, found) > score(mixture, clean) - 0.5
    assert score(mixture, separate(Y)) < score(mixture, clean) - 1
    assert not len(separate(mixture.Y, robust=True).outliers)


def test_peaks_of_one_measurement_are_no_spikes(mixture):
    Y = mixture.Y.copy()
    Y[4, 30:50] += 50 * np.std(Y - mixture.A @ mixture.S)  # a band, not a cosmic ray
    listed = separate(Y, robust=True).outliers
    assert not len(listed[listed[:, 0] == 4])


def test_known_sources_come_back_and_help(mixture):
    fixed = separate(mixture.Y, known_sources=mixture.S[:2])
    np.testing.assert_allclose(fixed.S[:2], mixture.S[:2], rtol=1e-12)
    amounts = np.linalg.norm(fixed.A[:, :2] - mixture.A[:, :2], axis=0)
    assert (amounts < 0.1 * np.linalg.norm(mixture.A[:, :2], axis=0)).all()
    bias = (fixed.A[:, :2] - mixture.A[:, :2]).mean() / mixture.A[:, :2].mean()
    assert abs(bias) < 0.015  # thresholds on the others must not make room for more of it
    free = separate(mixture.Y, known_sources=mixture.S[:2], known_scale="free")
    np.testing.assert_allclose(np.linalg.norm(free.A, axis=0), 1)
    parallel = np.vdot(free.S[0], mixture.S[0]) / np.linalg.norm(mixture.S[0])
    assert parallel == pytest.approx(np.linalg.norm(free.S[0]))
    later = np.full((R, N), np.nan)
    later[3] = mixture.S[3]
    np.testing.assert_allclose(separate(mixture.Y, known_sources=later).S[3], mixture.S[3])


def test_an_absent_known_source_is_absent(mixture):
    ghost = np.zeros((1, N))
    ghost[0, np.flatnonzero(~mixture.S.any(axis=0))[:3]] = 1  # where nothing is
    found = separate(mixture.Y, R + 1, known_sources=ghost)
    np.testing.assert_allclose(found.S[0], ghost[0])
    assert found.A[:, 0].max() < 0.2
    assert ngmca.evaluate(mixture.S, found.S[1:]).mean_sdr > 20


def test_known_mixing_comes_back(mixture):
    found = separate(mixture.Y, known_mixing=mixture.A[:, :1])
    np.testing.assert_allclose(found.A[:, 0], mixture.A[:, 0], rtol=1e-12)
    assert np.linalg.norm(found.S[0] - mixture.S[0]) < 0.15 * np.linalg.norm(mixture.S[0])


def test_zeros_stay(mixture):
    zero_S, zero_A = mixture.S == 0, np.random.default_rng(6).random((M, R)) < 0.2
    found = separate(mixture.Y, zero_sources=zero_S, zero_mixing=zero_A)
    assert not found.S[zero_S].any()
    assert not found.A[zero_A].any()
    helped = separate(mixture.Y, zero_sources=zero_S)
    assert score(mixture, helped) > score(mixture, separate(mixture.Y))


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_closure_makes_scales_physical(missing):
    rng = np.random.default_rng(7)
    S = ngmca.simulate.sparse(m=5, n=N, r=3, p_S=0.3, snr=20, seed=7).S
    A, totals = rng.dirichlet(np.ones(3), M), rng.uniform(0.5, 2, M)
    clean = (A * totals[:, None]) @ S
    Y = clean + 0.03 * clean.std() * rng.standard_normal(clean.shape)
    Y[rng.random(Y.shape) < missing] = np.nan
    found = separate(Y, 3, closure=totals)
    np.testing.assert_allclose(found.A.sum(axis=1), totals, rtol=1e-9)
    order = ngmca.evaluate(S, found.S).order
    assert np.abs(found.A[:, order] - A * totals[:, None]).max() < 0.06
    assert np.linalg.norm(found.S[order] - S) < 0.06 * np.linalg.norm(S)
    assert found.history.mixing_violation[-1] < 1e-9


def test_profiles_have_their_shapes_in_every_data_set():
    t = np.arange(M)[:, None]
    A = np.exp(-0.5 * ((t - [8, 20, 33]) / 5) ** 2)
    mixture = ngmca.simulate.sparse(m=M, n=N, r=3, p_S=0.3, snr=20, seed=8)
    rng = np.random.default_rng(8)
    clean = np.vstack([A @ mixture.S, A[::-1] @ mixture.S])
    Y = clean + 0.3 * clean.std() * rng.standard_normal(clean.shape)
    free = separate([Y[:M], Y[M:]], 3)
    found = separate([Y[:M], Y[M:]], 3, profiles="unimodal")
    assert found.parts == (slice(0, M), slice(M, 2 * M))
    for part in found.parts:
        assert all(is_unimodal(column) for column in found.A[part].T)
        assert not all(is_unimodal(column) for column in free.A[part].T)
    assert score(mixture, found) > score(mixture, free) - 0.5
    falling = separate(Y[:M], 3, profiles=["decreasing", None, None])
    assert (np.diff(falling.A[:, 0]) <= 1e-12).all()


def is_unimodal(x):
    peak = x.argmax()
    return (np.diff(x[: peak + 1]) >= -1e-12).all() and (np.diff(x[peak:]) <= 1e-12).all()


def test_several_data_sets_have_common_sources(mixture):
    whole = separate(mixture.Y)
    found = separate([mixture.Y[:15], mixture.Y[15:]], noise=None)
    np.testing.assert_array_equal(found.S, whole.S)
    np.testing.assert_array_equal(found.A, whole.A)
    closed = separate([mixture.Y[:15], mixture.Y[15:]], closure=[1, 2], noise=[0.2, 0.4])
    np.testing.assert_allclose(closed.A.sum(axis=1), np.repeat([1, 2], [15, M - 15]))
    np.testing.assert_allclose(closed.noise, np.repeat([0.2, 0.4], [15, M - 15]))
    with pytest.raises(ValueError, match="15 x 120, 25 x 100: they must have the same channels"):
        separate([mixture.Y[:15], mixture.Y[15:, :100]])


@pytest.mark.parametrize("kind", ["splines", "polynomial", "given"])
def test_a_baseline_is_no_source(mixture, kind):
    rng = np.random.default_rng(9)
    basis = ngmca.backgrounds.polynomial(N, 2)
    curved = rng.random((M, 3)) @ basis
    curved *= 2 * np.quantile(mixture.A @ mixture.S, 0.99) / curved.max()
    found = separate(mixture.Y + curved, baseline=basis if kind == "given" else kind)
    assert score(mixture, found) > score(mixture, separate(mixture.Y)) - 2.5
    ignored = ngmca.separate(mixture.Y + curved, R, constraints=[], n_init=1)
    assert score(mixture, ignored) < 10
    assert found.A.shape == (M, R)
    assert (found.background.weights >= 0).all()
    np.testing.assert_allclose(found.background.values, curved, atol=0.1 * curved.max())
    unit = separate((mixture.Y + curved) * 1e200, baseline=basis if kind == "given" else kind)
    np.testing.assert_allclose(unit.background.values / 1e200, found.background.values, rtol=1e-6)


def test_a_sparse_mixing():
    rng = np.random.default_rng(10)
    A = rng.exponential(size=(N, R)) * (rng.random((N, R)) < 0.15)
    S = rng.random((R, M))
    Y = A @ S
    Y = Y + 0.05 * Y.std() * rng.standard_normal(Y.shape)
    scores = {
        name: ngmca.evaluate(A.T, separate(Y, penalised=name).A.T).mean_sdr
        for name in ("S", "A", "both")
    }
    assert scores["A"] > scores["both"] > scores["S"] + 1
    found = separate(Y, penalised="A")
    np.testing.assert_allclose(np.linalg.norm(found.A, axis=0), 1)
    assert found.noise.shape == (N,)


OPTIONS = {
    "mask": lambda mixture: {"mask": np.random.default_rng(0).random((M, N)) < 0.1},
    "noise rows": lambda mixture: {"noise": np.linspace(0.1, 0.5, M)},
    "noise entries": lambda mixture: {"noise": np.linspace(0.1, 0.5, M * N).reshape(M, N)},
    "poisson": lambda mixture: {"noise": "poisson"},
    "robust": lambda mixture: {"robust": True},
    "known_sources": lambda mixture: {"known_sources": mixture.S[:1]},
    "known_mixing": lambda mixture: {"known_mixing": np.c_[np.full(M, np.nan), mixture.A[:, 1]]},
    "zero_sources": lambda mixture: {"zero_sources": mixture.S == 0},
    "zero_mixing": lambda mixture: {"zero_mixing": np.eye(M, R, k=2, dtype=bool)},
    "closure": lambda mixture: {"closure": mixture.A.sum(axis=1)},
    "profiles": lambda mixture: {"profiles": [None, None, None, "unimodal"]},
    "baseline": lambda mixture: {"baseline": "splines"},
    "both": lambda mixture: {"penalised": "both"},
    "A": lambda mixture: {"penalised": "A"},
}
FEATURES = {
    "known_sources": "KnownSources",
    "known_mixing": "KnownMixing",
    "zero_sources": "ZeroSources",
    "zero_mixing": "ZeroMixing",
    "closure": "Closure",
    "profiles": "Unimodal",
    "baseline": "Baseline",
    "both": "penalised both",
    "A": "penalised A",
}
PAIRS = list(itertools.combinations(OPTIONS, 2))


def excluded(names):
    """Whether the table says that two options cannot be combined."""
    one, other = (FEATURES.get(name, name) for name in names)
    return rules.reason_against(one, other) is not None


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_what_two_options_ask_for_holds_together(mixture, one, other):
    options = [OPTIONS[name](mixture) for name in (one, other)]
    if set(options[0]) & set(options[1]):
        return  # the same argument twice
    given = options[0] | options[1]
    if excluded({one, other}):
        with pytest.raises(ArgumentError, match="cannot be combined with"):
            separate(mixture.Y, n_iter=30, **given)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = separate(mixture.Y, n_iter=30, **given)
    assert np.isfinite(found.A).all()
    assert np.isfinite(found.S).all()
    assert (found.A >= 0).all()
    assert (found.S >= 0).all()
    if "known_sources" in given:
        np.testing.assert_allclose(found.S[0], mixture.S[0], rtol=1e-9)
    if "known_mixing" in given:
        np.testing.assert_allclose(found.A[:, 1], mixture.A[:, 1], rtol=1e-9)
    if "closure" in given:
        np.testing.assert_allclose(found.A.sum(axis=1), given["closure"], rtol=1e-9)
    if "profiles" in given:
        assert is_unimodal(found.A[:, 3])
    if "zero_sources" in given:
        assert not found.S[given["zero_sources"]].any()
    if "zero_mixing" in given:
        assert not found.A[given["zero_mixing"]].any()


@pytest.mark.parametrize("name", OPTIONS)
def test_a_given_start_leads_to_an_answer_that_fits_as_well(mixture, name):
    """As near as another start of the same schedule comes."""
    options = OPTIONS[name](mixture) | {"seed": 1, "domain": "direct", "n_iter": 60}
    mask = options.pop("mask", None)
    states = list(ngmca.iterate(mixture.Y, ngmca.Task(R, **records(**options)), mask=mask))
    again = ngmca.Task(R, **records(start=states[40], **options))
    end, other = states[-1], list(ngmca.iterate(mixture.Y, again, mask=mask))[-1]
    assert ngmca.evaluate(end.A @ end.S, other.A @ other.S).mean_sdr > 20


def test_constraints_that_are_wrong_are_named(mixture):
    half = np.arange(R) == 0
    for given, words in [
        ([ngmca.KnownSources(-mixture.S)], "KnownSources has negative entries"),
        ([ngmca.KnownSources(mixture.S[:, :5])], r"KnownSources must have shape \(k, 120\)"),
        ([ngmca.KnownSources(mixture.S[:1] * 0)], "KnownSources has a profile of zeros: leave it out"),
        ([ngmca.KnownSources(mixture.S[:1], sources=[R])], "must name 1 of 4 sources by their index"),
        ([ngmca.KnownMixing(mixture.A[:5])], r"KnownMixing must have shape \(40, k\)"),
        (
            [ngmca.KnownSources(mixture.S[:1]), ngmca.KnownMixing(mixture.A[:, :1])],
            "KnownSources and KnownMixing both define source 0",
        ),
        ([ngmca.ZeroSources(np.tile(half[:, None], N))], "ZeroSources sets a whole source to 0"),
        ([ngmca.ZeroMixing(np.ones((M, R)))], r"ZeroMixing must be booleans of shape \(40, 4\)"),
        ([ngmca.Closure(np.ones(3))], r"Closure needs one total, or one for each measurement \(40\)"),
        ([ngmca.Closure(), ngmca.Closure(2.0)], "Closure is given 2 times: put it into one record"),
        ([ngmca.Unimodal([R])], "Unimodal names source 4, but there are 4 sources"),
        ([ngmca.Unimodal(), ngmca.Monotonic(sources=[1])], "source 1 cannot be both"),
        ([ngmca.Baseline("cubic")], "Baseline must be one of .*'polynomial', 'splines'"),
        ([ngmca.Baseline(-np.ones((1, N)))], "not negative"),
        (
            [ngmca.KnownMixing(mixture.A[:, :1]), ngmca.ZeroMixing(np.eye(M, R, dtype=bool))],
            "KnownMixing is above 0 where ZeroMixing says 0",
        ),
        (
            [ngmca.Closure(), ngmca.KnownMixing(np.full((M, 1), 2.0))],
            "known by KnownMixing or ZeroMixing contradict the total of Closure in measurement 0: "
            "their sum is 2, the total is 1",
        ),
    ]:
        with pytest.raises(ValueError, match=words):
            separate(mixture.Y, constraints=given)
    for totals in (-1.0, 0.0, np.nan, np.array([1.0, -1.0]), [1.0, [2.0, np.inf]]):
        with pytest.raises(ArgumentError, match="Closure needs totals above 0"):
            ngmca.Closure(totals)
    with pytest.raises(ValueError, match="direction must be one of 'increasing', 'decreasing'"):
        ngmca.Monotonic("wavy")
    with pytest.raises(TypeError, match=r"constraints must be a list of Baseline.*got 'closure'"):
        separate(mixture.Y, constraints=["closure"])
    with pytest.raises(ValueError, match="method='hals' cannot be combined with Closure"):
        separate(mixture.Y, method="hals", domain="auto", closure=True)
    with pytest.raises(ValueError, match="method='naive' cannot be combined with Closure: its steps"):
        separate(mixture.Y, method="naive", closure=True)


@pytest.fixture(scope="module")
def bands():
    return ngmca.simulate.bands(
        m=30, n=200, r=3, bands=4, fwhm=(8, 20), mixing="dirichlet", snr=25, seed=2
    )


@pytest.mark.parametrize(
    "options", [{}, {"tau": 0}, {"method": "hard", "domain": "auto"}, {"domain": "auto"}]
)
@pytest.mark.parametrize("known", [False, True])
def test_a_closure_holds_whatever_the_method(bands, options, known):
    given = {"known_sources": bands.S[:1]} if known else {}
    found = separate(bands.Y, 3, closure=True, **given, **options)
    np.testing.assert_allclose(found.A.sum(axis=1), 1, rtol=1e-9)
    if known:
        np.testing.assert_allclose(found.S[0], bands.S[0], rtol=1e-9)


def test_wavelets_refuse_what_they_do_not_heed(bands):
    for given in ({"zero_sources": bands.S < 1e-3}, {"closure": True, "known_sources": bands.S[:1]}):
        with pytest.raises(ValueError, match="domain='wavelet' cannot be combined with"):
            separate(bands.Y, 3, domain="wavelet", **given)
    assert separate(bands.Y, 3, domain="wavelet", known_sources=bands.S).domain.name == "direct"


@pytest.mark.parametrize("options", [{"robust": True}, {"noise": "poisson"}])
def test_bands_go_on_with_the_weights_that_they_had(bands, options):
    rng = np.random.default_rng(0)
    Y = rng.poisson(np.maximum(bands.A @ bands.S, 0) * 50).astype(float)
    if "robust" in options:
        Y = bands.Y.copy()
        Y[3, 40] += 10
    task = ngmca.Task(3, **records(domain="wavelet", n_iter=60, **options))
    states = list(ngmca.iterate(Y, task))
    first = next(i for i, state in enumerate(states) if state.domain.name == "wavelet")
    if "robust" in options:
        for state in states[first - 1 :]:
            np.testing.assert_array_equal(state.outliers, [[3, 40]])
    plain = ngmca.separate(Y, 3, **records(domain="wavelet", n_iter=60))
    true = [ngmca.evaluate(bands.S, found.S).mean_sdr for found in (states[-1], plain)]
    assert true[0] > true[1] - 0.5


def test_given_noise_is_what_outliers_are_judged_by(mixture):
    rng = np.random.default_rng(0)
    Y = mixture.A @ mixture.S + 0.05 * rng.standard_t(3, (M, N))
    assert not len(separate(Y, robust=True, noise=0.5).outliers)
    counts = rng.poisson(mixture.A @ mixture.S * 20)
    assert len(separate(counts, robust=True, noise="poisson").outliers) <= 2
    assert not len(separate(mixture.A @ mixture.S, robust=True, tau=0).outliers)


def test_levels_of_missing_entries_may_be_missing(mixture):
    Y, sigma = mixture.Y.copy(), np.linspace(0.1, 0.3, M * N).reshape(M, N)
    Y[2, 3] = np.nan
    expected = separate(Y, noise=sigma)
    sigma[2, 3] = np.nan
    assert score(mixture, separate(Y, noise=sigma)) == pytest.approx(score(mixture, expected), abs=0.1)


def test_numbers_that_are_no_counts_are_told(mixture):
    with pytest.warns(UserWarning, match="less than 5 events"):
        separate(mixture.Y / mixture.Y.max(), noise="poisson")


def test_a_sparse_mixing_from_several_starts(mixture):
    found = separate(mixture.Y, penalised="A", n_init=2)
    assert len(found.restarts) == 2
    assert max(one.cost for one in found.restarts) < np.sum(mixture.Y**2)


def test_only_constraints_with_a_counterpart_are_exchanged():
    absent = ngmca.ZeroMixing(np.eye(5, 2, dtype=bool))
    (turned,) = constraints.transposed([absent])
    np.testing.assert_array_equal(turned.flags(2, 5), np.eye(2, 5, dtype=bool))
    with pytest.raises(TypeError, match="Closure has no counterpart"):
        constraints.transposed([absent, ngmca.Closure()])


def test_thresholds_belong_to_the_sources_in_units_of_the_data():
    """At the minimum, the gradient where a source is above 0 is its threshold."""
    x = ngmca.simulate.sparse(20, 60, 3, snr=None, seed=0)
    levels = 0.1 * np.geomspace(0.2, 5, 20)
    Y = x.Y + levels[:, None] * np.random.default_rng(0).standard_normal(x.Y.shape)
    found = ngmca.separate(Y, 3, method=ngmca.Soft(n_iter=40), noise=levels, domain="direct", n_init=1)
    weights = (np.exp(np.log(levels).mean()) / levels) ** 2
    pull = found.A.T @ (weights[:, None] * (Y - found.A @ found.S))
    for lam, row, on in zip(found.lam, pull, found.S > 0, strict=True):
        np.testing.assert_allclose(row[on], lam, rtol=1e-6)
