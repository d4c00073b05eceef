"""Damaged files of every format: a valid data set, or a `ReadError` that names the file."""

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

import damage
import numpy as np
import samples
from outcome import ACCEPTED, expect, read_error

from ngmca import io
from ngmca._support.isolated_process import IsolatedProcess
from ngmca.io import reading

FORMATS_WITHOUT_SIZE = ("text, ", "folder of text")  # a cut file looks complete
TEXT_WITH_SIZE = "text, gzip"


class ReusedProcess(IsolatedProcess):
    """The process that reads, reused for the next case: starting one takes longer than most cases."""

    def __exit__(self, *error):
        pass


@cache
def prepare():
    """Return the folder with all samples, the file to read in each, and the data in it."""
    folder = Path(tempfile.mkdtemp(prefix="samples-", dir=".")).absolute()
    entries = samples.write_all(folder)
    limit = {"NGMCA_READ_SECONDS": "600"}  # other processes may compile at the same time
    with mock.patch.dict(os.environ, limit):
        whole = {name: read(folder / name / entry) for name, entry in entries.items()}
    return folder, entries, whole


@cache
def _process():
    return ReusedProcess(2e9)


def read(path, **options):
    """Read a file in the process that is kept for all cases."""
    with mock.patch.object(reading, "IsolatedProcess", return_value=_process()):
        return io.read(path, **options)


def case(rng, folder):
    """Read a damaged sample."""
    source, entries, undamaged = prepare()
    names = list(entries)
    name = names[rng.integers(len(names))]
    shutil.copytree(source / name, folder, dirs_exist_ok=True)
    inner = name.startswith(("npz", "text, gzip")) and rng.random() < 0.5
    done = damage.damage_folder(folder, rng, (damage.inside,) if inner else damage.PLAIN)
    path = folder / entries[name]
    (folder.parent / "what.txt").write_text(f"{name}: {done}\nread({path.name})\n")
    try:
        data = read(path.absolute())
    except io.ReadError as error:
        return read_error(str(error), path.name)
    check_dataset(data)
    _check_not_short(data, undamaged[name], done, name)
    return ACCEPTED


def check_dataset(data):
    """Check what holds for every data set."""
    Y, axis = data.Y, data.axis
    expect(isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.size, f"Y is {np.shape(Y)}")
    expect(Y.dtype in (np.float32, np.float64), f"Y is {Y.dtype}")
    expect(not np.isinf(Y).any() and not np.isnan(Y).all(), "Y has infinite or only missing entries")
    if axis is not None:
        expect(axis.shape == Y.shape[1:], f"the axis is {axis.shape}, Y {Y.shape}")
        expect(axis.dtype.kind == "f", f"the axis is {axis.dtype}")
        expect(np.isfinite(axis).all(), "the axis is not finite")
    expect(len(data.row_names) in (0, len(Y)), f"{len(data.row_names)} names, Y {Y.shape}")
    expect(all(isinstance(name, str) for name in data.row_names), "a name is not text")
    shape = data.image_shape
    expect(shape is None or np.prod(shape) == len(Y), f"an image of {shape}, Y {Y.shape}")
    words = (data.axis_name, data.axis_unit, *data.notes)
    expect(all(isinstance(word, str) for word in words), "a name or note is not text")


def _check_not_short(data, undamaged, done, name):
    """Check that a file that declares its size is not read without its end or one of its parts."""
    lost = done[1:] in (["cut"], ["removed"])
    unsized = name.startswith(FORMATS_WITHOUT_SIZE) and name != TEXT_WITH_SIZE
    if not lost or unsized or done[0].endswith(".hdr") or set(data.notes) - set(undamaged.notes):
        return
    same = data.Y.shape == undamaged.Y.shape and (data.Y == undamaged.Y).all()
    expect(
        same,
        f"{name}: shorter without an error ({done[1]}), {data.Y.shape}",
    )
