"""One table of units: the same word means the same axis in every format."""

import numpy as np
import pytest
import xarray as xr

from ngmca.io import ReadError, read
from ngmca.io.axis_units import MEANINGS, from_unit, heading, is_spectral, known_unit

Y = np.random.default_rng(0).standard_normal((4, 30))
AXIS = np.linspace(9, 1, 30)


def in_csv(folder, word):
    path = folder / "t.csv"
    columns = np.column_stack([AXIS, Y.T])
    path.write_text(f"{word},a,b,c,d\n" + "\n".join(",".join(map(str, row)) for row in columns) + "\n")
    return path


def in_npz(folder, word):
    np.savez(folder / "t.npz", data=Y, **{word: AXIS})
    return folder / "t.npz"


def in_xarray(folder, word):
    return xr.DataArray(Y.T, {word: AXIS}, (word, "tube"))


WORDS = {
    "chemical_shift": ("chemical shift", "ppm"),
    "ppm": ("chemical shift", "ppm"),
    "nm": ("wavelength", "nm"),
    "wavenumbers": ("wavenumber", "cm-1"),
    "cm-1": ("wavenumber", "cm-1"),
    "Raman_shift": ("Raman shift", "cm-1"),
    "keV": ("energy", "keV"),
    "Energy": ("energy", ""),
    "mz": ("m/z", ""),
    "bias_voltage": None,
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_means_the_same_in_every_format(tmp_path, word):
    seen = {}
    for make in (in_csv, in_npz, in_xarray):
        data = read(make(tmp_path, word))
        np.testing.assert_array_equal(data.axis, AXIS)
        np.testing.assert_array_equal(data.Y, Y)
        seen[make.__name__] = (data.axis_name.replace("_", " "), data.axis_unit)
    assert set(seen.values()) == {WORDS[word] or ("bias voltage", "")}


@pytest.mark.parametrize("unit", ["1/CM", "cm^-1", "cm⁻¹", "Wavenumber"])
def test_units_of_headers_are_written_in_one_way(unit):
    assert from_unit(unit) == ("wavenumber", "cm-1")
    assert known_unit(unit) == "cm-1"
    assert from_unit("WAVELENGTH (NM)") == ("wavelength", "nm")
    assert from_unit("furlongs") == ("x", "furlongs")


def test_headings():
    assert heading("Energy (keV)") == ("energy", "keV")
    assert heading("[nm]") == ("wavelength", "nm")
    assert heading("ppm ()") == ("chemical shift", "ppm")
    assert heading("") == ("channel", "")


def test_the_table_is_in_the_form_that_words_are_brought_to():
    assert all(word == word.lower() and "_" not in word for word in MEANINGS)
    assert not is_spectral("seconds")
    assert not is_spectral("time")


def test_ppm_wins_over_hertz_and_over_times(tmp_path):
    np.savez(tmp_path / "d.npz", data=Y, ppm=AXIS, hz=400 * AXIS, seconds=np.arange(4.0))
    data = read(tmp_path / "d.npz")
    assert data.axis_unit == "ppm"
    np.savez(tmp_path / "d.npz", data=Y, hz=AXIS, seconds=np.arange(4.0))
    assert read(tmp_path / "d.npz").axis_unit == "Hz"


def test_without_an_axis_there_are_channels_and_no_flags_of_a_command(tmp_path):
    np.savez(tmp_path / "d.npz", data=Y)
    data = read(tmp_path / "d.npz")
    assert (data.axis, data.axis_label) == (None, "channel")
    (tmp_path / "d.xyz").write_bytes(bytes(range(256)))
    with pytest.raises(ReadError, match=r"this file has no known format. Known formats: NumPy") as error:
        read(tmp_path / "d.xyz")
    assert "--" not in str(error.value)
