"""A separation that is kept while a run goes on comes back to the bit."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

import ngmca
from ngmca.io import ReadError
from ngmca.saving.checksummed_files import load_interim, save_interim

Y = ngmca.simulate.sparse(m=6, n=50, r=2, snr=20, seed=0).Y


def assert_same(one, other):
    """The same values, types and order in memory, however deep."""
    other = other.item() if isinstance(other, np.generic) else other
    assert type(one) is type(other)
    if is_dataclass(one):
        for part in fields(one):
            assert_same(getattr(one, part.name), getattr(other, part.name))
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        assert one.flags.c_contiguous == other.flags.c_contiguous  # sums in another order differ
        assert one.flags.f_contiguous == other.flags.f_contiguous
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_same(*pair)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        assert_same(tuple(one.values()), tuple(other.values()))
    else:
        assert one == other or (one != one and other != other)


def with_background_and_spikes():
    hills = np.outer(np.linspace(1, 2, 6), ngmca.backgrounds.polynomial(50)[2]) * Y.max()
    data = Y + hills
    data[4, 30] += 50 * Y.max()
    return ngmca.separate(
        [data[:3], data[3:]],
        2,
        method=ngmca.Soft(n_iter=8),
        constraints=[ngmca.Baseline("polynomial")],
        robust=True,
        n_init=1,
    )


KINDS = {
    "soft": lambda: ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=8), n_init=1),
    "hals": lambda: ngmca.separate(
        Y, 2, method=ngmca.Rival("hals", n_iter=8), n_init=1
    ),  # NaN, order in memory
    "single precision": lambda: ngmca.separate(
        Y.astype(np.float32), 2, method=ngmca.Soft(n_iter=8), n_init=1
    ),
    "several starts": lambda: ngmca.separate(Y, 2, method=ngmca.Anls(n_iter=50), n_init=3),
    "huge": lambda: ngmca.separate(
        Y * 2.0**600, 2, method=ngmca.Soft(n_iter=8), n_init=1
    ),  # infinite costs
    "background and spikes": with_background_and_spikes,
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_back_to_the_bit(tmp_path, kind):
    found = KINDS[kind]()
    if kind == "several starts":
        assert len(found.restarts) == 3
        found = replace(found, others=_spread(found))
    if kind == "background and spikes":
        assert found.background is not None
        assert len(found.outliers)
        assert len(found.parts) == 2
    save_interim(tmp_path / "kept.npz", found)
    assert_same(load_interim(tmp_path / "kept.npz"), found)


def _spread(found):
    return ngmca.result.Others(1, found.S, 2 * found.S, found.A, 2 * found.A)


def test_a_second_one_replaces_the_first(tmp_path):
    path = tmp_path / "kept.npz"
    first, second = (ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=n), n_init=1) for n in (3, 5))
    save_interim(path, first)
    save_interim(path, second)
    assert_same(load_interim(path), second)
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_file_is_not_read(tmp_path):
    path = tmp_path / "kept.npz"
    save_interim(path, ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=3), n_init=1))
    good = path.read_bytes()
    rng = np.random.default_rng(0)
    for k in range(60):
        damaged, place = bytearray(good), int(rng.integers(len(good)))
        if k % 10:
            damaged[place] ^= 1 << int(rng.integers(8))
        else:
            del damaged[place:]
        path.write_bytes(damaged)
        with pytest.raises(ReadError, match="damaged"):
            load_interim(path)


def test_a_file_of_another_kind_is_not_read(tmp_path):
    path = tmp_path / "kept.npz"
    found = ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=3), n_init=1)
    ngmca.save(path, found)  # it has a checksum, too
    with pytest.raises(ReadError, match="not a separation that this version of ngmca can read"):
        load_interim(path)
    with pytest.raises(ReadError, match="not a separation that this version of ngmca can read"):
        load_interim(tmp_path / "none.npz")
