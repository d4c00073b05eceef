"""Formats of the field: files made by other programs, and round trips through their libraries."""

import shutil
import warnings

import numpy as np
import pytest
import real_data

from ngmca.io import ReadError, read

pytest.importorskip("nmrglue", reason="needs the extra io")

Y = np.abs(np.random.default_rng(0).standard_normal((6, 40)))


def test_infrared_spectra_on_one_axis(tmp_path):
    names = ("ethanol", "methane", "acetone", "toluene")
    for name in names:
        shutil.copy(real_data.infrared() / f"{name}.jdx", tmp_path)
    data = read(tmp_path)
    assert data.row_names == tuple(sorted(names))
    assert (data.axis_name, data.axis_unit) == ("wavenumber", "cm-1")
    assert any("common" in note for note in data.notes)
    assert any("absorbance" in note for note in data.notes)
    methane = data.Y[data.row_names.index("methane")]
    band = data.axis[(methane * ((data.axis > 2800) & (data.axis < 3300))).argmax()]
    assert abs(band - 3017) < 10  # the C-H stretch of methane
    background = (data.axis > 2000) & (data.axis < 2500)
    assert methane[background].mean() < 0.2 * methane.max()  # absorbance, where transmittance is high


def test_a_whole_folder_of_spectra_leaves_out_what_does_not_fit():
    data = read(real_data.infrared())
    assert len(data.Y) == 67
    assert any("left out: example_compound_file" in note for note in data.notes)


def test_compound_jcamp_file_is_a_time_series():
    data = read(real_data.jcamp_files() / "blckpac1.jdx")
    assert data.Y.shape == (5, 176)
    np.testing.assert_array_equal(data.axis[[0, -1]], [700, 350])
    singular = np.linalg.svd(data.Y, compute_uv=False)
    assert singular[1] / singular[0] > 0.05 > singular[2] / singular[0]  # one substance becomes another


def test_mass_spectra_are_lists_of_peaks():
    data = read(real_data.jcamp_files() / "blckpkt1.jdx")
    assert len(data.Y) == 6
    assert data.axis_name == "m/z"
    assert (data.Y == 0).any()


@pytest.mark.parametrize(
    ("name", "message"),
    [("o05.jdx", "announces 8192 points, but holds 7020"), ("ofid1.jdx", "free induction decay")],
)
def test_damaged_and_raw_jcamp_files(name, message):
    with pytest.raises(ReadError, match=message):
        read(real_data.jcamp_files() / name)


def test_bruker_experiments_become_rows():
    folder = real_data.nmr() / "bruker2"
    with pytest.raises(ReadError, match=r"13C \(8\), 1H \(8\), 31P \(8\).*nucleus"):
        read(folder)
    data = read(folder, nucleus="31P")
    assert data.Y.shape == (8, 65536)
    assert data.row_names == ("2", "5", "8", "11", "14", "17", "20", "23")
    assert data.axis_unit == "ppm"
    assert data.axis[0] == 31.47019  # OFFSET in procs
    one = np.fromfile(folder / "5" / "pdata" / "1" / "1r", ">i4").astype(float)
    assert np.corrcoef(one, data.Y[1])[0, 1] > 1 - 1e-12
    np.testing.assert_array_equal(read(folder / "5" / "pdata" / "1").Y[0], data.Y[1])
    together = read([folder / "2", folder / "5"])
    np.testing.assert_array_equal(together.Y, data.Y[:2])


def test_pseudo_2d_bruker(tmp_path):
    source = real_data.nmr() / "bruker2" / "2"
    target = tmp_path / "7"
    shutil.copytree(source, target)
    pdata = target / "pdata" / "1"
    rows = (np.arange(3 * 65536) % 1000).astype(">i4").reshape(3, 65536)
    for name in ("1r", "1i"):
        (pdata / name).unlink()
    rows.tofile(pdata / "2rr")
    text = (pdata / "procs").read_text()
    (pdata / "procs").write_text(_set(text, XDIM="65536"))
    (pdata / "proc2s").write_text(_set(text, SI="3", XDIM="3"))
    data = read(target)
    assert data.Y.shape == (3, 65536)
    scale = data.Y[0, 1] / rows[0, 1]
    np.testing.assert_allclose(data.Y, rows * scale)


def _set(parameters, **values):
    lines = parameters.splitlines()
    for key, value in values.items():
        lines = [line for line in lines if not line.startswith(f"##${key}=")]
        lines.insert(-1, f"##${key}= {value}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", ["bruker1", "test1.fid", "test1.fid/fid", "bruker1/1/fid"])
def test_raw_nmr_data_are_refused_with_a_hint(name):
    with pytest.raises(ReadError, match=r"free induction decay.*Fourier-transform and phase"):
        read(real_data.nmr() / name)


def test_varian_spectra(tmp_path):
    import nmrglue

    source = real_data.nmr() / "test1.fid"
    shutil.copy(source / "procpar", tmp_path)
    (tmp_path / "datdir").mkdir()
    header, raw = nmrglue.varian.read_fid(str(source / "fid"), as_2d=True)
    spectrum = np.ascontiguousarray(raw[:3].astype("complex64"))
    header |= {"nblocks": 3, "status": int(header["status"]) | 0x2}
    nmrglue.varian.write_fid(str(tmp_path / "datdir" / "phasefile"), header, spectrum, correct=False)
    data = read(tmp_path)
    np.testing.assert_allclose(data.Y, spectrum.real, rtol=1e-5)
    assert data.axis_unit == "ppm"
    assert data.axis[0] > data.axis[-1]


def test_nmrpipe(tmp_path):
    import nmrglue

    path = tmp_path / "spectra.ft"
    udic = nmrglue.fileiobase.create_blank_udic(2)
    udic[1] |= {"size": 40, "complex": False, "freq": True, "time": False, "sw": 5000.0, "obs": 500.0,
                "car": 2500.0, "label": "1H"}  # fmt: skip
    udic[0] |= {"size": 6, "complex": False, "freq": False, "time": True, "label": "T"}
    header = nmrglue.pipe.create_dic(udic)
    nmrglue.pipe.write(str(path), header, Y.astype("float32"), overwrite=True)
    data = read(path)
    np.testing.assert_array_equal(data.Y, Y.astype("float32"))
    assert data.axis_unit == "ppm"
    assert abs(data.axis[20] - 5.0) < 0.3
    header["FDF2FTFLAG"] = 0.0
    nmrglue.pipe.write(str(path), header, Y.astype("float32"), overwrite=True)
    with pytest.raises(ReadError, match="free induction decay"):
        read(path)


def test_hyperspectral_image_of_another_package():
    data = read(real_data.pines())
    assert data.Y.shape == (21025, 200)
    assert data.image_shape == (145, 145)
    raw = np.load(real_data.pines())
    np.testing.assert_array_equal(data.Y[145 * 3 + 7], raw[3, 7])


def test_hyperspy_image():
    import h5py

    data = read(real_data.electron_microscope())
    assert data.image_shape == (80, 80)
    assert (data.axis_name, data.axis_unit) == ("energy", "keV")
    assert abs(data.axis[0] - 0.8315) < 1e-3
    with h5py.File(real_data.electron_microscope()) as file:
        raw = next(iter(file["Experiments"].values()))["data"][5, 9]
    np.testing.assert_array_equal(data.Y[5 * 80 + 9], raw)


@pytest.mark.parametrize("interleave", ["bsq", "bil", "bip"])
def test_envi(tmp_path, interleave):
    import spectral

    cube = np.arange(2 * 3 * 5, dtype="int16").reshape(2, 3, 5)
    waves = [400.0, 450.0, 500.0, 550.0, 700.0]
    meta = {"wavelength": waves, "wavelength units": "Nanometers"}
    header = tmp_path / "scene.hdr"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spectral.envi.save_image(str(header), cube, interleave=interleave, metadata=meta, ext=".img")
    for path in (header, tmp_path / "scene.img"):
        data = read(path)
        np.testing.assert_array_equal(data.Y.reshape(2, 3, 5), cube)
        np.testing.assert_array_equal(data.axis, waves)
        assert (data.axis_name, data.axis_unit) == ("wavelength", "nm")
        assert data.image_shape == (2, 3)
    (tmp_path / "scene.img").write_bytes((tmp_path / "scene.img").read_bytes()[:-7])
    with pytest.raises(ReadError, match="claims 60 bytes, but the file has 53 bytes"):
        read(header)


def test_imzml(tmp_path):
    from pyimzml.ImzMLWriter import ImzMLWriter

    mz = np.linspace(100, 200, 40)
    with ImzMLWriter(str(tmp_path / "continuous"), mode="continuous") as writer:
        for i, row in enumerate(Y):
            writer.addSpectrum(mz, row, (i % 3 + 1, i // 3 + 1, 1))
    data = read(tmp_path / "continuous.imzML")
    assert data.image_shape == (2, 3)
    np.testing.assert_allclose(data.Y, Y, rtol=1e-6)
    np.testing.assert_allclose(data.axis, mz, rtol=1e-6)
    with ImzMLWriter(str(tmp_path / "processed"), mode="processed") as writer:
        writer.addSpectrum([100.01, 150.02], [1.0, 2.0], (1, 1, 1))
        writer.addSpectrum([100.02, 180.0], [4.0, 8.0], (2, 1, 1))
    data = read(tmp_path / "processed.imzML")
    np.testing.assert_allclose(data.Y, [[1, 2, 0], [4, 0, 8]])
    assert any("bins" in note for note in data.notes)


def test_an_electron_microscope_spectrum_as_text(tmp_path):
    lines = ["#FORMAT      : EMSA/MAS Spectral Data File", "#VERSION     : 1.0", "#TITLE       : test",
             "#DATE        : ", "#TIME        : ", "#OWNER       : x", "#NPOINTS     : 4",
             "#NCOLUMNS    : 1", "#XUNITS      : keV", "#YUNITS      : counts", "#DATATYPE    : Y",
             "#XPERCHAN    : 0.5", "#OFFSET      : 1.0", "#SPECTRUM    : ", "1.0,",
             "2.0,", "5.0,", "3.0,", "#ENDOFDATA   : "]  # fmt: skip
    (tmp_path / "a.msa").write_text("\n".join(lines) + "\n")
    data = read(tmp_path / "a.msa")
    np.testing.assert_array_equal(data.Y, [[1, 2, 5, 3]])
    np.testing.assert_array_equal(data.axis, [1.0, 1.5, 2.0, 2.5])
    assert data.axis_unit == "keV"
