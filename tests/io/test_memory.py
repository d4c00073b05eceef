"""Files that ask for more memory than there is are refused with the numbers, before they get it."""

import gzip
import tracemalloc

import numpy as np
import pytest

from ngmca.io import ReadError, read, sizes, text

TABLES = {
    "short cells": "\n".join([",".join(["7"] * 1000)] * 1000),
    "long cells": "\n".join([",".join(["1.2345678901234567e-05"] * 1000)] * 1000),
    "many lines": "1.2345,6.7891\n" * 100_000,
    "white space": "\n".join(["12 34 56 78"] * 100_000),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_memory_that_text_takes_is_foreseen(tmp_path, name):
    (tmp_path / "t.csv").write_text(TABLES[name])
    tracemalloc.start()
    read(tmp_path / "t.csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * peak < text.memory_for(TABLES[name].encode()) < 3 * peak


def test_little_gzip_that_holds_much_is_not_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(b"0,0,0,0\n" * (1 << 17))  # 1 MB
    assert path.stat().st_size < 3e6
    monkeypatch.setattr(text, "memory_left", lambda: 5e8)
    tracemalloc.start()
    with pytest.raises(ReadError, match=r"16\.8 MB of text takes about .* and 500 MB of memory is left"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e8


def test_claims_are_held_against_what_is_left(tmp_path, monkeypatch):
    np.save(tmp_path / "d.npy", np.zeros((100, 100)))
    np.savez_compressed(tmp_path / "d.npz", **{f"a{i}": np.zeros((50, 100)) for i in range(4)})
    for left, names in (
        (170_000.0, ()),
        (150_000.0, ("d.npy", "d.npz")),
    ):  # 80 kB are claimed, 160 the four
        monkeypatch.setattr(sizes, "memory_left", lambda left=left: left)
        for name in names:
            with pytest.raises(
                ReadError, match="reading takes twice as much, and 150 kB of memory is left"
            ):
                read(tmp_path / name, dataset="a0")
        if not names:
            assert read(tmp_path / "d.npy").Y.shape == (100, 100)


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    files = [tmp_path / name for name in ("max", "current", "stat")]
    monkeypatch.setattr(sizes, "GROUPS", (files,))
    without = sizes.memory_left()
    files[1].write_text("300\n")
    files[2].write_text("anon 100\ninactive_file 50\n")
    files[0].write_text("1000\n")
    assert sizes.memory_left() == 750
    files[0].write_text("max\n")
    assert sizes.memory_left() == pytest.approx(without, rel=0.5)
    assert 0 < without <= sizes.memory_bytes()


def test_one_absurd_mass_does_not_make_an_absurd_table(tmp_path):
    pytest.importorskip("pyimzml", reason="needs the extra io")
    from pyimzml.ImzMLWriter import ImzMLWriter

    with ImzMLWriter(str(tmp_path / "d"), mode="processed") as writer:
        writer.addSpectrum([100.01, 1e11], [1.0, 2.0], (1, 1, 1))
        writer.addSpectrum([100.02, 180.0], [4.0, 8.0], (2, 1, 1))
    data = read(tmp_path / "d.imzML")
    np.testing.assert_allclose(data.Y, [[1, 0, 2], [4, 8, 0]])
    np.testing.assert_allclose(data.axis, [100.05, 180.05, 1e11], atol=0.1, rtol=1e-9)
    with ImzMLWriter(str(tmp_path / "n"), mode="processed") as writer:
        writer.addSpectrum([100.01, np.nan], [1.0, 2.0], (1, 1, 1))
        writer.addSpectrum([100.02, 180.0], [4.0, 8.0], (2, 1, 1))
    with pytest.raises(ReadError, match="missing or infinite values"):
        read(tmp_path / "n.imzML")
