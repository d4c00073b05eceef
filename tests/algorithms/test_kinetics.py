"""Profiles that follow a rate law: the law itself, its parameters, and their intervals."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

import ngmca
from ngmca.algorithms.kinetics.kinetic_errors import _sums_of_channels, rates_of
from ngmca.algorithms.kinetics.kinetic_step import KineticFit
from ngmca.constraints.arrays import constraint_arrays
from ngmca.constraints.rate_law import RateLaw
from ngmca.engines import Levels, open_data

TIMES = np.linspace(0, 8, 25)
CHANNELS = np.arange(40)
QUICK = {"domain": "direct", "n_init": 1, "method": ngmca.Soft(n_iter=20)}


def bands(*centres, width=6.0):
    return np.exp(-0.5 * ((CHANNELS - np.array(centres)[:, None]) / width) ** 2)


def data(A, S, noise=0.01, seed=0):
    return A @ S + noise * np.random.default_rng(seed).standard_normal((len(A), S.shape[1]))


def amounts(law, rates, start):
    return RateLaw.of(law).amounts(TIMES, np.array(rates, float), np.array(start, float))


def test_first_order_steps_have_their_known_solution():
    a, c = np.exp(-0.7 * TIMES), 0.7 / (0.7 - 0.2)
    b = c * (np.exp(-0.2 * TIMES) - a)
    np.testing.assert_allclose(
        amounts("A -> B -> C", [0.7, 0.2], [1, 0, 0]), np.column_stack([a, b, 1 - a - b]), atol=1e-12
    )
    equal = amounts("A -> B -> C", [0.5, 0.5], [1, 0, 0])  # the formula above has a pole there
    np.testing.assert_allclose(equal[:, 1], 0.5 * TIMES * np.exp(-0.5 * TIMES), atol=1e-12)
    there = amounts("A <-> B", [0.6, 0.3], [1, 0])
    np.testing.assert_allclose(there[:, 1], (1 - np.exp(-0.9 * TIMES)) * 2 / 3, atol=1e-12)
    parallel = amounts(["A -> B", "A -> C"], [0.6, 0.3], [1, 0, 0])
    np.testing.assert_allclose(parallel[1:, 1], 2 * parallel[1:, 2], rtol=1e-12)


@pytest.mark.parametrize("rates", [[0.7, 0.2], [0.5, 0.5], [0.5, 0.5 * (1 + 1e-7)], [0.0, 0.5]])
@pytest.mark.parametrize("unit", [1e-13, 1.0, 1e9])
def test_amounts_do_not_depend_on_the_unit_of_time(rates, unit):
    times, rates = np.sort(np.random.default_rng(0).random(20)) * 8, np.array(rates)
    law, start = RateLaw.of("A -> B -> C"), np.array([1.0, 0, 0])
    a, b = np.exp(-rates[0] * times), rates[0] * times * np.exp(-rates[0] * times)
    if abs(np.subtract(*rates)) > 1e-3:
        b = rates[0] / (rates[1] - rates[0]) * (a - np.exp(-rates[1] * times))
    times[0], a[0], b[0] = 0, 1, 0
    found = law.amounts(times * unit, rates / unit, start)
    assert found[0].tolist() == [1, 0, 0]
    np.testing.assert_allclose(found, np.column_stack([a, b, 1 - a - b]), atol=1e-7)


def test_second_order_steps_have_their_known_solution():
    alone = amounts("2 A -> B", [0.4], [1.5, 0])
    np.testing.assert_allclose(alone[:, 0], 1.5 / (1 + 2 * 0.4 * 1.5 * TIMES), rtol=1e-6)
    np.testing.assert_allclose(alone[:, 0] + 2 * alone[:, 1], 1.5, rtol=1e-6)
    both = amounts("A + B -> C", [0.8], [1.0, 2.0, 0.0])
    e = np.exp(0.8 * TIMES)
    np.testing.assert_allclose(both[:, 2], 2 * (e - 1) / (2 * e - 1), atol=1e-6)


def test_rate_laws_are_read_or_refused():
    law = RateLaw.of("S + E <-> ES -> E + P")
    assert law.species == ("S", "E", "ES", "P")
    assert law.names == ("S + E -> ES", "ES -> S + E", "ES -> E + P")
    assert RateLaw.of("A -> B, A -> C").names == ("A -> B", "A -> C")
    for text in ("A", "A -> ", "A B -> C", "", "-> B"):
        with pytest.raises(ValueError, match="Kinetics cannot read"):
            RateLaw.of(text)
    with pytest.raises(ValueError, match="has a step of 3 molecules, '2 A \\+ B'"):
        RateLaw.of("2 A + B -> C")
    with pytest.raises(ValueError, match="needs the starting amounts of A and B"):
        ngmca.Kinetics("A + B -> C")
    with pytest.raises(ValueError, match="names X, but the species are A, B"):
        ngmca.Kinetics("A -> B", start={"X": 1.0})


def test_rates_profiles_and_spectra_are_found_with_the_free_fit_beside_them():
    A, S = amounts("A -> B -> C", [0.9, 0.3], [2, 0, 0]), bands(10, 17, 25)
    law = ngmca.Kinetics("A -> B -> C", start={"A": 2.0}, times=TIMES)
    found = ngmca.separate(data(A, S), 3, constraints=[law], **QUICK)
    assert (found.rates.low < [0.9, 0.3]).all()
    assert (found.rates.high > [0.9, 0.3]).all()
    assert (found.rates.sd < 0.05).all()
    np.testing.assert_allclose(found.A, A, atol=0.05)
    assert found.rates.free_fit > 0.001
    short = ngmca.Kinetics("A -> B", start={"A": 2.0}, times=TIMES)
    wrong = ngmca.separate(data(A, S), 2, constraints=[short], **QUICK)
    assert wrong.rates.free_fit < 1e-6
    assert wrong.rates.widened > 1.5
    assert "Free profiles fit clearly better" in " ".join(wrong.rates.words())


def test_sources_outside_of_the_law_and_species_that_are_not_seen():
    A = amounts("A + B -> C", [0.8], [1.0, 1.5, 0.0])
    other = 0.5 + 0.4 * np.sin(TIMES)
    S = bands(8, 18, 30)
    Y = data(np.column_stack([A[:, 0], A[:, 2], other]), S, noise=0.005)
    law = ngmca.Kinetics("A + B -> C", start=[1.0, 1.5, 0.0], times=TIMES, sources=[0, None, 1])
    found = ngmca.separate(Y, 3, constraints=[law], **QUICK)
    assert found.rates.values[0] == pytest.approx(0.8, abs=4 * found.rates.sd[0])
    np.testing.assert_allclose(found.A[:, :2], A[:, [0, 2]], atol=0.03)
    assert np.corrcoef(found.A[:, 2], other)[0, 1] > 0.99


def test_known_spectra_keep_their_scale_beside_a_law():
    A, S = amounts("A -> B", [0.5], [1, 0]), 3 * bands(15, 22)
    law = ngmca.Kinetics("A -> B", times=TIMES)
    known = ngmca.KnownSources(S[:1])
    found = ngmca.separate(data(A, S), 2, constraints=[law, known], **QUICK)
    np.testing.assert_allclose(found.S[0], S[0], rtol=1e-6)
    np.testing.assert_allclose(found.A, A, atol=0.02)


def test_a_known_spectrum_is_as_given_although_the_law_has_another_size():
    A, S = amounts("A -> B", [0.5], [1, 0]), bands(12, 22)
    engine = open_data(A @ S)
    known = [ngmca.Kinetics("A -> B", times=TIMES), ngmca.KnownSources(S[:1])]
    made = constraint_arrays(known, engine, 2, Levels(), engine.parts, penalise_both=False)
    norms = np.linalg.norm(A, axis=0)
    size = made.sizes_of(A / norms, np.array([4 * S[0], S[1]]))  # S is divided by its size
    np.testing.assert_allclose(size, [4, norms[1]], rtol=1e-6)


def test_a_function_of_times_and_parameters():
    A = np.column_stack([np.exp(-((0.4 * TIMES) ** 1.5)), 1 - np.exp(-((0.4 * TIMES) ** 1.5))])

    def stretched(times, parameters):
        left = np.exp(-((parameters[0] * times) ** parameters[1]))
        return np.column_stack([left, 1 - left])

    law = ngmca.Kinetics(stretched, times=TIMES, guess=[1.0, 1.0], names=["rate", "exponent"])
    found = ngmca.separate(data(A, bands(12, 22)), 2, constraints=[law], **QUICK).rates
    assert found.names == ("rate", "exponent")
    assert np.abs((found.values - [0.4, 1.5]) / found.sd).max() < 4
    with pytest.raises(ValueError, match="needs a guess of its parameters"):
        ngmca.Kinetics(stretched)


def test_the_certificate_is_the_next_step_of_the_parameters():
    A, S = amounts("A -> B", [0.5], [1, 0]), bands(12, 22)
    engine = open_data(data(A, S))
    model = ngmca.Kinetics("A -> B", times=TIMES).model(len(TIMES), 2, np.ones(len(TIMES)))
    fit = KineticFit(engine, A, S, model)
    theta, here = fit.descend(model.free(np.array([3.0])))
    assert fit.distance(theta, here) < 1e-5
    away = theta + 0.1
    assert fit.distance(away, fit.sweep(away)) == pytest.approx(0.1, rel=0.5)


def test_the_curvature_is_that_of_the_cost():
    """Sources above 0 everywhere: the cost is smooth, and differences tell its curvature."""
    A, S = amounts("A -> B", [0.5], [1, 0]), bands(12, 22) + 0.5
    engine = open_data(data(A, S, noise=1e-4))
    model = ngmca.Kinetics("A -> B", times=TIMES).model(len(TIMES), 2, np.ones(len(TIMES)))
    fit = KineticFit(engine, A, S, model)
    theta, here = fit.descend(model.free(np.array([0.6])))
    _, curvature = fit.slope_and_curvature(theta, here)
    step = 0.01
    sides = fit.sweep(theta + step).cost + fit.sweep(theta - step).cost
    assert curvature[0, 0] == pytest.approx((sides - 2 * here.cost) / step**2, rel=0.01)


@pytest.mark.parametrize("times", [TIMES[::-1], TIMES[:-1], -TIMES])
def test_times_that_cannot_be(times):
    law = ngmca.Kinetics("A -> B", times=times)
    with pytest.raises(ValueError, match="times of Kinetics must be one for each of 25"):
        ngmca.separate(np.ones((25, 9)), 2, constraints=[law])


def test_times_of_a_data_set_are_used_and_drawn():
    A, S = amounts("A -> B", [0.5], [1, 0]), bands(12, 22)
    rows = {"row_axis": TIMES, "row_label": "time [min]"}
    measured = ngmca.io.Dataset(data(A, S, noise=0.01), **rows)
    law = [ngmca.Kinetics("A -> B")]
    rates = ngmca.separate(measured, 2, constraints=law, n_init=1).rates
    assert rates.values[0] == pytest.approx(0.5, rel=0.05)
    np.testing.assert_array_equal(rates.times, TIMES)
    np.testing.assert_allclose(rates.profiles, A, atol=0.05)
    np.testing.assert_allclose(rates.amounts, A, atol=0.1)
    assert (rates.amounts != rates.profiles).any()
    panels = rates.plot().axes
    np.testing.assert_array_equal(panels[1].lines[1].get_ydata(), rates.profiles[:, 1])
    again = type(rates).from_facts(rates.facts)
    np.testing.assert_array_equal(again.amounts, rates.amounts)
    assert again.columns == rates.columns
    hot = ngmca.io.Dataset(measured.Y, row_axis=TIMES, row_label="temperature [K]")
    counted = ngmca.separate(hot, 2, constraints=law, n_init=1).rates.times
    np.testing.assert_array_equal(counted, np.arange(len(TIMES)))


RARE = np.isin(np.arange(25), [3, 9, 15])[:, None]  # measurements with a reference
SD = 0.02


@pytest.mark.parametrize("rest", [False, True])
def test_known_values_and_a_closure_enter_the_fit_of_the_rates(rest):
    """Against a search over the rates, with exact spectra for each of them."""
    A, S = amounts("A -> B -> C", [0.9, 0.3], [1, 0, 0]), bands(10, 14, 18)
    Y = data(A, S, noise=0.03)
    values = np.where(RARE, np.abs(A + SD * np.random.default_rng(1).standard_normal(A.shape)), np.nan)
    law = ngmca.Kinetics("A -> B -> C", times=TIMES, sources=[0, 1, None] if rest else None)
    known = [law, ngmca.Closure(), ngmca.KnownMixing(values, sd=SD)]
    found = ngmca.separate(Y, 3, constraints=known, noise=0.03, **QUICK)
    np.testing.assert_allclose(found.A.sum(axis=1), 1)
    assert found.history.mixing_violation[-1] < 1e-6

    def left(logs):
        P = amounts("A -> B -> C", np.exp(logs), [1, 0, 0])
        fit = Y - P @ np.stack([nnls(P, y)[0] for y in Y.T], axis=1)
        return np.sum((fit / 0.03) ** 2) + np.nansum(((P - values) / SD) ** 2)

    best = minimize(
        left, np.log([0.8, 0.35]), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9}
    )
    np.testing.assert_allclose(found.rates.values, np.exp(best.x), rtol=1e-5)
    alone = ngmca.separate(Y, 3, constraints=[law, ngmca.Closure()], noise=0.03, **QUICK).rates
    assert (found.rates.sd < 0.5 * alone.sd).all()


def test_other_sources_keep_their_shapes_and_values_beside_a_law():
    A = amounts("A -> B", [0.8], [1, 0])
    A = np.column_stack([A, np.exp(-0.5 * ((TIMES - 4) / 1.5) ** 2)])
    points = np.where(RARE & (np.arange(3) == 2), A, np.nan)
    known = [ngmca.Kinetics("A -> B", times=TIMES), ngmca.Unimodal(), ngmca.KnownMixing(points)]
    found = ngmca.separate(data(A, bands(8, 18, 30)), 3, constraints=known, **QUICK)
    np.testing.assert_allclose(found.A[RARE[:, 0], 2], A[RARE[:, 0], 2])
    assert (np.diff(np.sign(np.diff(found.A[:, 2]))) <= 0).all()
    np.testing.assert_allclose(found.A, A, atol=0.05)


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ([ngmca.KnownMixing(np.where(RARE, 0.3, np.nan))], r"source 0. It contradicts the exact value"),
        ([ngmca.Closure(0.9)], "sum to 1 in measurement 0, but Closure says 0.9"),
        ([ngmca.Closure(1.5, sources=[0, 1, 2])], "leaves 2 sources free"),
        ([ngmca.Closure(1.0, "at most", sources=[0])], "equal to their totals, not 'at most'"),
        ([ngmca.Unimodal([0])], "source 0: leave out its shape"),
        ([ngmca.ZeroMixing(np.eye(25, 3, dtype=bool))], "contradicts the exact value in measurement 0"),
    ],
)
def test_what_a_law_contradicts_is_refused(known, told):
    sources = [0, None] if "2 sources" in told else [0, 1]
    law = ngmca.Kinetics("A -> B", times=TIMES, sources=sources)
    given = known if "sum to 1" not in told else [ngmca.Closure(0.9, sources=[0, 1])]
    with pytest.raises(ValueError, match=told):
        ngmca.separate(np.ones((25, 9)), 3, constraints=[law, *given])


def test_values_that_a_law_has_anyway_are_no_contradiction():
    A, S = amounts("A -> B", [0.5], [1, 0]), bands(12, 22)
    start = np.where(np.arange(25)[:, None] == 0, [1.0, 0.0], np.nan)
    known = [ngmca.Kinetics("A -> B", times=TIMES), ngmca.KnownMixing(start)]
    found = ngmca.separate(data(A, S), 2, constraints=known, **QUICK)
    np.testing.assert_allclose(found.A, A, atol=0.02)


def test_profiles_near_zero_neither_overflow_nor_win():
    A, S = amounts("A -> B", [0.5], [1, 0]), bands(12, 22)
    model = ngmca.Kinetics("A -> B", times=TIMES + 1).model(len(TIMES), 2, np.ones(len(TIMES)))
    fit = KineticFit(open_data(data(A, S)), A, S, model)
    here = fit.descend(model.free(np.array([0.6])))
    for rate in np.arange(340.0, 380.0):  # squares of the first profile are the least numbers there are
        there = model.free(np.array([rate]))
        assert fit.cost(there, fit.sweep(there)) > fit.cost(*here)  # warnings are errors in tests


def test_errors_of_rates_beside_equal_columns():
    A = np.column_stack([*amounts("A -> B", [0.5], [1, 0]).T, np.ones(25), np.ones(25)])
    engine, S = open_data(data(A, bands(8, 16, 24, 32))), bands(8, 16, 24, 32) + 0.1
    model = ngmca.Kinetics("A -> B", times=TIMES).model(25, 4, np.ones(25))
    found = rates_of(engine, A, S, model, S)
    assert np.isfinite(found.sd).all()
    twice = KineticFit(engine, A, S, model).sweep(model.free(np.array([0.5])))
    twice.S[:] = S  # all sources are above 0, and two of their columns are equal
    sums = _sums_of_channels(engine, A, twice, np.zeros((1, 25, 4)), None)
    assert all(np.isfinite(one).all() for one in sums)


@pytest.mark.parametrize("seed", range(3))
def test_rates_of_data_in_single_precision_are_those_of_the_same_data_in_double(seed):
    """Costs in single precision are as coarse as a change of the rate by half of its error."""
    A, S = amounts("A -> B", [0.5], [1, 0]), 5 * bands(12, 22)
    Y = (A @ S + 0.01 * np.random.default_rng(seed).standard_normal((25, S.shape[1]))).astype(np.float32)
    known = [ngmca.Kinetics("A -> B", times=TIMES)]
    one, other = (ngmca.separate(Y.astype(kind), 2, constraints=known, **QUICK).rates for kind in "fd")
    np.testing.assert_allclose(one.values, other.values, atol=0.02 * other.sd.max())
