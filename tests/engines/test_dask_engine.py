"""Data on a Dask cluster: the same bits as in memory, whoever dies on the way."""

import os
import random
import signal
import threading
import time
import warnings

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from task_options import records

import ngmca
from ngmca.engines import open_data
from ngmca.engines.dask import waiting as on_cluster

M, N, R = 200, 3000, 3
KILLS = 10 if os.environ.get("NGMCA_STUDIES") else 1  # `make studies` does all


def measured(shape=(M, N), r=R, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    m, n = shape
    S = rng.exponential(size=(r, n)) * (rng.random((r, n)) < 0.2)
    return (rng.random((m, r)) @ S + 0.05 * rng.standard_normal(shape)).astype(dtype)


@pytest.fixture(autouse=True)
def _several_blocks(monkeypatch):
    monkeypatch.setattr("ngmca.engines.blockwise.PART_BYTES", 1 << 19)


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about ports, and about workers that are killed
        options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
        with LocalCluster(**options, silence_logs=50) as workers, Client(workers) as client:
            yield client


@pytest.fixture
def cluster(client):
    """Two workers that are processes, whatever an earlier test did to them."""
    client.cluster.scale(2)
    client.wait_for_workers(2, 60)
    return client


def assert_same(found, expected):
    for name in ("A", "S", "noise", "lam"):
        mine, theirs = (np.asarray(getattr(one, name)) for one in (found, expected))
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
    np.testing.assert_array_equal(found.history.cost, expected.history.cost)


def assert_near(found, expected):
    """To rounding: buffers that come from other processes lie otherwise in memory."""
    for name in ("A", "S", "noise", "lam"):
        mine, theirs = (np.asarray(getattr(one, name)) for one in (found, expected))
        assert np.linalg.norm(mine - theirs) <= 1e-9 * np.linalg.norm(theirs), name


CHUNKS = [(M, 170), (70, 1111), (M, ((1,) * 3 + (2997,))), (13, (5, 2000, 995))]


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("scheduler", ["threads", "sync"])
def test_the_answer_is_that_in_memory_to_the_bit(chunks, scheduler):
    Y = measured()
    start = np.random.default_rng(1).random((M, R)), np.zeros((R, N))
    n_iter = 50 if (scheduler, chunks) == ("threads", CHUNKS[1]) else 4
    options = {"n_iter": n_iter, "start": start, "domain": "direct"}
    expected = ngmca.separate(Y, R, **records(**options))
    with dask.config.set(scheduler=scheduler):
        found = ngmca.separate(da.from_array(Y, chunks=chunks), R, **records(**options))
        assert isinstance(found.S, da.Array)
        assert_same(found, expected)


OPTIONS = [
    {"n_iter": 6},
    {"method": "hard", "n_iter": 6},
    {"method": "anls", "n_iter": 6},
    {"penalised": "A", "n_iter": 6},
    {"noise": np.linspace(0.04, 0.08, M), "n_iter": 6},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_with_a_guess_of_its_own(options, dtype):
    Y = measured(dtype=dtype)
    expected = ngmca.separate(
        Y, R, **records(seed=3, domain="direct" if "method" not in options else "auto", **options)
    )
    assert_same(
        ngmca.separate(da.from_array(Y, chunks=(M, 999)), R, **records(seed=3, **options)), expected
    )


@pytest.mark.parametrize("shape", [(4000, 60), (1, 400), (3, 1)])
def test_tall_and_small_data_too(shape):
    Y, r = measured(shape), min(*shape, 3)
    options = {"seed": 0, "n_iter": 4, "domain": "direct"}
    found = ngmca.separate(da.from_array(Y, chunks=(1000, 50)), r, **records(**options))
    assert_same(found, ngmca.separate(Y, r, **records(**options)))


def test_large_blocks_stay_as_they_are_and_the_answer_is_the_same_to_rounding():
    Y = measured((M, 9000))
    array = da.from_array(Y, chunks=(M, (2500, 4100, 2400)))
    engine = open_data(array)
    found = ngmca.separate(engine, R, method=ngmca.Soft(n_iter=20), domain="direct", n_init=1)
    assert found.S.chunks[1] == (2500, 4100, 2400)
    assert_near(found, ngmca.separate(Y, R, method=ngmca.Soft(n_iter=20), domain="direct", n_init=1))


@pytest.mark.parametrize("shape", [(M, N), (6000, 40)])
def test_dead_sources_come_back_as_in_memory(shape, monkeypatch):
    monkeypatch.setattr("ngmca.engines.shared_answers.CANDIDATES", 12 * shape[0])
    Y = measured(shape)
    start = np.random.default_rng(1).random((shape[0], R)), np.zeros((R, shape[1]))
    start[0][:, 1] = 0
    options = {"start": start, "n_iter": 4, "domain": "direct"}
    found = ngmca.separate(da.from_array(Y, chunks=(M, 700)), R, **records(**options))
    assert_same(found, ngmca.separate(Y, R, **records(**options)))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"method": "naive"}, "it needs all sources in memory"),
        ({"domain": "wavelet"}, "it needs all sources in memory"),
        ({"closure": 1.0}, "it needs all sources in memory"),
        ({"method": "hals"}, "all data must be in memory"),
        ({"robust": True}, "all data must be in memory"),
        ({"noise": "poisson"}, "all data must be in memory"),
        ({"posterior": True, "domain": "direct"}, "all data must be in memory"),
        ({"mask": np.zeros((M, N), bool)}, "mask needs all data in memory"),
    ],
    ids=str,
)
def test_what_does_not_work_there_is_refused(options, told):
    with pytest.raises(ValueError, match=told):
        ngmca.separate(da.from_array(measured(), chunks=(M, 700)), R, **records(**options))


def test_an_entry_that_is_no_number_is_named_with_its_chunk():
    Y = measured()
    Y[17, 1234] = np.nan
    with pytest.raises(ValueError, match=r"NaN, first at row 17, column 1234 \(chunk 0\.12\)"):
        open_data(da.from_array(Y, chunks=(M, 100)))


def test_a_chunk_that_is_cut_off_is_named(tmp_path):
    stored = zarr.create_array(tmp_path / "Y.zarr", shape=(M, N), dtype=float, chunks=(M, 1000))
    stored[...] = measured()
    chunk = tmp_path / "Y.zarr" / "c" / "0" / "2"
    chunk.write_bytes(chunk.read_bytes()[:50])
    with pytest.raises(OSError, match=r"cannot be read at chunk 0\.2"):
        open_data(da.from_zarr(str(tmp_path / "Y.zarr")))


def test_what_a_dask_array_cannot_be_is_told():
    Y = da.from_array(measured((40, 60)), chunks=(40, 20))
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        open_data(Y[Y[:, 0] > 0])
    with pytest.raises(ValueError, match="threads cannot be combined with a Dask array"):
        open_data(Y, threads=2)
    with pytest.raises(ValueError, match="several data sets must be in memory"):
        open_data([Y, Y])


def test_what_is_masked_is_refused():
    array = da.ma.masked_greater(da.from_array(measured(), chunks=(M, 100)), 3.0)
    with pytest.raises(ValueError, match="a masked entry, first at row"):
        open_data(array)


@pytest.mark.parametrize("shape", [(M, N), (4000, 60)])
def test_the_checksum_is_that_in_memory(shape):
    Y = measured(shape)
    array = da.from_array(Y, chunks=(130, 55))
    assert open_data(array).fingerprint() == open_data(Y).fingerprint()
    assert open_data(array[::-1]).fingerprint() != open_data(Y).fingerprint()


def test_arrays_of_xarray_without_dask_are_arrays():
    import xarray as xr

    Y = measured()
    found = ngmca.separate(xr.DataArray(Y), R, method=ngmca.Soft(n_iter=4), n_init=1)
    np.testing.assert_array_equal(found.S, ngmca.separate(Y, R, method=ngmca.Soft(n_iter=4), n_init=1).S)
    with pytest.raises(TypeError, match="is not an array"):
        ngmca.separate(xr.Dataset({"Y": (("x", "y"), da.from_array(Y))}), R, n_init=1)


def test_an_array_of_xarray():
    import xarray as xr

    Y = measured()
    inside = xr.DataArray(da.from_array(Y, chunks=(M, 700)), dims=("pixel", "energy"))
    found = ngmca.separate(inside, R, method=ngmca.Soft(n_iter=4), n_init=1)
    assert_same(found, ngmca.separate(Y, R, method=ngmca.Soft(n_iter=4), domain="direct", n_init=1))


def test_a_lazy_signal_of_hyperspy():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hs = pytest.importorskip("hyperspy.api")
        cube = measured((24, 300)).reshape(4, 6, 300)
        signal = hs.signals.Signal1D(da.from_array(cube, chunks=(2, 3, 300))).as_lazy()
    found = ngmca.separate(signal, R, method=ngmca.Soft(n_iter=4), n_init=1)
    assert_same(
        found,
        ngmca.separate(cube.reshape(24, 300), R, method=ngmca.Soft(n_iter=4), domain="direct", n_init=1),
    )


def test_two_workers_that_are_processes(cluster):
    Y = measured()
    start = np.random.default_rng(1).random((M, R)), np.zeros((R, N))
    options = {"n_iter": 15, "start": start, "domain": "direct"}
    found = ngmca.separate(da.from_array(Y, chunks=(M, 650)), R, **records(**options))
    assert_near(found, ngmca.separate(Y, R, **records(**options)))


def test_a_worker_that_is_killed_costs_nothing_but_time(cluster):
    Y = measured()
    options = {"n_iter": 25, "seed": 0, "domain": "direct"}
    expected, draw, over = (
        ngmca.separate(Y, R, **records(**options)),
        random.Random(0),
        threading.Event(),
    )
    killed = []

    def kill():
        while len(killed) < KILLS and not over.wait(draw.uniform(0.2, 1.0)):
            victim = draw.choice(list(cluster.cluster.workers.values()))  # those who start them again
            before = victim.pid
            if before is not None:
                os.kill(before, signal.SIGKILL)
                killed.append(before)
            while victim.pid in (None, before) and not over.wait(0.1):
                pass

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        for _ in range(20):
            assert_near(
                ngmca.separate(da.from_array(Y, chunks=(M, 650)), R, **records(**options)), expected
            )
            if len(killed) >= KILLS:
                break
    finally:
        over.set()
        thread.join()
    assert len(killed) == KILLS


def test_without_any_worker_there_is_an_error_and_a_checkpoint(cluster, monkeypatch, tmp_path):
    monkeypatch.setattr(on_cluster, "MAX_SECONDS_WITHOUT_WORKERS", 0.5)
    monkeypatch.setattr(on_cluster, "SECONDS_BETWEEN_LOOKS", 0.2)
    Y, path = measured(), tmp_path / "kept.npz"
    options = {"n_iter": 40, "seed": 0, "domain": "direct", "tol": 0.0}
    array = da.from_array(Y, chunks=(M, 650))

    def stop():
        while not path.exists():
            time.sleep(0.05)
        cluster.cluster.scale(0)

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(RuntimeError, match=r"all its workers are gone.*resume="):
        ngmca.separate(array, R, **records(checkpoint=path, checkpoint_every=1, **options))
    thread.join()
    with dask.config.set(scheduler="threads"):
        found = ngmca.separate(array, R, **records(resume=path, **options))
        assert_near(found, ngmca.separate(Y, R, **records(**options)))
