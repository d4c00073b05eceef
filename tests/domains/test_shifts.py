"""Shifts along the axis: found to a fraction of a channel, and only where there are any."""

import dask.array
import numpy as np
import pytest
import xarray
from scipy.ndimage import gaussian_filter1d

import ngmca
from ngmca import simulate
from ngmca.answers.how_many.spikes import spikes
from ngmca.domains import shifts as searched
from ngmca.domains.shifts import Movable
from ngmca.engines import open_data


def moved(mixture, moves):
    """The mixture with lines moved exactly, and its own noise."""
    clean = mixture.A @ mixture.S
    return Movable.of(clean).moved(moves) + (mixture.Y - clean)


def example(seed, *, m=40, n=500, sd=1.5, r=3):
    mixture = simulate.spectra(m=m, n=n, r=r, snr=30, seed=seed)
    moves = np.random.default_rng(seed).normal(0, sd, m)
    moves -= np.median(moves)
    return mixture, moves, moved(mixture, moves)


def sdr(S, Y):
    return ngmca.evaluate(S, ngmca.separate(Y, len(S), seed=0).S).mean_sdr


@pytest.mark.parametrize("seed", [0, 3])
def test_sources_of_aligned_data_are_as_good_as_those_without_shifts(seed):
    mixture, moves, Y = example(seed)
    found = ngmca.align(Y, 3)
    assert np.abs(found.shifts - moves).max() < 0.1
    assert np.median(np.abs(found.shifts - moves) / found.sd) < 3
    S = mixture.S[:, found.channels]
    before, after, best = sdr(mixture.S, Y), sdr(S, found.data), sdr(mixture.S, mixture.Y)
    assert before < 15
    assert after > best - 2
    assert found.lowers > 3
    assert "of 40 measurements were moved along the axis" in found.words


@pytest.mark.parametrize(
    "kind", [("bands", 4), ("spectra", 3), ("nmr", 4), ("sparse", 5)], ids=lambda one: one[0]
)
@pytest.mark.parametrize("colour", [0, 3], ids=["white", "correlated"])
def test_data_without_shifts_stay_as_they_are_to_the_bit(kind, colour):
    name, r = kind
    mixture = getattr(simulate, name)(m=50, n=400, r=r, snr=20, seed=2)
    Y = mixture.Y
    if colour:
        noise = gaussian_filter1d(np.random.default_rng(0).standard_normal(Y.shape), colour, axis=1)
        Y = mixture.A @ mixture.S + noise * mixture.noise.std() / noise.std()
    found = ngmca.align(Y, r)
    assert not found.shifts.any()
    assert not found.too_far.any()
    assert found.lowers == 1
    assert (found.data == Y).all()
    assert found.words == "No shifts between measurements were found."


@pytest.mark.parametrize("r", [1, 2])
def test_data_of_lower_rank_than_sources_stay_as_they_are(r):
    """Only rounding is left for further directions: they must not be made of it."""
    for Y in (np.ones((12, 80)), np.zeros((12, 80)), np.outer(np.arange(1.0, 13), np.hanning(80))):
        found = ngmca.align(Y, r)
        assert not found.shifts.any()
        assert (found.data == Y).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_noise_that_is_larger_in_lines_is_not_taken_for_shifts(seed):
    """In counts, chance moves a line farther than noise of one level could."""
    mixture = simulate.nmr(m=40, n=500, r=3, snr=60, seed=seed)
    clean = mixture.A @ mixture.S
    rng = np.random.default_rng(seed)
    counts = rng.poisson(clean / clean.max() * 300 + 1).astype(float)
    assert not ngmca.align(counts, 3).shifts.any()
    moves = rng.normal(0, 1.5, 40)
    moves -= np.median(moves)
    shifted = np.maximum(Movable.of(clean).moved(moves), 0)
    found = ngmca.align(rng.poisson(shifted / clean.max() * 300 + 1).astype(float), 3)
    assert np.abs(found.shifts - moves).max() < 0.5


def test_a_missing_source_is_not_taken_for_shifts():
    for seed in range(4):
        mixture = simulate.spectra(m=30, n=400, r=3, snr=30, seed=seed)
        assert not ngmca.align(mixture.Y, 2).shifts.any()


def test_long_shifts_are_found():
    _, moves, Y = example(5, n=2000, sd=30)
    assert np.abs(moves).max() > 50
    assert np.abs(ngmca.align(Y, 3).shifts - moves).max() < 0.1


def test_lines_that_are_too_far_away_stay():
    mixture, moves, _ = example(5, sd=0.5)
    moves[7] = 6
    found = ngmca.align(moved(mixture, moves), 3, most=3)
    others = np.arange(40) != 7
    assert np.abs(found.shifts - moves)[others].max() < 0.2
    assert found.too_far.tolist() == (~others).tolist()
    assert found.shifts[7] == 0
    assert "1 measurement has lines too far" in found.words


def test_a_move_of_all_measurements_is_none():
    """Long axes with few lines: nothing says where all of them together are."""
    mixture = simulate.nmr(m=30, n=8000, r=3, snr=25, seed=0)
    moves = np.random.default_rng(0).normal(0, 3, 30)
    found = ngmca.align(moved(mixture, moves), 3)
    assert np.abs(found.shifts - (moves - np.median(moves))).max() < 0.1
    assert np.abs(np.median(found.shifts)) < 0.05


def test_measurements_beyond_those_that_are_learnt_from(monkeypatch):
    monkeypatch.setattr(searched, "MAX_MEASUREMENTS", 25)
    _, moves, Y = example(1, m=90)
    assert np.abs(ngmca.align(Y, 3).shifts - moves).max() < 0.1


def test_units_do_not_matter_and_undone_is_the_way_back():
    _, _, Y = example(2)
    one, other = ngmca.align(Y, 3), ngmca.align((1e6 * Y).astype(np.float32), 3)
    assert np.abs(one.shifts - other.shifts).max() < 0.01
    assert other.data.dtype == np.float32
    assert np.allclose(other.data, 1e6 * one.data, atol=1e6 * Y.max() * 1e-3)
    back, inner = one.undone(one.data), slice(20, -20)
    assert np.abs(back - Y[:, one.channels])[:, inner].max() < 0.02 * Y.max()
    with pytest.raises(ValueError, match=r"shape of the aligned data, .*got \(40, 500\)"):
        one.undone(Y)


def test_a_data_set_keeps_its_axis_and_knows_its_shifts():
    _, _, Y = example(4)
    axis = np.linspace(2000, 1000, 500)
    data = ngmca.io.Dataset(Y, axis, "wavenumber", "cm-1")
    found = ngmca.align(data, 3)
    assert (found.data.axis == axis[found.channels]).all()
    assert found.data.meta["shifts"] == found.shifts.tolist()
    assert "cm-1)" in found.words
    assert found.words in found.data.notes
    assert data.axis.size == 500
    assert "shifts" not in data.meta


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda Y: Y[:5], {}, "needs at least 6 measurements for 3 sources"),
        (lambda Y: Y[:, :8], {}, "needs at least 10 channels for 3 sources, got 8"),
        (lambda Y: Y[:, :3], {}, "needs at least 10 channels for 3 sources, got 3"),
        (lambda Y: Y[:, :16], {"most": 4, "r": 7}, "needs at least 18 channels"),
        (
            lambda Y: np.where(Y > 1, np.nan, Y),
            {},
            "ngmca.align cannot be combined with missing entries",
        ),
        (lambda Y: dask.array.from_array(Y), {}, "cannot be combined with a Dask array"),
        (lambda Y: ngmca.io.Dataset(Y, image_shape=(8, 5)), {}, "pixels of an image"),
        (lambda Y: xarray.DataArray(Y.reshape(8, 5, 500)), {}, "pixels of an image"),
        (lambda Y: ngmca.io.Dataset(Y, meta={"peaks": True}), {}, "lists of peaks"),
        (lambda Y: ngmca.join_techniques([Y, 2 * Y]), {}, "mixing"),
        (lambda Y: Y, {"most": 300}, "most must be between 0.1 and 125"),
        (lambda Y: Y, {"most": 0}, "most must be between 0.1 and 125"),
        (lambda Y: Y, {"r": 0}, "r must be at least 1"),
    ],
)
def test_what_cannot_be_aligned_is_refused(change, options, words):
    Y = example(0)[2]
    with pytest.raises(ValueError, match=words):
        ngmca.align(change(Y), **{"r": 3, **options})


def test_the_verdict_tries_an_alignment_and_its_line_of_code_helps():
    _, _, Y = example(1)
    before = ngmca.separate(Y, 3, seed=0)
    verdict = ngmca.judge(Y, before)
    assert verdict.colour != "green"
    assert verdict.command == "ngmca.separate(ngmca.align(Y, 3).data, 3)"
    assert verdict.next_step.startswith("ngmca.align, which moves measurements back")
    aligned = ngmca.align(Y, 3).data
    assert ngmca.judge(aligned, eval(verdict.command, {"ngmca": ngmca, "Y": Y})).colour == "green"


def test_shifts_by_whole_channels_leave_out_as_many():
    """The number of channels must not depend on the rounding of the search."""
    mixture, _, _ = example(0)
    moves = np.zeros(40)
    moves[[3, 8, 20]] = 3, -2, 3
    found = ngmca.align(moved(mixture, moves), 3)
    assert found.data.shape == (40, 494)
    assert "6 of 500 channels" in found.words


def test_messages_in_python_name_the_function(tmp_path):
    """No function has an argument `align`, and the command line has an option of this name."""
    _, _, Y = example(1, m=30, n=400, r=2)
    found = ngmca.judge(Y, ngmca.separate(Y, 2, seed=0))
    assert "Align the measurements (ngmca.align)" in " ".join(one.text for one in found.findings)
    aligned = ngmca.align(ngmca.io.Dataset(Y), 2).data
    page = tmp_path / "report.html"
    ngmca.report.write(page, ngmca.separate(aligned, 2, seed=0), aligned)
    assert "(ngmca.align did this.)" in page.read_text()


def with_spikes(Y, height=5.0):
    """The data with eight spikes, and where they are."""
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(len(Y))[:8], rng.integers(30, Y.shape[1] - 30, 8)
    found = Y.copy()
    found[rows, columns] += height * Y.max()
    return found, rows, columns


def test_spikes_do_not_decide_about_shifts():
    for seed in (0, 2):
        mixture, moves, Y = example(seed)
        spiky, *_ = with_spikes(Y)
        found = ngmca.align(spiky, 3)
        assert np.abs(found.shifts - moves).max() < 0.15
        assert "8 spikes were replaced by straight lines." in found.words
        assert found.data.max() < 1.1 * Y.max()  # no spike, and nothing rings
        assert sdr(mixture.S[:, found.channels], found.data) > 30
        spiky, *_ = with_spikes(mixture.Y)
        still = ngmca.align(spiky, 3)
        assert not still.shifts.any()
        assert (still.data == spiky).all()


def test_lines_that_moved_far_are_no_spikes():
    mixture = simulate.spectra(m=40, n=2000, r=3, snr=30, seed=0)
    moves = np.random.default_rng(0).normal(0, 30, 40)
    Y = moved(mixture, moves - np.median(moves))
    assert len(spikes(open_data(Y))) > 10
    assert "spike" not in ngmca.align(Y, 3).words
