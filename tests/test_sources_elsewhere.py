"""Sources that are put on disk, or stay on a cluster: where they may go, and how they are used."""

import dask.array as da
import h5py
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse
from task_options import records

import ngmca
from ngmca.result import large_sources as storing
from ngmca.task import driver

R = 3
RNG = np.random.default_rng(0)
S = RNG.exponential(size=(R, 300)) * (RNG.random((R, 300)) < 0.3)
Y = RNG.random((12, R)) @ S + 0.02 * RNG.standard_normal((12, 300))
OPTIONS = {"seed": 0, "n_iter": 5, "domain": "direct"}
EXPECTED = ngmca.separate(Y, R, **records(**OPTIONS))


@pytest.fixture
def no_work(monkeypatch):
    monkeypatch.setattr(driver.Prepared, "find", lambda *_, **__: pytest.fail("it was computed"))


@pytest.mark.parametrize("kind", [int, np.uint8, bool])
def test_sources_are_not_cut_to_integers(no_work, kind):
    with pytest.raises(ValueError, match="would cut off"):
        ngmca.separate(Y, R, **records(out=np.zeros((R, 300), kind), **OPTIONS))


def test_sources_may_be_rounded():
    out = np.zeros((R, 300), np.float32)
    assert ngmca.separate(Y, R, **records(out=out, **OPTIONS)).S is out
    np.testing.assert_array_equal(out, EXPECTED.S.astype(np.float32))


def _read_only(folder):
    array = np.zeros((R, 300))
    array.flags.writeable = False
    np.save(folder / "S.npy", array)
    zarr.save(str(folder / "S.zarr"), array)
    with h5py.File(folder / "S.h5", "w") as file:
        file["S"] = array
    return {
        "array": array,
        "map": np.load(folder / "S.npy", mmap_mode="r"),
        "zarr": zarr.open_array(str(folder / "S.zarr"), mode="r"),
        "hdf5": h5py.File(folder / "S.h5", "r")["S"],
        "list": array.tolist(),
        "bytes": array.tobytes(),
    }


@pytest.mark.parametrize("kind", ["array", "map", "zarr", "hdf5", "list", "bytes"])
def test_what_cannot_be_written_to_is_refused_before_data_are_opened(monkeypatch, tmp_path, kind):
    monkeypatch.setattr(ngmca.separation, "open_data", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(ValueError, match=r"out .*can(not)? be written to"):
        ngmca.separate(Y, R, **records(out=_read_only(tmp_path)[kind], **OPTIONS))


def test_a_checkpoint_in_the_place_of_the_sources_is_refused(no_work, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="different names"):
        ngmca.separate(Y, R, **records(out="S", checkpoint=tmp_path / "S", **OPTIONS))


@pytest.mark.parametrize("given", [{"every": 3}, {"minutes": 5}], ids=str)
def test_a_checkpoint_needs_a_path(given):
    with pytest.raises(TypeError, match="path"):
        ngmca.Checkpoint(**given)
    with pytest.raises(TypeError, match="checkpoint must be a path, got None"):
        ngmca.Checkpoint(None, **given)


@pytest.mark.parametrize("given", [Y.tolist(), pd.DataFrame(Y), tuple(map(tuple, Y))], ids=type)
def test_tables_and_lists_have_their_sources_put_on_disk(tmp_path, given):
    found = ngmca.separate(given, R, **records(out=tmp_path / "S.zarr", **OPTIONS))
    np.testing.assert_array_equal(found.S, EXPECTED.S)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([Y, Y], "several data sets"),
        (sparse.csr_array(np.maximum(Y, 0)), "sparse"),
        (np.ma.masked_greater(Y, 1), "mask"),
    ],
    ids=["several", "sparse", "masked"],
)
def test_what_is_not_read_in_blocks_is_refused_in_a_sentence(no_work, tmp_path, given, told):
    with pytest.raises((ValueError, TypeError), match=told):
        ngmca.separate(given, R, **records(out=tmp_path / "S.zarr", **OPTIONS))


class Slices:
    """Sources that tell whether their place is there already when they are asked for."""

    shape, dtype = S.shape, S.dtype

    def __init__(self, place, fails=False):
        self.place, self.fails, self.seen = place, fails, []

    def __getitem__(self, which):
        self.seen.append(self.place.exists())
        if self.fails and len(self.seen) > 1:
            raise OSError("no room is left")
        return S[which]


def test_a_store_is_whole_or_not_there(monkeypatch, tmp_path):
    monkeypatch.setattr(storing, "CHUNK", 100)
    monkeypatch.setattr(storing, "AT_ONCE", 100)
    place = tmp_path / "S.zarr"
    with pytest.raises(OSError, match="no room"):
        storing.stored(place, Slices(place, fails=True))
    assert not list(tmp_path.iterdir())
    sources = Slices(place)
    found = storing.stored(place, sources)
    assert sources.seen == [False] * 3
    np.testing.assert_array_equal(found, S)
    assert [path.name for path in tmp_path.iterdir()] == ["S.zarr"]
    found[0, 0] = 7.0  # it can be worked on
    assert zarr.open_array(str(place), mode="r")[0, 0] == 7.0


def test_what_came_into_being_meanwhile_is_kept(tmp_path):
    place = tmp_path / "S.zarr"

    class Late(Slices):
        def __getitem__(self, which):
            place.mkdir()
            return S[which]

    with pytest.raises(FileExistsError, match="out exists"):
        storing.stored(place, Late(place))
    assert list(tmp_path.iterdir()) == [place]
    assert not list(place.iterdir())


@pytest.fixture(params=["zarr", "dask"])
def found(request, tmp_path):
    if request.param == "zarr":
        return ngmca.separate(Y, R, **records(out=tmp_path / "kept.zarr", **OPTIONS))
    return ngmca.separate(da.from_array(Y, chunks=(12, 100)), R, **records(**OPTIONS))


def test_sources_elsewhere_can_be_used_as_those_in_memory(found, tmp_path):
    assert not isinstance(found.S, np.ndarray)
    np.testing.assert_allclose(found.shares, EXPECTED.shares, rtol=1e-12)
    for one, other in zip(found.to_pandas(), EXPECTED.to_pandas(), strict=True):
        pd.testing.assert_frame_equal(one, other)
    with mpl.rc_context({"backend": "agg"}):
        line = found.plot().axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), EXPECTED.S[0])
    for data in (None, Y):
        loaded = ngmca.load(ngmca.save(tmp_path / "found.nc", found, data))
        np.testing.assert_array_equal(loaded.S, EXPECTED.S)
    page = ngmca.report.write(tmp_path / "found.html", found, Y).read_text()
    assert "source 3" in page
    assert ngmca.evaluate(S, found.S).mean_sdr == ngmca.evaluate(S, EXPECTED.S).mean_sdr
    assert found.in_memory().in_memory().S.tobytes() == EXPECTED.S.tobytes()


def test_sources_that_would_not_fit_are_refused_with_their_size(found, monkeypatch, tmp_path):
    monkeypatch.setattr(storing, "memory_left", lambda: 10_000.0)
    uses = (
        lambda: found.shares,
        found.plot,
        found.to_pandas,
        lambda: ngmca.save(tmp_path / "found.nc", found),
        lambda: ngmca.report.write(tmp_path / "found.html", found, Y),
        lambda: ngmca.evaluate(S, found.S),
    )
    for use in uses:
        with pytest.raises(MemoryError, match=r"7\.2 kB, is too large for the memory.*10 kB is left"):
            use()
    monkeypatch.setattr(storing, "memory_left", lambda: 20_000.0)
    assert found.shares.shape == (12, R)


def test_starts_on_a_cluster_are_compared():
    options = OPTIONS | {"n_init": 3}
    found = ngmca.separate(da.from_array(Y, chunks=(12, 100)), R, **records(**options))
    expected = ngmca.separate(Y, R, **records(**options))
    assert isinstance(found.S, da.Array)
    agreements = [[one.agreement for one in each.restarts] for each in (found, expected)]
    np.testing.assert_allclose(*agreements, rtol=1e-9)
    np.testing.assert_array_equal(found.S, expected.S)
    assert (found.others is None) == (expected.others is None)


def test_starts_whose_sources_would_not_fit_are_refused_before_the_first(no_work, monkeypatch):
    monkeypatch.setattr(storing, "memory_left", lambda: 50_000.0)
    with pytest.raises(
        MemoryError, match="n_init=3 compares the sources of all starts in memory: use n_init=1"
    ):
        ngmca.separate(da.from_array(Y, chunks=(12, 100)), R, **records(n_init=3, **OPTIONS))
