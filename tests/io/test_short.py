"""Files that end too early, or that were never written to the end: refused, or read with a note."""

import contextlib
import gzip
import shutil
import warnings

import h5py
import numpy as np
import pytest
import real_data
import scipy.io
import xarray as xr
import zarr

from ngmca._support.isolated_process import IsolatedProcess
from ngmca.io import ReadError, read
from ngmca.io.isolated_reading import read_one

Y = np.abs(np.random.default_rng(0).standard_normal((5, 40)))
AXIS = np.arange(40.0)
CUTS = 25


@pytest.fixture(scope="module")
def apart():
    """One process for hundreds of files."""
    with IsolatedProcess() as process:
        yield process


def numpy_files(folder):
    np.save(folder / "d.npy", Y)
    np.savez(folder / "u.npz", data=Y, ppm=AXIS)
    np.savez_compressed(folder / "d.npz", data=Y)
    (folder / "t.csv.gz").write_bytes(
        gzip.compress("\n".join(",".join(map(str, r)) for r in Y).encode())
    )
    return ["d.npy", "u.npz", "d.npz", "t.csv.gz"]


def matlab_files(folder):
    arrays = {"data": Y, "ppm": AXIS}
    scipy.io.savemat(folder / "u.mat", arrays)
    scipy.io.savemat(folder / "c.mat", arrays, do_compression=True)
    scipy.io.savemat(folder / "4.mat", arrays, format="4")
    return ["u.mat", "c.mat", "4.mat"]


def hdf5_files(folder):
    ways = {"a": {}, "b": {"chunks": (1, 10)}, "c": {"chunks": (2, 10), "compression": "gzip"}}
    for name, options in ways.items():
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file.create_dataset("data", data=Y, **options)
    with h5py.File(folder / "late.h5", "w", libver="latest") as file:
        file.create_dataset("data", data=Y, chunks=(1, 10))
    return ["a.h5", "b.h5", "c.h5", "late.h5"]


def labelled_files(folder):
    array = xr.DataArray(Y, {"ppm": AXIS}, ("tube", "ppm"), name="data")
    array.to_netcdf(folder / "4.nc", engine="h5netcdf")
    array.to_netcdf(folder / "3.nc", engine="scipy")
    array.to_dataset().to_netcdf(folder / "u.nc", engine="scipy", unlimited_dims=["tube"])
    return ["4.nc", "3.nc", "u.nc"]


def zarr_files(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.create_array(str(folder / "2.zarr"), data=Y, chunks=(2, 20), zarr_format=2)
        zarr.create_array(str(folder / "3.zarr"), data=Y, chunks=(2, 20))
    return [("2.zarr", "2.zarr/1.0"), ("3.zarr", "3.zarr/c/1/0"), ("3.zarr", "3.zarr/zarr.json")]


def image_files(folder):
    import spectral
    from pyimzml.ImzMLWriter import ImzMLWriter

    cube = np.arange(1, 25, dtype="int16").reshape(2, 3, 4)
    waves = {"wavelength": [400.0, 450.0, 500.0, 550.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spectral.envi.save_image(str(folder / "e.hdr"), cube, ext=".img", metadata=waves)
    for mode in ("continuous", "processed"):
        with ImzMLWriter(str(folder / mode), mode=mode) as writer:
            for x in range(4):
                own = AXIS + 1 + (x if mode == "processed" else 0)
                writer.addSpectrum(own, Y[x], (x % 2 + 1, x // 2 + 1, 1))
    inside = [(f"{mode}.imzML", f"{mode}{end}") for mode in ("continuous", "processed")
              for end in (".ibd", ".imzML")]  # fmt: skip
    return [("e.hdr", "e.img"), ("e.hdr", "e.hdr"), *inside]


def bruker_files(folder):
    source = real_data.nmr() / "bruker2" / "3"
    shutil.copytree(source, folder / "3")
    return [("3", f"3/{name}") for name in ("pdata/1/1r", "pdata/1/procs", "acqus")]


def varian_files(folder):
    import nmrglue

    source = real_data.nmr() / "test1.fid"
    (folder / "v" / "datdir").mkdir(parents=True)
    shutil.copy(source / "procpar", folder / "v")
    header, raw = nmrglue.varian.read_fid(str(source / "fid"), as_2d=True)
    header |= {"nblocks": 3, "status": int(header["status"]) | 0x2}
    rows = np.ascontiguousarray(raw[:3].astype("complex64"))
    nmrglue.varian.write_fid(str(folder / "v" / "datdir" / "phasefile"), header, rows, correct=False)
    return [("v", "v/datdir/phasefile")]


def nmrpipe_files(folder):
    import nmrglue

    for rows in (1, 5):
        udic = nmrglue.fileiobase.create_blank_udic(1 if rows == 1 else 2)
        udic[udic["ndim"] - 1] |= {"size": 40, "complex": False, "freq": True, "time": False,
                                   "sw": 5000.0, "obs": 500.0, "car": 2500.0}  # fmt: skip
        if rows > 1:
            udic[0] |= {"size": rows, "complex": False, "freq": False, "time": True}
        values = Y[:rows].astype("float32").squeeze()
        nmrglue.pipe.write(str(folder / f"{rows}.ft"), nmrglue.pipe.create_dic(udic), values)
    return ["1.ft", "5.ft"]


def jcamp_files(folder):
    shutil.copy(real_data.infrared() / "methane.jdx", folder)
    for name in ("blckpac1.jdx", "blckpkt1.jdx"):
        shutil.copy(real_data.jcamp_files() / name, folder)
    return ["methane.jdx", "blckpac1.jdx", "blckpkt1.jdx"]


def electron_files(folder):
    lines = ["#FORMAT      : EMSA/MAS Spectral Data File", "#VERSION     : 1.0", "#TITLE       : test",
             "#DATE        : ", "#TIME        : ", "#OWNER       : x", "#NPOINTS     : 20",
             "#NCOLUMNS    : 1", "#XUNITS      : keV", "#YUNITS      : counts", "#DATATYPE    : Y",
             "#XPERCHAN    : 0.5", "#OFFSET      : 1.0", "#SPECTRUM    : ",
             *(f"{value:.3f}," for value in Y[0, :20]), "#ENDOFDATA   : "]  # fmt: skip
    (folder / "a.msa").write_text("\n".join(lines) + "\n")
    shutil.copy(real_data.electron_microscope(), folder / "x.hspy")
    return ["a.msa", "x.hspy"]


KINDS = [
    numpy_files,
    matlab_files,
    hdf5_files,
    labelled_files,
    zarr_files,
    image_files,
    bruker_files,
    varian_files,
    nmrpipe_files,
    jcamp_files,
    electron_files,
]


def told_the_same(data, whole):
    same_axis = data.axis is whole.axis is None or np.array_equal(data.axis, whole.axis)
    return data.Y.shape == whole.Y.shape and (data.Y == whole.Y).all() and same_axis


@pytest.mark.parametrize("kind", KINDS)
def test_no_cut_is_taken_for_a_whole_file(tmp_path, apart, kind, monkeypatch):
    if kind in KINDS[5:]:
        pytest.importorskip("nmrglue", reason="needs the extra io")
    monkeypatch.setenv("NGMCA_READ_SECONDS", "60")
    rng = np.random.default_rng(0)
    options = {"transpose": None, "dataset": None, "nucleus": None}
    for names in kind(tmp_path):
        name, part = (names, names) if isinstance(names, str) else names
        whole = read_one(tmp_path / name, options, apart)
        content = (tmp_path / part).read_bytes()
        ends = {len(content) - back for back in (1, 2, 8, 20)}
        for size in sorted(ends | set(rng.integers(1, len(content), CUTS - len(ends)).tolist())):
            if part.endswith(".hdr") and content[size - 1 : size + 1].count(b"\n"):
                continue  # whole lines may be all that there is
            (tmp_path / part).write_bytes(content[:size])
            with contextlib.suppress(ReadError):
                data = read_one(tmp_path / name, options, apart)
                assert told_the_same(data, whole), f"{part} cut at {size} of {len(content)}"
        (tmp_path / part).write_bytes(content)


def test_a_pseudo_2d_spectrum_cut_to_its_first_row(tmp_path):
    pytest.importorskip("nmrglue", reason="needs the extra io")
    shutil.copytree(real_data.nmr() / "bruker2" / "3", tmp_path / "3")
    pdata = tmp_path / "3" / "pdata" / "1"
    text = (pdata / "procs").read_text()
    size = int(text.split("##$SI=")[1].split()[0])
    (pdata / "1r").unlink()
    (pdata / "1i").unlink(missing_ok=True)
    (pdata / "proc2s").write_text(text.replace(f"##$SI= {size}", "##$SI= 3"))
    np.zeros(size, ">i4").tofile(pdata / "2rr")
    with pytest.raises(ReadError, match=f"announces 3 x {size} points, but holds {size}"):
        read(tmp_path / "3")


def test_an_experiment_without_its_parameters_is_told(tmp_path):
    pytest.importorskip("nmrglue", reason="needs the extra io")
    for name in ("3", "4", "5"):
        shutil.copytree(real_data.nmr() / "bruker2" / "3", tmp_path / name)
    assert not any("left out" in note for note in read(tmp_path).notes)
    (tmp_path / "4" / "acqus").unlink()
    data = read(tmp_path)
    assert data.row_names == ("3", "5")
    assert "left out: 4 has pdata, but no acqus." in data.notes
    assert not any("left out" in note for note in read(tmp_path / "4").notes)


def test_a_compound_file_with_a_block_less(tmp_path):
    pytest.importorskip("jcamp", reason="needs the extra io")
    text = (real_data.jcamp_files() / "blckpac1.jdx").read_text(errors="replace")
    first, second = (i for i, _ in list(enumerate_titles(text))[1:3])
    (tmp_path / "d.jdx").write_text(text[:first] + text[second:])
    with pytest.raises(ReadError, match="announces 5 blocks, but holds 4"):
        read(tmp_path / "d.jdx")


def enumerate_titles(text):
    place = text.find("##TITLE")
    while place >= 0:
        yield place, text[place:]
        place = text.find("##TITLE", place + 1)


def test_an_electron_spectrum_with_a_point_less(tmp_path):
    pytest.importorskip("rsciio", reason="needs the extra io")
    electron_files(tmp_path)
    text = (tmp_path / "a.msa").read_text()
    (tmp_path / "a.msa").write_text(text.replace(f"{Y[0, 7]:.3f},\n", ""))
    with pytest.raises(ReadError, match="announces 20 points, but holds 19"):
        read(tmp_path / "a.msa")


def half_hdf5(path, rows):
    with h5py.File(path, "w") as file:
        stored = file.create_dataset("data", Y.shape, "f8", chunks=(1, 10))
        stored[:rows] = Y[:rows]


def half_zarr(path, rows):
    stored = zarr.create_array(str(path), shape=Y.shape, chunks=(1, 10), dtype="f8")
    if rows:
        stored[:rows] = Y[:rows]


def half_hspy(path, rows):
    shutil.copy(real_data.electron_microscope(), path)
    with h5py.File(path, "r+") as file:
        group = next(iter(file["Experiments"].values()))
        values = group["data"][()]
        del group["data"]
        stored = group.create_dataset("data", values.shape, values.dtype, chunks=(16, *values.shape[1:]))
        stored[: 16 * rows] = values[: 16 * rows]


def half_shards(path, rows):
    """Two shards of three rows each, of which the last is beyond the end."""
    stored = zarr.create_array(str(path), shape=Y.shape, chunks=(1, 10), shards=(3, 40), dtype="f8")
    for row in (0, 1, 3, 2, 4)[:rows]:
        stored[row] = Y[row]


def half_zspy(path, rows):
    """A signal of HyperSpy with five chunks, of which some are removed."""
    group = zarr.open_group(str(path), mode="w", zarr_format=2)
    group.attrs.update({"file_format": "ZSpy", "file_format_version": "3.3"})
    signal = group.create_group("Experiments").create_group("t")
    signal.attrs.update({"package": "hyperspy", "package_version": "2.0"})
    stored = signal.create_array("data", shape=Y.shape, chunks=(1, 40), dtype="f8")
    stored[:rows] = Y[:rows]
    for i, size in enumerate(Y.shape):
        signal.create_group(f"axis-{i}").attrs.update(
            {"name": "xE"[i], "size": size, "index_in_array": i, "navigate": i == 0, "scale": 1.0,
             "offset": 0.0, "units": "eV", "_type": "UniformDataAxis"}
        )  # fmt: skip
    for name in ("original_metadata", "learning_results", "attributes", "metadata"):
        signal.create_group(name)
    signal["metadata"].create_group("General").attrs["title"] = "t"
    signal["metadata"].create_group("Signal").attrs["signal_type"] = ""


def half_zspy_in_a_zip(path, rows):
    folder = path.with_name(f"folder{rows}")
    half_zspy(folder, rows)
    shutil.move(shutil.make_archive(str(folder), "zip", folder), path)


HALF = {
    "d.h5": half_hdf5,
    "d.zarr": half_zarr,
    "shards.zarr": half_shards,
    "d.nc": half_hdf5,
    "d.hspy": half_hspy,
    "d.zspy": half_zspy,
    "zip.zspy": half_zspy_in_a_zip,
}


@pytest.mark.parametrize("name", HALF)
def test_what_was_never_written_is_told(tmp_path, name):
    if name.endswith("spy"):
        pytest.importorskip("rsciio", reason="needs the extra io")
    folders = {rows: tmp_path / str(rows) for rows in (0, 3, 5)}
    for rows, folder in folders.items():
        folder.mkdir()
        HALF[name](folder / name, rows)
    assert any("40 % of" in note and "never written" in note for note in read(folders[3] / name).notes)
    with pytest.raises(ReadError, match="none of it was ever written"):
        read(folders[0] / name)
    assert not any("never written" in note for note in read(folders[5] / name).notes)


def test_of_several_signals_the_one_that_is_read_is_told_about(tmp_path):
    pytest.importorskip("rsciio", reason="needs the extra io")
    half_zspy(tmp_path / "d.zspy", 5)
    shutil.copytree(tmp_path / "d.zspy" / "Experiments" / "t", tmp_path / "d.zspy" / "Experiments" / "u")
    (tmp_path / "d.zspy" / "Experiments" / "u" / "data" / "1.0").unlink()
    general = tmp_path / "d.zspy" / "Experiments" / "u" / "metadata" / "General" / ".zattrs"
    general.write_text('{"title": "u"}')
    assert not read(tmp_path / "d.zspy", dataset="t").notes
    assert "20 % of /Experiments/u/data" in read(tmp_path / "d.zspy", dataset="u").notes[0]
