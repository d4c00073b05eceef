"""HDF5 whose numbers lie in the file as they are: the other process looks at them, this one reads."""

import h5py
import numpy as np
import pytest

from ngmca._support.isolated_process import IsolatedProcess
from ngmca.io import ReadError, read
from ngmca.io import isolated_reading as opening
from ngmca.io.isolated_reading import read_here

Y = np.abs(np.random.default_rng(0).standard_normal((5, 40)))
CUBE = np.abs(np.random.default_rng(1).standard_normal((4, 3, 30)))
MATLAB = {"MATLAB_class": np.bytes_("double")}


def written(path, array, attributes=(), block=0, **how):
    with h5py.File(path, "w", userblock_size=block) as file:
        file.create_dataset("before", data=np.arange(7.0))
        file.create_dataset("data", data=array, **how).attrs.update(attributes)
    return path


def sent(path, **options):
    """What the other process answers for the data."""
    with IsolatedProcess() as apart:
        return apart.call(
            "ngmca.io.isolated_reading:read_as_plain", str(path), options, "HDF5", seconds=60
        )["Y"]


def is_map(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return isinstance(array, np.memmap)


@pytest.mark.parametrize(
    ("stored", "how", "options", "expected"),
    [
        (Y, {}, {}, Y),
        (Y.astype(np.float32), {}, {}, Y.astype(np.float32)),
        (Y, {"block": 1024}, {}, Y),
        (Y.T, {"attributes": MATLAB}, {}, Y),
        (Y.T, {}, {"transpose": True}, Y),
        (CUBE, {}, {}, CUBE.reshape(12, 30)),
        (np.moveaxis(CUBE, -1, 0), {}, {"transpose": True}, CUBE.reshape(12, 30)),
    ],
    ids=["table", "single", "user block", "MATLAB", "transposed", "cube", "channels first"],
)
def test_only_the_place_of_the_numbers_comes_from_the_other_process(
    tmp_path, stored, how, options, expected
):
    path = written(tmp_path / "d.h5", stored, **how)
    assert isinstance(sent(path, **options), dict)
    for data in (read(path, **options), read_here(path, options)):
        np.testing.assert_array_equal(data.Y, expected)
        assert data.Y.dtype == expected.dtype
        assert data.Y.flags.writeable
        assert not is_map(data.Y)  # or a file that is cut later would crash us


@pytest.mark.parametrize(
    ("stored", "how"),
    [
        (Y, {"chunks": (2, 10)}),
        (Y, {"compression": "gzip"}),
        (Y.astype(">f8"), {}),
        (np.arange(200, dtype=np.int16).reshape(5, 40), {}),
    ],
    ids=["chunks", "packed", "big-endian", "integers"],
)
def test_other_numbers_come_themselves(tmp_path, stored, how):
    path = written(tmp_path / "d.h5", stored, **how)
    got = sent(path)
    assert isinstance(got, np.ndarray)
    for values in (got, read(path).Y):
        np.testing.assert_array_equal(values, stored)


def test_numbers_that_are_not_finite_are_named(tmp_path):
    holed = Y.copy()
    holed[2, 7] = np.inf
    with pytest.raises(ReadError, match=r"data in .*d\.h5 has infinity at index \(2, 7\)"):
        read(written(tmp_path / "d.h5", holed))


def test_a_file_that_is_cut_between_the_look_and_the_reading_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path / "d.h5", Y)
    call = opening.call_isolated

    def cut_after(*arguments, **options):
        answer = call(*arguments, **options)
        path.write_bytes(path.read_bytes()[:-400])
        return answer

    monkeypatch.setattr(opening, "call_isolated", cut_after)
    with pytest.raises(ReadError, match=r"d\.h5 became shorter while it was read"):
        read(path)


def test_no_memory_for_the_numbers_is_one_line(tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(np, "fromfile", full)
    with pytest.raises(ReadError, match=r"d\.h5 needs more memory than this machine has"):
        read(written(tmp_path / "d.h5", Y))


def test_a_map_of_another_file_than_the_one_that_was_named_is_sent_whole(tmp_path):
    """As of the data beside a header: they are not looked for in the header."""
    Y.tofile(tmp_path / "d.raw")
    (tmp_path / "d.hdr").write_bytes(b"x" * Y.nbytes)
    mapped = np.memmap(tmp_path / "d.raw", float, "r", 0, Y.shape)
    assert opening._place(mapped, tmp_path / "d.hdr") is None
    assert opening._place(mapped, tmp_path / "d.raw") is not None
