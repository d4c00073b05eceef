"""Wrong files: one line that says what is wrong and where, exit code 2, no traceback."""

import io
import os
import pickle
import shutil
import struct
import warnings

import h5py
import numpy as np
import pytest
import real_data
import scipy.io
from typer.testing import CliRunner

from ngmca._support.isolated_process import IsolatedProcess
from ngmca.cli import app
from ngmca.io import ReadError
from ngmca.io.isolated_reading import read_one

Y = np.abs(np.random.default_rng(0).standard_normal((5, 40)))
GOOD = "\n".join(",".join(f"{v:.3f}" for v in row) for row in Y) + "\n"


def npy_bytes(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def claim(shape):
    """A .npy file whose header claims a shape, with 80 bytes of data."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue() + bytes(80)


def replaced(line, column, text):
    rows = [row.split(",") for row in GOOD.splitlines()]
    rows[line - 1][column - 1] = text
    return "\n".join(",".join(row) for row in rows).encode()


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/ngmca-was-here",)


FILES = {
    "empty.csv": (b"", "empty.csv is empty"),
    "blank.csv": (b"\n\n# nothing\n", "has no numbers in it"),
    "garbage.csv": (bytes(range(256)) * 20, "is not text: byte 0x00 at offset 0"),
    "ragged.csv": (GOOD.encode() + b"1,2,3\n", "line 6 has 3 cells, other lines have 40"),
    "text.csv": (replaced(3, 7, "abc"), "line 3, column 7 holds 'abc', which is not a number"),
    "endless.csv": (replaced(5, 4, "inf"), "line 5, column 4 is inf"),
    "words.txt": (b"dear sir\nplease find\n", "line 2, column 2 holds 'find', which is not a number"),
    "header.csv": (b"ppm,a,b\n", "has a header, but no numbers below it"),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03abc", "not a complete gzip file"),
    "empty.npy": (b"", "empty.npy is empty"),
    "cut.npy": (npy_bytes(Y)[:-100], "claims 1.6 kB, but the file has"),
    "huge.npy": (claim((10**4, 125_000)), "claims 10 GB, but the file has"),
    "garbage.npy": (b"\x93NUMPY\x01\x00" + bytes(50), "is not a complete .npy file"),
    "objects.npy": (npy_bytes(np.array([Evil(), None]), allow_pickle=True), "(a pickle)"),
    "pickle.npy": (pickle.dumps(Evil()), "is a Python pickle"),
    "complex.npy": (npy_bytes(Y + 1j), "is complex"),
    "flat4.npy": (
        npy_bytes(np.zeros((2, 2, 2, 2))),
        "nothing says which one holds the",
    ),
    "endless.npy": (npy_bytes(np.where(Y > 2.2, np.inf, Y)), "has infinity at index"),
    "nothing.npy": (npy_bytes(np.full((5, 40), np.nan)), "all 200 entries are missing"),
    "words.npy": (npy_bytes(np.array([["a", "b"]])), "holds text, not numbers"),
    "cut.npz": (b"PK\x03\x04" + bytes(100), "is not a complete .npz file"),
    "garbage.mat": (b"MATLAB 5.0 MAT-file" + bytes(range(200)), "is not a complete MATLAB file"),
    "old.mat": (bytes(300), "is not a complete MATLAB file"),
    "cut.h5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "is not a complete HDF5 file"),
    "cut.nc": (b"CDF\x01" + bytes(3), "is not a complete NetCDF file"),
    "garbage.xyz": (bytes(range(256)), "this file has no known format"),
    "empty.jdx": (b"##TITLE=x\n##END=\n", "has no spectrum"),
    "bad.imzML": (b"<xml", "has no data file bad.ibd"),
    "bad.hdr": (b"ENVI\nlines = 3\n", "is not a complete ENVI header: it has no 'samples'"),
    "bad.ft": (struct.pack("<f", 0) * 600, "is not an NMRPipe file"),
    "bad.hspy": (b"\x89HDF\r\n\x1a\n" + bytes(40), "rosettasciio cannot read it"),
    "bad.wdf": (b"WDF1" + bytes(100), "rosettasciio cannot read it"),
}


def complaint(*arguments):
    """The one line on stderr of a command that must fail as bad input."""
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    assert "Traceback" not in lines[0]
    return lines[0]


@pytest.mark.parametrize("name", FILES)
def test_one_line_says_what_is_wrong_where(tmp_path, name):
    content, message = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    for line in (
        complaint("info", str(path)),
        complaint("separate", str(path), "-r", "2", "-o", str(tmp_path / "out")),
    ):
        assert message in line
        assert str(path) in line
    assert os.listdir(tmp_path) == [name]
    assert not os.path.exists("/tmp/ngmca-was-here")


def test_a_truncated_file_of_every_binary_format(tmp_path):
    np.savez(tmp_path / "d.npz", data=Y)
    scipy.io.savemat(tmp_path / "d.mat", {"data": Y})
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["data"] = Y
    for name in ("d.npz", "d.mat", "d.h5"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        assert "complete" in complaint("info", str(path))


def written(folder):
    """One file of every binary format, each with what it needs beside it."""
    import nmrglue  # noqa: F401
    import spectral
    import xarray as xr
    from pyimzml.ImzMLWriter import ImzMLWriter

    array = xr.DataArray(Y, dims=("tube", "ppm"), name="data")
    np.save(folder / "d.npy", Y)
    np.savez_compressed(folder / "d.npz", data=Y)
    scipy.io.savemat(folder / "d.mat", {"data": Y}, do_compression=True)
    array.to_netcdf(folder / "d4.nc", engine="h5netcdf")
    array.to_netcdf(folder / "d3.nc", engine="scipy")
    with h5py.File(folder / "d.h5", "w") as file:
        file["data"] = Y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cube = np.ones((2, 3, 4), "int16")
        spectral.envi.save_image(str(folder / "e.hdr"), cube, ext=".img")
    with ImzMLWriter(str(folder / "i"), mode="continuous") as writer:
        for x in range(3):
            writer.addSpectrum(np.arange(1.0, 40.0), np.ones(39), (x + 1, 1, 1))
    shutil.copytree(real_data.nmr() / "bruker2" / "3", folder / "3")
    own = ("d.npy", "d.npz", "d.mat", "d4.nc", "d3.nc", "d.h5")
    return [(name, name) for name in own] + [
        ("e.hdr", "e.img"), ("i.imzML", "i.ibd"), ("i.imzML", "i.imzML"), ("3", "3/pdata/1/1r")
    ]  # fmt: skip


LEAST_REFUSED = {"e.img": 0, "3/pdata/1/1r": 0, "i.ibd": 0}  # any bytes are numbers there


def test_no_damage_makes_anything_but_a_read_error(tmp_path):
    rng = np.random.default_rng(1)
    options = {"transpose": None, "dataset": None, "nucleus": None}
    with IsolatedProcess() as apart:
        for path, part in written(tmp_path):
            whole, refused = (tmp_path / part).read_bytes(), 0
            expected = read_one(tmp_path / path, options, apart)
            for _ in range(20):
                damaged = bytearray(whole)
                for place in rng.integers(0, min(len(whole), 800), 4):
                    damaged[place] = rng.integers(256)
                (tmp_path / part).write_bytes(damaged)
                try:
                    data = read_one(tmp_path / path, options, apart)
                except ReadError:
                    refused += 1
                else:
                    assert data.Y.ndim == 2
                    assert not np.isinf(data.Y).any()
            (tmp_path / part).write_bytes(whole[: 2 * len(whole) // 3])
            with pytest.raises(ReadError):
                read_one(tmp_path / path, options, apart)
            (tmp_path / part).write_bytes(whole)
            np.testing.assert_array_equal(read_one(tmp_path / path, options, apart).Y, expected.Y)
            assert refused >= LEAST_REFUSED.get(part, 1), part


def test_an_hdf5_file_that_claims_what_was_never_written(tmp_path):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file.create_dataset("data", (10**3, 12_500), "f8", chunks=(100, 100))
    line = complaint("info", str(tmp_path / "d.h5"))
    assert "claims 100 MB, but none of it was ever written" in line
    assert (tmp_path / "d.h5").stat().st_size < 10_000


def test_a_zarr_that_claims_more_than_memory(tmp_path):
    import zarr

    zarr.create_array(str(tmp_path / "d.zarr"), shape=(10**7, 10**7), chunks=(100, 100), dtype="f8")
    assert "of memory" in complaint("info", str(tmp_path / "d.zarr"))


@pytest.mark.parametrize("name", ["bruker1", "test1.fid"])
def test_a_fid(name):
    line = complaint("info", str(real_data.nmr() / name))
    assert "free induction decay" in line
    assert "Fourier-transform" in line


def test_paths_that_are_not_there(tmp_path):
    assert "does not exist" in complaint("info", str(tmp_path / "no.csv"))
    assert "holds nothing that can be read. It has no files" in complaint("info", str(tmp_path))
    (tmp_path / "a.csv").write_text("what\n")
    assert "holds nothing that can be read. First error: " in complaint("info", str(tmp_path))


def test_wrong_arguments(tmp_path):
    path = tmp_path / "d.npy"
    np.save(path, Y)
    out = str(tmp_path / "out")
    separate = ("separate", str(path), "-o", out)
    assert "number of sources is missing" in complaint(*separate)
    assert "folder for the result is missing" in complaint("separate", str(path), "-r", "2")
    assert "no data were given" in complaint("separate", "-r", "2", "-o", out)
    assert "must be at least 1" in complaint(*separate, "-r", "0")
    assert "50 sources are too many" in complaint(*separate, "-r", "50")
    told = complaint(*separate, "-r", "2", "--method", "magic")
    assert "--method magic does not exist. " in told
    assert "Use one of 'soft'" in told
    assert "must be between 0 and 1e+06" in complaint(*separate, "-r", "2", "--tau", "-1")
    assert "two numbers with a colon" in complaint(*separate, "-r", "2", "--range", "5")
    assert "no channel lies in 100:200" in complaint(*separate, "-r", "2", "--range", "100:200")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "out.ngmca-unfinished").exists()


def test_a_damaged_npy_header_is_refused_without_warnings(tmp_path):
    path = tmp_path / "d.npy"
    np.save(path, np.ones((3, 4)))
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"fortran_order", rb"\drtran_order", 1))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(ReadError, match=r"not a complete \.npy file"):
            read_one(path, {}, IsolatedProcess())
    assert not told
