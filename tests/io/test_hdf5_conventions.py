"""HDF5 files whose programs say what is what; real ones are in test_real_layouts.py."""

import h5py
import numpy as np
import pytest

from ngmca.io import ReadError, read

SHIFTS = np.arange(900.0, 1801.0, 4.0)
Y = np.random.default_rng(0).random((6, len(SHIFTS)))


def photothermal(path, groups):
    """Spectra with references to their positions, and where they were measured."""
    with h5py.File(path, "w") as file:
        for label, (spectra, shifts) in groups.items():
            one = file.create_group(f"Measurement_{len(file)}")
            channel = one.create_group("Channel_0")
            channel.attrs["DataSignal"], channel.attrs["Label"] = "yes", label
            one["Position_Values"] = np.array([(x, y) for y in (0.0, 5.0) for x in (0.0, 2.0, 4.0)])
            one["Spectroscopic_Values"] = shifts[None]
            one["Spectroscopic_Values"].attrs["units"] = ["cm-1"]
            channel["Raw_Data"] = spectra
            channel["Raw_Data"].attrs["Spectroscopic_Values"] = one["Spectroscopic_Values"].ref


def test_photothermal_spectra_keep_their_axis_and_their_places(tmp_path):
    photothermal(tmp_path / "a.ptir", {"OPTIR": (Y, SHIFTS)})
    data = read(tmp_path / "a.ptir")
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, SHIFTS)
    assert (data.axis_name, data.axis_unit, data.image_shape) == ("wavenumber", "cm-1", (2, 3))
    photothermal(tmp_path / "b.ptir", {"OPTIR": (Y, SHIFTS), "Raman Intensity": (Y[:, 5:], SHIFTS[5:])})
    with pytest.raises(
        ReadError, match=r"one: dataset='OPTIR' \(6x226\), dataset='Raman Intensity' \(6x221\)"
    ):
        read(tmp_path / "b.ptir")
    raman = read(tmp_path / "b.ptir", dataset="Raman Intensity")
    assert (raman.axis_name, raman.axis[0]) == ("Raman shift", SHIFTS[5])


def test_one_long_photothermal_spectrum(tmp_path):
    photothermal(tmp_path / "a.ptir", {"OPTIR": (Y[:1], SHIFTS)})
    np.testing.assert_array_equal(read(tmp_path / "a.ptir").Y, Y[:1])


@pytest.mark.parametrize("turned", [False, True])
def test_delays_of_wrighttools_are_measurements_whatever_their_order(tmp_path, turned):
    delays = np.array([-0.2, 0.0, 0.1, 1.0, 10.0, 100.0])
    with h5py.File(tmp_path / "a.wt5", "w") as file:
        file.attrs["axes"] = ["d1", "wm"] if turned else ["wm", "d1"]
        file.attrs["channel_names"] = ["signal", "reference"]
        for name, values, unit in (("d1", delays, "ps"), ("wm", SHIFTS, "wn")):
            long = turned == (name == "wm")  # along the last dimension
            file[name] = values[None] if long else values[:, None]
            file[name].attrs["units"] = unit
        for name in ("signal", "reference"):
            file[name] = Y if turned else Y.T
    data = read(tmp_path / "a.wt5")
    np.testing.assert_array_equal(data.Y, Y)
    np.testing.assert_array_equal(data.axis, SHIFTS)
    assert data.axis_unit == "cm-1"
    assert data.row_names[0] == "d1=-0.2"
    assert any("others are reference" in note for note in data.notes)
