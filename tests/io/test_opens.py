"""A file is opened once to be read and once for its hash, and its format is found once."""

import builtins
import io as streams
from pathlib import Path

import h5py
import numpy as np
import pytest

from ngmca import io
from ngmca.io import detect, isolated_reading

Y = np.random.default_rng(0).random((4, 60))


def text(path):
    io.write_table(path, {"ppm": np.linspace(9, 1, 60)} | {f"t{i}": row for i, row in enumerate(Y)})


def hdf5(path):
    with h5py.File(path, "w") as file:
        file["data"] = Y


WRITERS = {
    "d.csv": text,
    "d.npy": lambda path: np.save(path, Y),
    "d.npz": lambda path: np.savez(path, data=Y),
    "d.h5": hdf5,
}


@pytest.fixture
def opened(monkeypatch):
    """Names of the files that this process opens, one for each time."""
    found = []

    def counted(whole):
        def count(file, *args, **options):
            if isinstance(file, str | Path):
                found.append(Path(file).name)
            return whole(file, *args, **options)

        return count

    monkeypatch.setattr(builtins, "open", counted(builtins.open))
    monkeypatch.setattr(streams, "open", counted(streams.open))
    return found


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("large", ["read", "leave"])
def test_reading_and_hashing_open_a_file_twice(tmp_path, monkeypatch, opened, name, large):
    sniffed = []
    find = detect.format_of
    count = lambda *arguments: sniffed.append(arguments[0]) or find(*arguments)  # noqa: E731
    for module in (detect, isolated_reading):
        monkeypatch.setattr(module, "format_of", count)
    path = tmp_path / name
    WRITERS[name](path)
    opened.clear()
    data = io.read(path, large=large)
    io.fingerprint([path])
    np.testing.assert_array_equal(data.Y, Y)
    assert opened.count(name) == 2
    assert len(sniffed) == 1
