"""Spikes, saturated entries and dead channels: named with their place, and nothing else called so."""

import numpy as np
import pytest
from peak_memory import peak_memory

import ngmca
from ngmca.answers.how_sure import defects, diagnose
from ngmca.answers.run import Run
from ngmca.engines import open_data
from ngmca.io import Dataset
from ngmca.saving.results import load_run

CLEAN = ngmca.simulate.spectra(m=24, n=1200, r=5, lines=7, width=3.0, snr=18, seed=1).Y


def found(Y):
    return [(one.kind, one.measurement, one.channel) for one in defects(Y)]


@pytest.mark.parametrize("unit", [1.0, 1e200, 1e-200])
@pytest.mark.parametrize("channel", [0, 300, 1199])
def test_a_spike_is_found_where_it_is(channel, unit):
    Y = CLEAN.copy()
    Y[7, channel] += 50 * CLEAN.max()
    assert found(Y * unit) == [("spike", 7, channel)]
    assert defects(Y * unit)[0].share > 0.9


@pytest.mark.parametrize("channel", [0, 300, 1199])
def test_a_spike_below_0_is_found(channel):
    Y = CLEAN.copy()
    Y[7, channel] -= 50 * CLEAN.max()
    assert found(Y) == [("spike", 7, channel)]


@pytest.mark.parametrize("n", [60, 1200])
def test_several_spikes_of_one_measurement_are_found(n):
    Y = CLEAN[:, :n].copy()
    places = [5, 20, n - 3]
    Y[7, places] += np.array([60, -50, 40]) * CLEAN.max()
    assert found(Y) == [("spike", 7, place) for place in places]


def test_a_spike_of_two_channels_is_one():
    Y = CLEAN.copy()
    Y[7, 300:302] += np.array([40, 50]) * CLEAN.max()
    assert found(Y) == [("spike", 7, 301)]


def test_a_channel_that_is_hot_in_two_measurements_is_found():
    Y = CLEAN.copy()
    Y[[3, 9], 300] += np.array([50, 40]) * CLEAN.max()
    assert found(Y) == [("spike", 3, 300), ("spike", 9, 300)]
    Y[[4, 5], 300] += 45 * CLEAN.max()  # a line of some measurements
    assert found(Y) == []


def test_an_empty_measurement_is_found_and_named():
    Y = CLEAN.copy()
    Y[7] = 0
    assert found(Y) == [("empty", 7, 0)]
    told = {f.kind: f for f in run_of(Y).findings}["empty-measurement"]
    assert told.title == "One measurement is empty"
    assert told.text.startswith("Measurement 8: all entries are 0")
    Y[:12] = 0  # a mask
    assert found(Y) == []


def test_a_spike_on_the_slope_of_a_band_is_found():
    Y = ngmca.simulate.bands(m=20, n=800, r=3, snr=40, seed=0).Y
    place = int(Y[4].argmax()) + 8
    Y[4, place] += 0.8 * Y.max()
    assert found(Y) == [("spike", 4, place)]


def test_a_sharp_line_of_all_measurements_is_no_spike():
    Y = CLEAN.copy()
    Y[:, 300] += np.linspace(1, 2, 24) * 20 * CLEAN.max()
    assert found(Y) == []


def test_saturated_measurements_and_their_entries():
    Y = np.minimum(CLEAN, 0.4 * CLEAN.max())
    cut = (0.4 * CLEAN.max() <= CLEAN).sum(axis=1)
    seen = defects(Y)
    assert {one.kind for one in seen} == {"saturated"}
    assert seen[0].measurement == cut.argmax()
    assert seen[0].count == cut.max()
    assert (Y[seen[0].measurement, seen[0].channel : seen[0].channel + 3] == Y.max()).all()


def test_a_detector_of_few_digits_is_saturated_all_the_same():
    Y = np.minimum(rounded(1, 0.0), 3.0)
    assert {one.kind for one in defects(Y)} == {"saturated"}


@pytest.mark.parametrize("value", [0.7, 0.0])
def test_a_dead_channel(value):
    Y = CLEAN + 0.2 * CLEAN.max()  # a detector that never says 0 otherwise
    Y[:, 600] = value * CLEAN.max()
    assert found(Y) == [("dead", -1, 600)]


def quantised_band():
    x = np.linspace(0, 1, 2000)
    heights = np.linspace(1, 0.3, 6)
    return np.round(np.exp(-(((x - 0.5) / 0.1) ** 2)) * heights[:, None], 3)


def rounded(digits, shift):
    """Smooth measurements of which few digits are left; the first has the highest top."""
    x = np.linspace(0, 1, 500)
    heights = np.linspace(3.7 + shift, 1.0, 8)
    return np.round(np.exp(-(((x - 0.5) / 0.3) ** 2)) * heights[:, None], digits)


def harmless():
    rng = np.random.default_rng(0)
    for shift in np.linspace(-0.05, 0.05, 7):
        yield rounded(1, shift)
        yield rounded(0, shift)
    yield CLEAN
    yield np.zeros((6, 40))
    yield np.ones((6, 40))
    yield rng.standard_normal((5, 300))
    yield rng.poisson(0.1, (30, 400)).astype(float)
    yield rng.poisson(0.1, (300, 900)).astype(float)
    yield rng.poisson(0.1, (300, 10)).astype(float)  # many equal measurements, by chance
    yield quantised_band()  # flat at the top because digits end there
    for snr in (None, 10, 30):
        yield ngmca.simulate.sparse(snr=snr, seed=0).Y
        yield ngmca.simulate.bands(snr=snr, seed=0).Y


@pytest.mark.parametrize("Y", list(harmless()))
def test_nothing_is_found_where_nothing_is(Y):
    assert defects(Y) == []


def run_of(Y, r=3, **fields):
    data = Dataset(Y, np.linspace(400, 4000, Y.shape[1]), "wavenumber", "cm-1", **fields)
    separation = ngmca.separate(Y, r, method=ngmca.Soft(n_iter=30), domain="direct", n_init=1)
    return Run(separation, diagnose(Y, separation), data)


def test_a_spike_is_named_and_is_no_reason_for_fewer_sources(tmp_path):
    Y = CLEAN.copy()
    Y[7, 300] += 50 * CLEAN.max()
    run = run_of(Y, row_names=tuple(f"tube {i}" for i in range(24)))
    first, *others = run.findings
    assert (first.kind, first.title) == ("spike", "One entry is a spike")
    assert "Measurement tube 7 at 1300.75 cm-1" in first.text
    assert "describes only this" in first.text
    assert first.cost > 0.9
    assert not {f.kind for f in others} & {"many", "empty", "noise", "structure"}
    ngmca.save(tmp_path / "a.nc", run.separation, run.data)  # which does not keep the data
    assert load_run(tmp_path / "a.nc").findings == run.findings


def test_a_spike_in_one_of_very_many_measurements_is_not_worth_a_word():
    Y = np.tile(CLEAN, (30, 1)) + CLEAN.max() / 2 * np.linspace(1, 1.01, 720)[:, None]
    Y[7, 300] += CLEAN.max()
    run = run_of(Y, r=1)
    assert [one.kind for one in run.defects] == ["spike"]
    assert "spike" not in {f.kind for f in run.findings}


def test_pixels_and_channels_are_named_by_their_place():
    Y = np.minimum(CLEAN, 0.4 * CLEAN.max())
    Y[:, 600] = 0.3 * CLEAN.max()
    run = run_of(Y, image_shape=(4, 6))
    told = {f.kind: f.text for f in run.findings}
    worst = int((Y.max() == Y).sum(axis=1).argmax())
    assert f"The pixel in row {worst // 6}, column {worst % 6} (" in told["saturated"]
    assert "2201.5 cm-1" in told["dead"]


def test_no_copy_of_the_data_is_made():
    Y = np.tile(CLEAN, (2, 80))  # 37 MB
    assert peak_memory(lambda: defects(open_data(Y))) < Y.nbytes / 5
