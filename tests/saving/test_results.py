"""Results kept and brought back."""

from dataclasses import replace
from io import BytesIO

import h5py
import numpy as np
import pytest
import xarray as xr
from task_options import records

import ngmca
from ngmca._support import atomic_files
from ngmca.answers.how_sure import diagnose
from ngmca.answers.run import Run
from ngmca.io import Dataset, ReadError
from ngmca.saving import results
from ngmca.saving.checksummed_files import with_checksum


def test_loading_what_is_no_result(tmp_path):
    with pytest.raises(ReadError, match="does not exist"):
        ngmca.load(tmp_path / "no")
    with pytest.raises(ReadError, match=r"is not a result of ngmca: it has no result\.nc"):
        ngmca.load(tmp_path)
    (tmp_path / "result.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(30))
    with pytest.raises(ReadError, match="is not a complete result"):
        ngmca.load(tmp_path)


@pytest.fixture(scope="module")
def mixture():
    return ngmca.simulate.sparse(m=6, n=50, r=2, snr=20, seed=0)


@pytest.fixture(scope="module")
def found(mixture):
    return ngmca.separate(mixture.Y, 2, method=ngmca.Soft(n_iter=8), n_init=2, posterior=True)


def assert_same(one, other):
    for name in ("A", "S", "lam", "noise", "n_iter", "stopped", "violation", "restarts"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name, column in vars(other.history).items():
        np.testing.assert_array_equal(getattr(one.history, name), column)
    if other.posterior is not None:
        np.testing.assert_array_equal(one.posterior.S.sd, other.posterior.S.sd)
        assert one.posterior.warnings == other.posterior.warnings


def test_what_is_saved_comes_back(tmp_path, mixture, found):
    for data in (None, mixture.Y, mixture.Y.tolist()):
        assert ngmca.save(tmp_path / "a.nc", found, data) == tmp_path / "a.nc"  # and replaces
        assert_same(ngmca.load(tmp_path / "a.nc"), found)
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]
    ngmca.save(str(tmp_path / "b.nc"), ngmca.load(str(tmp_path / "a.nc")))
    assert_same(ngmca.load(tmp_path / "b.nc"), found)


def test_factors_come_back_as_they_lay_in_memory(tmp_path, mixture):
    for method in ("soft", "hals"):
        found = ngmca.separate(mixture.Y, 2, **records(method=method, n_iter=8))
        ngmca.save(tmp_path / "a.nc", found)
        again = ngmca.load(tmp_path / "a.nc")
        assert (again.A.strides, again.S.strides) == (found.A.strides, found.S.strides)


def test_axis_and_names_come_back(tmp_path, mixture, found):
    axis = np.linspace(9, 1, 50)
    data = Dataset(mixture.Y, axis, "chemical shift", "ppm", tuple("abcdef"), notes=("read",))
    ngmca.save(tmp_path / "a.nc", found, data, instrument="400 MHz")
    for _ in range(2):  # what came back can be saved again
        separation, known = ngmca.load(tmp_path / "a.nc", with_data=True)
        assert_same(separation, found)
        np.testing.assert_array_equal(known.axis, axis)
        assert known.axis_label == "chemical shift [ppm]"
        assert known.row_names == tuple("abcdef")
        assert known.notes == ("read",)
        assert known.Y.shape == (6, 0)
        ngmca.save(tmp_path / "a.nc", separation, known)


def test_a_saved_file_is_a_run(tmp_path, mixture, found):
    ngmca.save(tmp_path / "a.nc", found, mixture.Y, instrument="400 MHz")
    run = results.load_run(tmp_path / "a.nc")
    assert run.record == {"separate": {"instrument": "400 MHz"}}
    assert 0.9 < run.diagnostics.explained < 1
    assert run.findings is run.findings
    ngmca.save(tmp_path / "a.nc", found)
    with pytest.raises(ReadError, match="saved without its data"):
        results.load_run(tmp_path / "a.nc")


def test_data_that_do_not_fit_are_refused(tmp_path, mixture, found):
    with pytest.raises(ValueError, match="data have the shape 50 x 6, but 6 x 50 were separated"):
        ngmca.save(tmp_path / "a.nc", found, mixture.Y.T)
    assert not list(tmp_path.iterdir())


def test_a_file_without_its_checksum_is_refused(tmp_path, mixture, found):
    path = ngmca.save(tmp_path / "a.nc", found, mixture.Y)
    content = bytearray(path.read_bytes())
    with xr.open_dataset(path) as stored:
        stored.load().to_netcdf(tmp_path / "b.nc")
    place = content.index(found.noise.tobytes())
    content[place : place + 8] = bytes(8)  # another number, at which HDF5 sees nothing wrong
    path.write_bytes(content[:-5])
    for damaged in (path, tmp_path / "b.nc"):
        with pytest.raises(ReadError, match="not a complete result of ngmca: its checksum is missing"):
            ngmca.load(damaged)


def test_an_error_leaves_the_file_that_was_there(tmp_path, found, monkeypatch):
    ngmca.save(tmp_path / "a.nc", found)
    monkeypatch.setattr(atomic_files, "sync", full_disk)
    with pytest.raises(OSError, match="no room"):
        ngmca.save(tmp_path / "a.nc", found)
    assert [path.name for path in tmp_path.iterdir()] == ["a.nc"]
    assert_same(ngmca.load(tmp_path / "a.nc"), found)


def full_disk(path):
    raise OSError(28, "no room")


def test_a_damaged_file_is_refused_or_harmless(tmp_path, mixture, found):
    path = ngmca.save(tmp_path / "a.nc", found, mixture.Y)
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for k in range(60):
        damaged = bytearray(good)
        place = rng.integers(len(good))
        if k % 15 == 0:  # without its checksum
            del damaged[place:]
        else:
            width = 1 if k % 2 else int(rng.integers(2, 400))
            damaged[place : place + width] = rng.bytes(len(damaged[place : place + width]))
            damaged[place] = good[place] ^ 1  # it may be the same by chance
        path.write_bytes(damaged)
        try:
            read = results.load_run(path).separation
        except ReadError:
            refused += 1
        else:
            assert_same(read, found)
    assert refused == 60  # every byte counts


def test_names_that_no_file_format_likes(tmp_path, mixture, found):
    names = ("\udcff.txt", "a\0b", "\ud800", "\x1b[31mred", "=cmd|' /C calc'!A0", "ä")
    data = Dataset(mixture.Y, np.arange(50.0), "\udce9\0", "\ud800", names)
    ngmca.save(tmp_path / "a.nc", found, data)
    _, known = ngmca.load(tmp_path / "a.nc", with_data=True)
    assert known.row_names[0] == "\\xff.txt"
    assert known.row_names[-1] == "ä"
    assert len(set(known.row_names)) == 6
    results.write(tmp_path, results.load_run(tmp_path / "a.nc"))
    head, *rows = (tmp_path / "mixing.csv").read_text().splitlines()
    assert head == "measurement,source 1,source 2" or head.startswith("measurement,source 1,source 2,")
    assert rows[4].startswith("'=cmd")


@pytest.mark.parametrize("name", ["source 1", "source 2 mean", "measurement"])
def test_no_column_of_a_table_is_lost(tmp_path, mixture, found, name):
    data = Dataset(mixture.Y, np.arange(50.0) + 7, name)
    ngmca.save(tmp_path / "a.nc", found, data)
    results.write(tmp_path, results.load_run(tmp_path / "a.nc"))
    head, first, *_ = (tmp_path / "sources.csv").read_text().splitlines()
    columns = head.split(",")
    assert len(set(columns)) == len(columns) == 1 + 2 * (1 + 4)  # mean, both ends, active
    assert float(first.split(",")[0]) == 7
    assert [float(cell) for cell in first.split(",")[1:3]] == found.S[:, 0].tolist()


def test_the_domain_comes_back(tmp_path):
    data = ngmca.simulate.bands(12, 200, 2, snr=25, seed=0)
    found = ngmca.separate(data.Y, 2, method=ngmca.Soft(n_iter=20), n_init=1)
    assert found.domain.name == "wavelet"
    back = ngmca.load(ngmca.save(tmp_path / "r.nc", found, data.Y))
    assert back.domain == found.domain
    assert back.domain.correlation == found.domain.correlation
    assert (back.domain.begun, back.domain.levels) == (20, found.domain.levels)


def test_a_result_reads_no_other_file(tmp_path, found):
    (tmp_path / "secret").write_bytes(np.arange(12.0).tobytes())
    path = ngmca.save(tmp_path / "a.nc", found)
    with h5py.File(path, "a") as file:
        shape = file["A"].shape
        del file["A"]
        file.create_dataset("A", shape, "f8", external=[(tmp_path / "secret", 0, 96)])
    path.write_bytes(with_checksum(BytesIO(path.read_bytes())))
    with pytest.raises(ReadError, match="are in another file"):
        ngmca.load(path)


def test_masked_entries_are_no_data(tmp_path, mixture, found):
    masked = np.ma.masked_greater(mixture.Y, mixture.Y.mean())
    with pytest.raises(ValueError, match="masked entries"):
        ngmca.save(tmp_path / "a.nc", found, masked)
    with pytest.raises(ValueError, match="masked entries"):
        ngmca.report.write(tmp_path / "a.html", found, masked)


def ambiguous():
    """Dense sources, of which many rotations fit equally well."""
    Y = ngmca.simulate.sparse(m=4, n=50, r=2, p_S=1.0, seed=0).Y
    return Y, ngmca.separate(Y, 2, method=ngmca.Anls(n_iter=100), n_init=3)


def test_equally_good_answers_come_back(tmp_path):
    Y, found = ambiguous()
    again = ngmca.load(ngmca.save(tmp_path / "a.nc", found, Y))
    assert again.others.count == found.others.count == 2
    for name in ("S_low", "S_high", "A_low", "A_high"):
        np.testing.assert_array_equal(getattr(again.others, name), getattr(found.others, name))
    assert again.restarts == found.restarts
    assert {one.equal for one in again.restarts} == {True}
    assert ngmca.load(ngmca.save(tmp_path / "b.nc", replace(found, others=None))).others is None


def test_tables_hold_the_range_of_sources_that_differ_and_of_no_other(tmp_path):
    Y, found = ambiguous()
    others = found.others
    others = replace(others, S_low=others.S_low.copy(), S_high=others.S_high.copy())
    others.S_low[0] = others.S_high[0] = found.S[0]
    for name, separation in (
        ("some", replace(found, others=others)),
        ("none", replace(found, others=None)),
    ):
        (tmp_path / name).mkdir()
        results.write(tmp_path / name, Run(separation, diagnose(Y, separation), Dataset(Y)))
    sources, mixing = (read_columns(tmp_path / "some" / file) for file in ("sources.csv", "mixing.csv"))
    assert [name for name in sources if "est" in name] == ["source 2 lowest", "source 2 highest"]
    np.testing.assert_array_equal(sources["source 2 lowest"], others.S_low[1])
    np.testing.assert_array_equal(sources["source 2 highest"], others.S_high[1])
    np.testing.assert_array_equal(mixing["source 1 lowest"], others.A_low[:, 0])
    np.testing.assert_array_equal(mixing["source 2 highest"], others.A_high[:, 1])
    for file in ("sources.csv", "mixing.csv"):
        assert "est" not in (tmp_path / "none" / file).read_text().splitlines()[0]


def read_columns(path):
    """The columns of a table that hold numbers, by name."""
    header, *lines = (line.split(",") for line in path.read_text().splitlines())
    return {name: np.array(column, dtype=float) for name, *column in zip(header, *lines, strict=True)}
