"""The engine on a GPU, with NumPy in place of CuPy: the same answers as in memory."""

import builtins
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from host_device import HostDevice, HostTransfers, needs_compiler
from task_options import records

import ngmca
from ngmca import simulate
from ngmca.algorithms import Options, reweighted_channels
from ngmca.algorithms import start_on_part as subset
from ngmca.algorithms.first_guess import revive
from ngmca.algorithms.steps import s_step
from ngmca.algorithms.wavelets import wavelet_data
from ngmca.engines import derived, in_precision, magnitude, opening
from ngmca.engines import gpu as on_device
from ngmca.engines.gpu import Columns, GpuError
from ngmca.engines.gpu import engine as on_gpu
from ngmca.engines.gpu.cuda_driver import load_cupy
from ngmca.engines.gpu.engine import GpuEngine
from ngmca.engines.memory import InMemory, MemoryEngine
from ngmca.engines.neighbouring_channels import noise_of_differences
from ngmca.nnqp.gram import Gram
from ngmca.task.checkpoints import Keeper


@pytest.fixture
def device(monkeypatch):
    """A GPU in place of the real one, to which `separate` finds its way."""
    found = HostDevice()
    monkeypatch.setattr(opening, "open_device", lambda: found)
    monkeypatch.setattr(on_gpu, "_transfers", HostTransfers)
    return found


@pytest.fixture(scope="module")
def mixture():
    return simulate.sparse(40, 5000, 4, snr=15.0, p_S=0.2, seed=0)


def close(one, other, tolerance=1e-6):
    np.testing.assert_allclose(one.A, other.A, atol=tolerance)
    np.testing.assert_allclose(one.S, other.S, atol=tolerance * other.S.max())


@needs_compiler
@pytest.mark.parametrize("method", ["soft", "anls", "hard"])
def test_the_answer_is_that_of_the_cpu(device, mixture, method):
    n_iter = 20 if method == "hard" else "auto"
    there, here = (
        ngmca.separate(mixture.Y, 4, **records(method=method, n_iter=n_iter, device=device))
        for device in ("cuda", "cpu")
    )
    assert device.launches > 20
    close(there, here)
    assert there.n_iter == here.n_iter
    np.testing.assert_allclose(there.noise, here.noise, rtol=1e-9)
    np.testing.assert_allclose(there.history.cost, here.history.cost, rtol=1e-6)
    if method != "hard":
        assert there.history.violation.max() < 1e-12


@needs_compiler
def test_single_precision_is_certified(device, mixture):
    Y = mixture.Y.astype(np.float32)
    there, here = (ngmca.separate(Y, 4, device=device, n_init=1) for device in ("cuda", "cpu"))
    assert there.S.dtype == np.float32
    assert 0 < there.history.violation.max() <= 1e-5
    sdr = [ngmca.evaluate(mixture.S, one.S).mean_sdr for one in (there, here)]
    assert abs(sdr[0] - sdr[1]) < 0.05


@needs_compiler
@pytest.mark.parametrize("order", ["C", "F"])
def test_data_larger_than_the_gpu_give_the_same_answer(device, monkeypatch, order):
    monkeypatch.setattr(on_gpu, "PIECE", 1)
    mixture = simulate.sparse(40, 9000, 4, snr=15.0, p_S=0.2, seed=0)
    whole = ngmca.separate(mixture.Y, 4, method=ngmca.Soft(n_iter=12), device="cuda", n_init=1)
    device.room = 4_000_000  # the sources and two pieces fit, the data do not
    engine = opening.open_data(np.asarray(mixture.Y, order=order), device="cuda")
    pieces = [columns for columns, _ in engine._pieces(4)]
    assert [columns.stop for columns in pieces] == [2048, 4096, 6144, 8192, 9000]
    streamed = ngmca.separate(engine, 4, method=ngmca.Soft(n_iter=12), n_init=1)
    np.testing.assert_array_equal(streamed.S, whole.S)
    np.testing.assert_array_equal(streamed.A, whole.A)


@needs_compiler
def test_too_little_memory_is_said_in_one_sentence(device, mixture):
    device.room = 100_000
    with pytest.raises(GpuError, match=r"the GPU has 0\.0001 GB free, and 4 sources in 40 x"):
        ngmca.separate(mixture.Y, 4, device="cuda", n_init=1)


@needs_compiler
def test_every_question_has_the_answer_of_the_engine_in_memory(device, mixture):
    rng = np.random.default_rng(1)
    here, there = MemoryEngine(mixture.Y), GpuEngine(mixture.Y, device)
    A, S = mixture.A, mixture.S + 0.1 * rng.random(mixture.S.shape)
    np.testing.assert_allclose(there.energy, here.energy, rtol=1e-12)
    np.testing.assert_allclose(there.peak(A, S), here.peak(A, S), rtol=1e-10)
    np.testing.assert_allclose(there.correlate(A), here.correlate(A), rtol=1e-10)
    (SS, YS), (SS_here, YS_here) = there.moments(S), here.moments(S)
    np.testing.assert_allclose(SS.matrix, SS_here.matrix, rtol=1e-10)
    np.testing.assert_allclose(YS, YS_here, rtol=1e-10)
    for final in (False, True):
        np.testing.assert_allclose(there.noise(A, S, final=final), here.noise(A, S, final=final))
    np.testing.assert_allclose(there.leftover(A, S, 3), here.leftover(A, S, 3), atol=1e-12)
    kind = np.dtype(np.float32)
    products = [in_precision(engine, kind).correlate(A) for engine in (there, here)]
    np.testing.assert_allclose(*products, atol=1e-5)
    levels = np.linspace(1, 2, 40)
    np.testing.assert_allclose(there.divided(levels).correlate(A), here.divided(levels).correlate(A))
    assert isinstance(there.divided(levels), GpuEngine)
    assert isinstance(there.transposed(), GpuEngine)


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [3, 5, 700, 3001])
def test_what_neighbouring_channels_say_is_the_same_there(device, n, dtype):
    Y = simulate.bands(12, 3001, 2, snr=20.0, seed=0).Y[:, :n].astype(dtype)
    Y[2] = 1.0  # all differences are 0
    for data in (Y, np.random.default_rng(0).standard_normal(Y.shape).cumsum(axis=1).astype(dtype)):
        found, white = noise_of_differences(GpuEngine(data, device))
        expected, white_here = noise_of_differences(MemoryEngine(data))
        np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == np.float32 else 1e-12)
        assert white == white_here
        assert magnitude(GpuEngine(data, device)) == magnitude(MemoryEngine(data))


@needs_compiler
def test_units_are_taken_on_the_gpu_if_there_is_room(device, mixture, monkeypatch):
    given = {"unit": 2.0, "dtype": np.dtype(np.float32)}
    engine, here = GpuEngine(mixture.Y, device), MemoryEngine(mixture.Y).divided(**given)
    np.testing.assert_array_equal(engine.divided(**given)._given, here._Y)  # Y is not there yet
    engine.correlate(mixture.A)
    monkeypatch.setattr(InMemory, "divided", None)
    there = engine.divided(**given)
    assert there.array_module is engine.array_module
    assert there.unit == here.unit == 2.0
    np.testing.assert_array_equal(there._given, here._Y)
    device.room = mixture.Y.nbytes // 2
    with pytest.raises(TypeError):  # the CPU divides
        engine.divided(**given)


@needs_compiler
def test_many_rows_of_the_mixing_are_solved_on_the_gpu(device):
    rng = np.random.default_rng(0)
    engine = GpuEngine(rng.random((3000, 50)), device)
    G, C = Gram(np.eye(6) + 0.2), rng.standard_normal((3000, 6))
    expected, _ = MemoryEngine.solve_mixing(engine, G, C, np.zeros_like(C))
    device.launches = 0
    found, _ = engine.solve_mixing(G, C, np.zeros_like(C))
    assert device.launches == 1
    np.testing.assert_allclose(found, expected, atol=1e-12)


@needs_compiler
def test_levels_of_measurements_restarts_and_units_work_there_too(device, mixture):
    for options in ({"noise": np.linspace(0.1, 0.3, 40)}, {"n_init": 2}, {"start": mixture}):
        for unit in (1.0, 1e-200):
            scaled = {"noise": options["noise"] * unit} if "noise" in options else options
            if "start" in scaled:
                scaled = {"start": (mixture.A, mixture.S * unit)}
            there, here = (
                ngmca.separate(mixture.Y * unit, 4, **records(n_iter=10, device=device, **scaled))
                for device in ("cuda", "cpu")
            )
            close(there, here)


@needs_compiler
@pytest.mark.parametrize(("small", "tolerance"), [(0, 1e-3), (wavelet_data.SMALL, 1e-6)])
@pytest.mark.parametrize("given", [{}, {"sample_shape": (8, 16)}])
def test_bands_and_images_are_those_of_the_cpu(monkeypatch, device, small, tolerance, given):
    monkeypatch.setattr(wavelet_data, "SMALL", small)  # 0: iterations are in single precision
    mixture = simulate.bands(12, 128, 2, snr=20.0, seed=0)
    there, here = (
        ngmca.separate(
            *(mixture.Y, 2),
            method=ngmca.Soft(n_iter=4),
            domain="wavelet",
            device=device,
            n_init=1,
            **given,
        )
        for device in ("cuda", "cpu")
    )
    assert there.domain.name == "wavelet"
    assert {kernel.file for kernel in device.kernels} >= {"images" if given else "lines", "quadratic"}
    close(there, here, tolerance)
    np.testing.assert_allclose(there.violation, here.violation, atol=1e-5)


@needs_compiler
def test_states_are_arrays_in_memory(device, mixture):
    states = [
        *ngmca.iterate(
            mixture.Y, ngmca.Task(4, method=ngmca.Soft(n_iter=4), domain="direct", device="cuda")
        )
    ]
    assert all(type(state.S) is np.ndarray for state in states)


@needs_compiler
def test_the_estimator_fits_there(device, mixture):
    there, here = (
        ngmca.NGMCA(4, method=ngmca.Soft(n_iter=10), device=device, n_init=1).fit_transform(mixture.Y)
        for device in ("cuda", "cpu")
    )
    np.testing.assert_allclose(there, here, atol=1e-6)


@needs_compiler
@pytest.mark.parametrize("shape", [(40, 1200), (1200, 40)])
def test_a_start_on_a_part_is_made_there(device, monkeypatch, shape):
    monkeypatch.setattr(subset, "HUGE_ENTRIES", 24_000)
    monkeypatch.setattr(subset, "PART_ENTRIES", 12_000)
    Y = simulate.sparse(*shape, 3, snr=15.0, p_S=0.2, seed=0).Y
    parts = []
    real = GpuEngine.part

    def part(engine, rows, columns):
        parts.append(real(engine, rows, columns))
        return parts[-1]

    monkeypatch.setattr(GpuEngine, "part", part)
    there, here = (
        ngmca.separate(Y, 3, domain="direct", device=device, n_init=1) for device in ("cuda", "cpu")
    )
    assert [type(one) for one in parts] == [GpuEngine]
    assert parts[0].shape[1 if shape[1] > 40 else 0] < 1200
    assert there.n_iter == here.n_iter <= 10 + reweighted_channels.ITERATIONS
    close(there, here)


@needs_compiler
def test_a_dead_source_comes_back_there(device, mixture):
    A = np.abs(mixture.A)
    A[:, 2] = 0
    engine = GpuEngine(mixture.Y, device)
    S = engine.sweep(mixture.A, engine.zero_sources(4), s_step(np.zeros(4), Options("anls"))).S
    found, kept = revive(engine, A, S)
    expected, other = revive(MemoryEngine(mixture.Y), A, np.asarray(S))
    assert isinstance(kept, Columns)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_array_equal(np.asarray(kept), other)


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", ["soft", "anls", "hard"])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(
    device, mixture, tmp_path, monkeypatch, method, dtype
):
    Y, kept = mixture.Y.astype(dtype), tmp_path / "kept.npz"
    options = {"method": method, "n_iter": 12, "seed": 0, "device": "cuda"}
    real, states = Keeper.keep, []

    def stopping(keeper, snapshot, lines, *, last):
        real(keeper, snapshot, lines, last=last)
        states.append(len(lines))
        if len(lines) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Keeper, "keep", stopping)
    with pytest.raises(KeyboardInterrupt):
        ngmca.separate(Y, 4, **records(checkpoint=kept, checkpoint_every=1, **options))
    assert states[-1] == 5
    whole, resumed = (
        ngmca.separate(Y, 4, **records(**options)),
        ngmca.separate(Y, 4, **records(resume=kept, **options)),
    )
    np.testing.assert_array_equal(resumed.S, whole.S)
    np.testing.assert_array_equal(resumed.A, whole.A)
    np.testing.assert_array_equal(resumed.history.cost, whole.history.cost)
    with pytest.raises(ValueError, match="its device was 'cuda' and is 'cpu' now"):
        ngmca.separate(Y, 4, **records(resume=kept, **options | {"device": "cpu"}))


@needs_compiler
def test_a_mapped_file_stays_one(device, mixture, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "memory_left", lambda: 4)
    np.save(tmp_path / "Y.npy", mixture.Y)
    mapped = np.load(tmp_path / "Y.npy", mmap_mode="r")
    engine = opening.open_data(mapped, device="cuda")
    assert np.shares_memory(engine._given, mapped)
    there = ngmca.separate(engine, 4, method=ngmca.Soft(n_iter=8), n_init=1)
    here = ngmca.separate(mixture.Y, 4, method=ngmca.Soft(n_iter=8), device="cuda", n_init=1)
    np.testing.assert_array_equal(there.S, here.S)


@needs_compiler
@pytest.mark.parametrize("kind", ["plain", "background", "spikes", "single precision", "levels"])
def test_the_number_of_sources_is_that_of_the_cpu(device, monkeypatch, kind):
    monkeypatch.setattr(derived, "WORTH_GPU", 0)
    mixture, given = simulate.bands(30, 800, 3, snr=25.0, seed=0), {}
    Y, rng = mixture.Y, np.random.default_rng(0)
    if kind == "background":
        Y = Y + np.linspace(0, 5, 800) ** 2 * rng.random((30, 1))
    elif kind == "spikes":
        Y[[3, 8], [200, 400]] += 50 * Y.max()
    elif kind == "single precision":
        Y = Y.astype(np.float32)
    elif kind == "levels":
        given = {"noise": np.linspace(0.01, 0.02, 30)}
    there, here = (ngmca.choose_rank(Y, seed=0, device=one, **given) for one in ("cuda", "cpu"))
    assert there.rank == here.rank == 3
    assert there.criteria == here.criteria
    assert there.advice == here.advice
    np.testing.assert_allclose(there.directions, here.directions, rtol=1e-6)


@needs_compiler
def test_the_estimator_counts_sources_there(device):
    Y = simulate.bands(30, 200, 3, snr=25.0, seed=0).Y
    assert (
        ngmca.NGMCA("auto", method=ngmca.Soft(n_iter=4), device="cuda", n_init=1).fit(Y).n_components_
        == 3
    )


class Stored:
    """An array in a store."""

    def __init__(self, Y):
        self.Y, self.shape, self.dtype = Y, Y.shape, Y.dtype

    def __getitem__(self, which):
        return self.Y[which]


def test_a_store_that_is_too_large_is_not_read_whole(device, mixture, monkeypatch):
    store = Stored(mixture.Y)
    np.testing.assert_array_equal(opening.open_data(store, device="cuda")._given, mixture.Y)
    monkeypatch.setattr(opening, "memory_left", lambda: 4)
    with pytest.raises(ValueError, match="data on a GPU are not read in blocks"):
        ngmca.separate(store, 4, device="cuda", n_init=1)


def test_a_dask_array_is_refused(device, mixture):
    array = pytest.importorskip("dask.array").from_array(mixture.Y)
    with pytest.raises(ValueError, match="a Dask array cannot be combined with device='cuda'"):
        ngmca.separate(array, 4, device="cuda", n_init=1)


def test_sources_on_disk_are_refused(device, mixture, tmp_path):
    for Y in (mixture.Y, GpuEngine(mixture.Y, device)):
        with pytest.raises(ValueError, match=r"out .* device='cuda'"):
            ngmca.separate(Y, 4, device="cuda", out=tmp_path / "S.zarr", n_init=1)
    with pytest.raises(ValueError, match="read in blocks cannot be combined with device='cuda'"):
        opening.open_data(mixture.Y, device="cuda", lazily=True)
    assert not [*tmp_path.iterdir()]


def test_a_stream_is_refused(mixture):
    with pytest.raises(ValueError, match="partial_fit cannot be combined with device='cuda'"):
        ngmca.NGMCA(4, device="cuda", n_init=1).partial_fit(mixture.Y)


REFUSED = {
    "naive": {"method": "naive"},
    "hals": {"method": "hals"},
    "robust": {"robust": True},
    "Closure": {"closure": True},
    "KnownSources": {"known_sources": np.ones((1, 5000))},
    "penalised": {"penalised": "A"},
    "threads": {"threads": 2},
    "noise='poisson'": {"noise": "poisson"},
    "noise level for each channel": {"noise": np.linspace(1, 2, 5000), "domain": "wavelet"},
    "mask": {"mask": np.eye(40, 5000, dtype=bool)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_gpu_does_not_know_is_refused_by_name(device, mixture, name):
    with pytest.raises(ValueError, match=name):
        ngmca.separate(mixture.Y, 4, **records(device="cuda", **REFUSED[name]))


def test_too_many_sources_are_refused(device):
    with pytest.raises(ValueError, match="at most 128 sources, got r=129"):
        ngmca.separate(np.random.default_rng(0).random((150, 200)), 129, device="cuda", n_init=1)


def test_an_unknown_device_is_refused(mixture):
    with pytest.raises(ValueError, match="device"):
        ngmca.separate(mixture.Y, 4, device="gpu", n_init=1)


def test_data_on_a_gpu_are_not_brought_to_memory_unasked():
    class There:
        __cuda_array_interface__ = {}  # noqa: RUF012

    with pytest.raises(ValueError, match=r"Y is on a GPU\. Use device='cuda'"):
        ngmca.separate(There(), 4, n_init=1)


def test_without_cupy_one_sentence_says_so(mixture, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "cupy":
            raise ImportError("No module named 'cupy'")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    load_cupy.cache_clear()
    on_device.open_device.cache_clear()
    with pytest.raises(GpuError, match="device='cuda' needs CuPy, which cannot be imported"):
        ngmca.separate(mixture.Y, 4, device="cuda", n_init=1)


def test_without_a_driver_one_sentence_says_so(mixture, monkeypatch):
    class Runtime:
        @staticmethod
        def getDeviceCount():
            raise RuntimeError("cudaErrorInsufficientDriver: CUDA driver version is insufficient")

    class Fake:
        __version__ = "14.0"

        class cuda:  # noqa: N801
            runtime = Runtime

    monkeypatch.setitem(sys.modules, "cupy", Fake)
    load_cupy.cache_clear()
    on_device.open_device.cache_clear()
    with pytest.raises(GpuError, match=r"finds no GPU that CuPy 14.0 can use: cudaErrorIns"):
        ngmca.separate(mixture.Y, 4, device="cuda", n_init=1)


BARE = """
import sys
for name in ("zarr", "plotly", "tomli_w", "h5py", "typer", "rich", "cupy", "matplotlib", "pandas"):
    sys.modules[name] = None  # an import of it fails
import numpy as np, ngmca
Y = np.random.default_rng(0).random((8, 20))
found = ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=5), n_init=1)
ngmca.NGMCA(2, method=ngmca.Soft(n_iter=5)).fit_transform(Y)
print(found.n_iter)
"""


def test_the_core_does_without_what_the_machine_with_the_gpu_lacks():
    told = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert told.stdout.strip() == "5"


@needs_compiler
def test_several_data_sets_with_levels_of_their_own(device):
    Y = [simulate.sparse(m, 60, 3, snr=20.0, seed=m).Y for m in (10, 7)]
    options = {"noise": [np.full(10, 0.1), np.full(7, 0.2)], "seed": 0, "n_iter": 10}
    close(*(ngmca.separate(Y, 3, **records(device=device, **options)) for device in ("cuda", "cpu")))
    with pytest.raises(ValueError, match="must have the same channels"):
        ngmca.separate([Y[0], Y[1][:, 1:]], 3, device="cuda", n_init=1)
    with pytest.raises(ValueError, match="mask cannot be combined with device='cuda'"):
        ngmca.separate(Y, 3, mask=[np.zeros_like(one, dtype=bool) for one in Y], device="cuda", n_init=1)


def test_a_pass_that_is_given_up_leaves_the_next_one_whole(monkeypatch):
    monkeypatch.setattr(on_gpu, "PIECE", 1 << 17)
    monkeypatch.setattr(on_gpu, "_transfers", HostTransfers)
    Y = np.random.default_rng(0).random((40, 20_000))
    engine = GpuEngine(Y, HostDevice(room=4_000_000))
    begun = engine._pieces(1)
    next(begun)
    begun.close()
    found = np.concatenate([np.array(piece) for _, piece in engine._pieces(1)], axis=1)
    np.testing.assert_array_equal(found, Y)


@pytest.mark.parametrize("rows", [slice(None), np.array([3, 5, 30])])
@pytest.mark.parametrize("columns", [slice(10, 90), np.array([0, 7, 4999])])
def test_picking_takes_no_more_than_is_asked_for(mixture, rows, columns):
    class Watched(np.ndarray):
        largest = 0

        def __getitem__(self, where):
            found = super().__getitem__(where)
            Watched.largest = max(Watched.largest, np.size(found))
            return found

    engine = GpuEngine(mixture.Y.view(Watched), HostDevice())
    Watched.largest = 0
    found = engine.pick(rows, columns)
    np.testing.assert_array_equal(found, mixture.Y[rows][:, columns])
    assert Watched.largest == found.size


def test_long_products_need_little_more_room_than_what_they_give():
    rng, device = np.random.default_rng(0), HostDevice()
    P, Q, out = rng.random((4, 20_000)), rng.random((20_000, 1000)), np.empty((4, 1000))
    tracemalloc.start()
    try:
        device.product(P, Q, out)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(out, P @ Q, rtol=1e-12)
    assert most < 4 * out.nbytes


@needs_compiler
def test_many_measurements_give_the_answer_of_the_cpu(device):
    Y = simulate.sparse(9000, 40, 3, snr=20.0, seed=0).Y
    options = {"seed": 0, "n_iter": 6, "domain": "direct"}
    close(*(ngmca.separate(Y, 3, **records(device=device, **options)) for device in ("cuda", "cpu")))
