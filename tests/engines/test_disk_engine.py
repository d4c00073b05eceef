"""Data on disk: the same answer, to the bit, wherever they lie and however they are cut."""

import h5py
import numpy as np
import pytest
import zarr
from task_options import records

import ngmca
from ngmca.engines import open_data, opening
from ngmca.engines import sliced_array as source
from ngmca.engines.blocks import checksum
from ngmca.engines.disk import DiskEngine
from ngmca.engines.memory import MemoryEngine

M, N, R = 200, 3000, 3


def measured(shape=(M, N), r=R, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    m, n = shape
    S = rng.exponential(size=(r, n)) * (rng.random((r, n)) < 0.2)
    return (rng.random((m, r)) @ S + 0.05 * rng.standard_normal(shape)).astype(dtype)


class Sliced:
    """No array: numbers that slicing makes."""

    def __init__(self, Y):
        self._Y, self.shape, self.dtype = Y, Y.shape, Y.dtype
        self.largest = 0

    def __getitem__(self, where):
        found = self._Y[where]
        self.largest = max(self.largest, found.size)
        return found


def stored(Y, kind, folder, chunks=None):
    if kind == "memmap":
        np.save(folder / "Y.npy", Y)
        return np.load(folder / "Y.npy", mmap_mode="r")
    if kind == "zarr":
        found = zarr.create_array(
            folder / "Y.zarr", shape=Y.shape, dtype=Y.dtype, chunks=chunks or Y.shape
        )
        found[...] = Y
        return found
    if kind == "hdf5":
        return h5py.File(folder / "Y.h5", "w").create_dataset("Y", data=Y, chunks=chunks)
    return Sliced(Y)


@pytest.fixture(autouse=True)
def _small_slabs(monkeypatch):
    monkeypatch.setattr(source, "SLAB", 1 << 18)


CUTS = [
    ("memmap", None),
    ("sliced", None),
    ("zarr", (M, 170)),
    ("zarr", (70, 1111)),
    ("hdf5", None),
    ("hdf5", (M, 1)),  # single columns
    ("hdf5", (3, 500)),  # fewer rows than a measurement has columns
]


def from_one_start(data):
    start = np.random.default_rng(1).random((M, R)), np.zeros((R, N))
    return ngmca.separate(data, R, method=ngmca.Soft(n_iter=20), start=start, domain="direct", n_init=1)


@pytest.fixture(scope="module")
def in_memory():
    return from_one_start(measured())


@pytest.mark.parametrize(("kind", "chunks"), CUTS)
def test_the_answer_is_that_in_memory_to_the_bit(kind, chunks, tmp_path, in_memory):
    engine = open_data(stored(measured(), kind, tmp_path, chunks), lazily=True)
    assert isinstance(engine, DiskEngine)
    found, expected = from_one_start(engine), in_memory
    for name in ("A", "S", "noise", "lam"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    np.testing.assert_array_equal(found.history.cost, expected.history.cost)


OPTIONS = [
    {},
    {"method": "hard", "n_iter": 10},
    {"method": "naive", "n_iter": 10},
    {"method": "anls", "n_iter": 10},
    {"domain": "wavelet", "n_iter": 10},
    {"penalised": "A", "n_iter": 10, "domain": "direct"},
    {"noise": np.linspace(0.04, 0.08, 200), "n_iter": 10, "domain": "direct"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_method_with_a_guess_of_its_own(options, dtype):
    Y = measured((200, 2500), dtype=dtype)
    expected = ngmca.separate(Y, R, **records(seed=3, **options))
    found = ngmca.separate(open_data(Sliced(Y), lazily=True, threads=2), R, **records(seed=3, **options))
    np.testing.assert_array_equal(found.A, expected.A)
    np.testing.assert_array_equal(found.S, expected.S)
    np.testing.assert_array_equal(found.noise, expected.noise)


@pytest.mark.parametrize("shape", [(M, N), (30_000, 40)])
def test_dead_sources_come_back_as_in_memory_without_reading_all_at_once(shape, monkeypatch):
    monkeypatch.setattr("ngmca.engines.shared_answers.CANDIDATES", 12 * shape[0])
    monkeypatch.setattr("ngmca.engines.disk.KEPT_BYTES", 1)
    monkeypatch.setattr("ngmca.engines.disk.BLOCK_ENTRIES_READ", 1 << 18)
    Y = measured(shape)
    start = np.random.default_rng(1).random((shape[0], R)), np.zeros((R, shape[1]))
    start[0][:, 1] = 0
    options = {"start": start, "n_iter": 4, "domain": "direct"}
    expected, data = ngmca.separate(Y, R, **records(**options)), Sliced(Y)
    found = ngmca.separate(open_data(data, lazily=True), R, **records(**options))
    assert expected.S.any(axis=1).all()
    np.testing.assert_array_equal(found.S, expected.S)
    np.testing.assert_array_equal(found.A, expected.A)
    assert data.largest <= Y.size / 2 or shape == (M, N)


class Counted(Sliced):
    """The same, in chunks that are unpacked whole, which are counted."""

    def __init__(self, Y, chunks):
        super().__init__(Y)
        self.chunks, self.unpacked = chunks, 0

    def __getitem__(self, where):
        for part, chunk, size in zip(where, self.chunks, self.shape, strict=True):
            first, last, _ = part.indices(size)
            where_in = len(range(first // chunk, -(-last // chunk)))
            self.unpacked += 0 if part is where[0] else self._high * where_in
            self._high = where_in
        return super().__getitem__(where)


@pytest.mark.parametrize(("shape", "chunks"), [((20_000, 60), (4000, 60)), ((400, 9000), (400, 1000))])
def test_the_final_noise_takes_a_few_passes(shape, chunks, monkeypatch):
    monkeypatch.setattr("ngmca.engines.disk.KEPT_BYTES", 1 << 18)
    monkeypatch.setattr("ngmca.engines.shared_answers.NOISE_COLUMNS", 64)
    for room in ("blockwise", "shared_answers"):
        monkeypatch.setattr(f"ngmca.engines.{room}.BLOCK_BYTES", 1 << 12)
    Y = measured(shape)
    data, A, S = Counted(Y, chunks), np.ones((shape[0], 1)), np.zeros((1, shape[1]))
    engine = open_data(data, lazily=True)
    data.unpacked = 0
    levels = engine.noise(A, S, final=True)
    whole = shape[0] * shape[1] / (chunks[0] * chunks[1])
    assert data.unpacked <= 6 * whole
    np.testing.assert_array_equal(levels, MemoryEngine(Y).noise(A, S, final=True))


@pytest.mark.parametrize("shape", [(4000, 60), (1, 400), (3, 1), (2500, 2500)])
def test_tall_and_small_data_too(shape):
    Y, r = measured(shape), min(*shape, 3)
    options = {"seed": 0, "n_iter": 6, "domain": "direct"}
    expected = ngmca.separate(Y, r, **records(**options))
    found = ngmca.separate(open_data(Sliced(Y), lazily=True), r, **records(**options))
    np.testing.assert_array_equal(found.S, expected.S)
    np.testing.assert_array_equal(found.A, expected.A)
    np.testing.assert_array_equal(found.noise, expected.noise)


def test_no_more_than_a_slab_is_read_at_once():
    Y = Sliced(measured())
    ngmca.separate(open_data(Y, lazily=True), R, method=ngmca.Soft(n_iter=3), domain="direct", n_init=1)
    assert Y.largest * 8 <= 2 * source.SLAB


@pytest.mark.parametrize("unit", [1e-200, 1e250])
def test_units_are_those_in_memory(unit):
    Y = measured((30, 400)) * unit
    engine = open_data(Sliced(Y), lazily=True)
    assert engine.unit == open_data(Y).unit != 1
    found = ngmca.separate(engine, R, method=ngmca.Soft(n_iter=5), domain="direct", n_init=1)
    np.testing.assert_array_equal(
        found.S, ngmca.separate(Y, R, method=ngmca.Soft(n_iter=5), domain="direct", n_init=1).S
    )


def test_integers_are_floats():
    Y = np.round(100 * measured((30, 400))).astype(np.int16)
    found = ngmca.separate(
        open_data(Sliced(Y), lazily=True), R, method=ngmca.Soft(n_iter=5), domain="direct", n_init=1
    )
    np.testing.assert_array_equal(
        found.S, ngmca.separate(Y, R, method=ngmca.Soft(n_iter=5), domain="direct", n_init=1).S
    )


def test_sources_in_a_file_without_a_name(tmp_path):
    Y = measured()
    engine = open_data(Y, scratch=tmp_path)
    found = ngmca.separate(engine, R, method=ngmca.Soft(n_iter=10), domain="direct", n_init=1)
    assert isinstance(found.S, np.memmap)
    assert list(tmp_path.iterdir()) == []
    np.testing.assert_array_equal(
        found.S, ngmca.separate(Y, R, method=ngmca.Soft(n_iter=10), domain="direct", n_init=1).S
    )


def test_an_entry_that_is_no_number_is_named_with_its_chunk(tmp_path):
    Y = measured()
    Y[17, 1234] = np.nan
    with pytest.raises(ValueError, match=r"NaN, first at row 17, column 1234 \(chunk 0\.12\)"):
        open_data(stored(Y, "zarr", tmp_path, (M, 100)), lazily=True)


def test_an_error_without_a_text_is_named_by_its_kind():
    class Silent:
        shape, dtype, ndim = (M, N), np.dtype(float), 2

        def __getitem__(self, where):
            raise KeyError

    with pytest.raises(OSError, match=r"cannot be read at .*: KeyError\. Its file is damaged"):
        open_data(Silent(), lazily=True)


def test_a_chunk_that_is_cut_off_is_named(tmp_path):
    Y = stored(measured(), "zarr", tmp_path, (M, 100))
    chunk = tmp_path / "Y.zarr" / "c" / "0" / "7"
    chunk.write_bytes(chunk.read_bytes()[:50])
    with pytest.raises(OSError, match=r"cannot be read at rows 0 to 199, columns .* \(chunks? 0\.7"):
        open_data(Y, lazily=True)


def test_data_that_change_on_the_way_are_refused():
    Y = Sliced(measured())
    engine = open_data(Y, lazily=True)
    Y._Y[5, 5] = np.nan
    with pytest.raises(ValueError, match="changed since it was opened"):
        ngmca.separate(engine, R, method=ngmca.Soft(n_iter=3), n_init=1)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "hals"},
        {"robust": True},
        {"noise": "poisson"},
        {"noise": np.linspace(1, 2, N)},
        {"noise": np.random.default_rng(0).uniform(1, 2, (M, N))},
        {"posterior": True, "domain": "direct"},
    ],
    ids=str,
)
def test_what_needs_all_data_at_once_is_refused(options):
    engine = open_data(Sliced(measured()), lazily=True)
    with pytest.raises(ValueError, match=r"all data (must be )?in memory"):
        ngmca.separate(engine, R, **records(n_iter=2, **options))


def test_only_large_data_are_left_where_they_are(monkeypatch):
    Y = Sliced(measured())
    assert type(open_data(Y)) is MemoryEngine
    monkeypatch.setattr(opening, "memory_left", lambda: 4 * (M * N * 8 - 1))
    assert isinstance(open_data(Y), DiskEngine)
    assert type(open_data(Y._Y)) is MemoryEngine  # an array is in memory already
    with pytest.raises(ValueError, match="mask needs all data"):
        open_data(Y, mask=np.zeros((M, N), bool))


def test_other_numbers_on_the_way_are_noticed():
    class Growing(Sliced):
        def __getitem__(self, where):
            return super().__getitem__(where) * self.factor

    data = Growing(measured())
    data.factor = 1.0
    engine = open_data(data, lazily=True)
    data.factor = 1.5
    with pytest.raises(ValueError, match="has changed since it was opened: it now has other numbers"):
        ngmca.separate(engine, R, method=ngmca.Soft(n_iter=5), domain="direct", n_init=1)


def test_slices_that_are_too_short_are_noticed():
    class Short(Sliced):
        def __getitem__(self, where):
            return super().__getitem__(where)[:, :-1]

    with pytest.raises(OSError, match="less than it claims"):
        open_data(Short(measured()), lazily=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_checksum_does_not_depend_on_where_data_are_cut(dtype):
    Y = measured((50, 700), dtype=dtype)
    engine = open_data(Sliced(Y), lazily=True)
    assert engine.fingerprint() == MemoryEngine(Y).fingerprint()
    places = [(i, j) for i in range(0, 50, 7) for j in range(0, 700, 90)]
    parts = sum(checksum(Y[i : i + 7, j : j + 90], i, j) for i, j in places)
    assert parts % 2**64 == checksum(Y)
    for other in (
        np.where(np.arange(700) == 17, -Y, Y),
        Y[::-1],
        Y[:, ::-1],
        -Y,
        Y * dtype(1 + 1e-6),
        np.roll(Y, 1),
    ):
        assert checksum(np.ascontiguousarray(other)) != checksum(Y)


def test_masked_entries_are_missing_or_refused():
    Y = measured((40, 300))
    masked = np.ma.array(np.where(Y > 1, 1e6, Y), mask=Y > 1)
    options = {"n_iter": 5, "seed": 0, "domain": "direct"}
    found = ngmca.separate(Sliced(masked), R, **records(**options))
    np.testing.assert_array_equal(found.S, ngmca.separate(masked, R, **records(**options)).S)
    with pytest.raises(ValueError, match="masked entries at rows"):
        open_data(Sliced(masked), lazily=True)
    with pytest.raises(ValueError, match="mask needs all data"):
        open_data(masked, lazily=True)
