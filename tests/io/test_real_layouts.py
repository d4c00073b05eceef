"""Files of real instruments and programs, read as a chemist would read them."""

import numpy as np
import pytest
import real_data

from ngmca.io import ReadError, read

pytest.importorskip("nmrglue", reason="needs the extra io")


def described(path, **options):
    data = read(path, **options)
    ends = None if data.axis is None else (round(float(data.axis[0]), 2), round(float(data.axis[-1]), 2))
    return data.Y.shape, data.axis_name, data.axis_unit, ends


# the file, options, and what must come out: shape, name and unit of the axis, and its ends
MICROSCOPES = [
    ("photothermal/Spectra_w_Image.ptir", {}, (2, 1046), "wavenumber", "cm-1", (930, 3020)),
    ("photothermal/Hyper_Sample.ptir", {"dataset": "OPTIR"},
     (35, 451), "wavenumber", "cm-1", (900, 1800)),
    ("photothermal/Hyper_Sample.ptir", {"dataset": "Raman Intensity"},
     (35, 1024), "Raman shift", "cm-1", (180, 2115.78)),
    ("small_diamond_nxs.nxs", {}, (42, 8), "energy", "", (278, 282.2)),
    ("agilent/background_agg256.dat", {}, (64, 9), "wavenumber", "cm-1", (1990.18, 2113.6)),
    ("agilent/4_noimage_agg256.dat", {}, (64, 9), "wavenumber", "cm-1", (1990.18, 2113.6)),
    ("collagen.csv", {}, (731, 234), "wavenumber", "cm-1", (1801.26, 902.56)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "shape", "axis", "unit", "ends"), MICROSCOPES)
def test_microscopes(name, options, shape, axis, unit, ends):
    found = described(real_data.infrared_microscopes() / name, **options)
    assert found == (shape, axis, unit, ends)


def test_positions_of_photothermal_spectra():
    path = real_data.infrared_microscopes() / "photothermal"
    with pytest.raises(
        ReadError, match=r"dataset='OPTIR' \(35x451\), dataset='Raman Intensity' \(35x1024\)"
    ):
        read(path / "Hyper_Sample.ptir")
    data = read(path / "Hyper_Sample.ptir", dataset="OPTIR")
    assert data.image_shape == (5, 7)
    assert round(data.meta["x"][1] - data.meta["x"][0]) == 20
    assert read(path / "Spectra_w_Image.ptir").row_names == ("IR Spectrum 1", "IR Spectrum 2")


def test_a_tile_of_agilent_agrees_with_its_envi_header(tmp_path):
    folder = real_data.infrared_microscopes() / "agilent"
    for suffix in (".dat", ".bsp"):
        whole = (folder / f"4_noimage_agg256{suffix}").read_bytes()
        (tmp_path / f"tile{suffix}").write_bytes(whole)
    data, known = read(tmp_path / "tile.dat"), read(folder / "4_noimage_agg256.hdr")
    np.testing.assert_array_equal(data.Y, known.Y)
    np.testing.assert_allclose(data.axis, known.axis, atol=1e-4)
    (tmp_path / "tile.dat").write_bytes((tmp_path / "tile.dat").read_bytes()[:-40])
    with pytest.raises(ReadError, match="truncated or damaged"):
        read(tmp_path / "tile.dat")


@pytest.mark.parametrize(
    "name", ["NeaReaderMultichannel_test/Test_Au_Fourier_Scan_Synchrotron.txt", "spectra20_small.nea"]
)
def test_tables_of_scan_parameters_are_refused(name):
    with pytest.raises(ReadError, match="looks like a log, not like spectra: its columns are Row"):
        read(real_data.infrared_microscopes() / name)
    with pytest.raises(ReadError, match="its columns look like different quantities"):
        read(real_data.infrared_microscopes() / "rock.txt")


def test_logs_of_a_laser_laboratory_are_refused():
    with pytest.raises(ReadError, match="its columns look like different quantities"):
        read(real_data.ultrafast() / "COLORS" / "v0.2" / "d1_d2 diagonal.dat")


ULTRAFAST = [
    ("wt5/v1.0.0/perovskite_TA.wt5", (676, 52), "energy", "eV", (2.17, 1.54)),
    ("wt5/v1.0.1/MoS2_TrEE_movie.wt5", (943, 41), "wavelength", "nm", (763.36, 584.8)),
    ("Tensor27/CuPCtS_powder_ATR.dpt", (1, 7259), "wavenumber", "cm-1", (3999.22, 499.54)),
    ("JASCO/PbSe batch 1.txt", (1, 1801), "wavelength", "nm", (2500, 700)),
    ("Shimadzu/MoS2_fromCzech2015.txt", (1, 821), "wavelength", "nm", (340, 750)),
]


@pytest.mark.parametrize(("name", "shape", "axis", "unit", "ends"), ULTRAFAST)
def test_laser_laboratories(name, shape, axis, unit, ends):
    assert described(real_data.ultrafast() / name) == (shape, axis, unit, ends)


def test_delays_of_wrighttools_are_measurements():
    data = read(real_data.ultrafast() / "wt5" / "v1.0.0" / "perovskite_TA.wt5")
    assert data.row_names[0] == "w2=2.17, d2=-100.194"
    assert any("others are signal_mean" in note for note in data.notes)


def test_tables_of_pandas_in_hdf5():
    path = real_data.transient_absorption() / "Introduction" / "con_1_solved.hdf5"
    with pytest.raises(ReadError, match=r"has several data sets\. Choose one: dataset='ds_ori'"):
        read(path)
    data = read(path, dataset="ds_ori")
    assert (data.axis_name, data.axis_unit) == ("wavelength", "nm")
    assert len(data.Y) == len(data.row_names)
    assert float(data.row_names[0]) < 0  # delays


def test_transient_absorption_with_times_that_stop():
    folder = real_data.transient_absorption()
    for name in ("Scans/ACN_003.SIA", "Fitting-1/TA_Ru-dppz_400nm_H2O.SIA"):
        data = read(folder / name)
        assert 250 < data.axis.min() < data.axis.max() < 800  # wavelengths, but no word says so
        assert float(data.row_names[0]) < 0
