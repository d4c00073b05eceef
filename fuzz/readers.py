"""Damaged files of every format: a sound data set comes out, or a `ReadError` that names the file."""

import shutil
import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

import damage
import numpy as np
import samples
from outcome import ACCEPTED, expect, refusal

from ngmca import io
from ngmca._support.isolated_process import Apart

UNSIZED = ("text, ", "folder of text")  # formats that do not say how much is in them
SIZED_TEXT = "text, gzip"


class Kept(Apart):
    """The process that reads, kept for the next case: starting one takes longer than most cases."""

    def __exit__(self, *error):
        pass


@cache
def prepare():
    """The folder with all samples, what to read in each, and what it holds."""
    folder = Path(tempfile.mkdtemp(prefix="samples-", dir=".")).absolute()
    entries = samples.write_all(folder)
    return folder, entries, {name: _read(folder / name / entry) for name, entry in entries.items()}


@cache
def _kept():
    return Kept(2e9)


def _read(path):
    with mock.patch.object(io, "Apart", return_value=_kept()):
        return io.read(path)


def case(rng, folder):
    """Read a damaged sample."""
    source, entries, wholes = prepare()
    names = list(entries)
    name = names[rng.integers(len(names))]
    shutil.copytree(source / name, folder, dirs_exist_ok=True)
    inner = name.startswith(("npz", "text, gzip")) and rng.random() < 0.5
    done = damage.damage_folder(folder, rng, (damage.inside,) if inner else damage.PLAIN)
    path = folder / entries[name]
    (folder.parent / "what.txt").write_text(f"{name}: {done}\nread({path.name})\n")
    try:
        data = _read(path.absolute())
    except io.ReadError as error:
        return refusal(str(error), path.name)
    check_dataset(data)
    _check_not_short(data, wholes[name], done, name)
    return ACCEPTED


def check_dataset(data):
    """All that can be relied on in a data set."""
    Y, axis = data.Y, data.axis
    expect(isinstance(Y, np.ndarray) and Y.ndim == 2 and Y.size, f"Y is {np.shape(Y)}")
    expect(Y.dtype in (np.float32, np.float64), f"Y is {Y.dtype}")
    expect(not np.isinf(Y).any() and not np.isnan(Y).all(), "Y is infinite, or nothing")
    if axis is not None:
        expect(axis.shape == Y.shape[1:], f"the axis is {axis.shape}, Y {Y.shape}")
        expect(axis.dtype.kind == "f", f"the axis is {axis.dtype}")
        expect(np.isfinite(axis).all(), "the axis is not finite")
    expect(len(data.row_names) in (0, len(Y)), f"{len(data.row_names)} names, Y {Y.shape}")
    expect(all(isinstance(name, str) for name in data.row_names), "a name is no text")
    shape = data.image_shape
    expect(shape is None or np.prod(shape) == len(Y), f"an image of {shape}, Y {Y.shape}")
    words = (data.axis_name, data.axis_unit, *data.notes)
    expect(all(isinstance(word, str) for word in words), "a name or note is no text")


def _check_not_short(data, whole, done, name):
    """A file that says how much is in it is not taken for whole without its end, or one of its parts."""
    lost = done[1:] in (["cut"], ["removed"])
    unsized = name.startswith(UNSIZED) and name != SIZED_TEXT
    if not lost or unsized or done[0].endswith(".hdr") or set(data.notes) - set(whole.notes):
        return
    same = data.Y.shape == whole.Y.shape and (data.Y == whole.Y).all()
    expect(same, f"{name}: silently short ({done[1]}), {data.Y.shape} instead of {whole.Y.shape}")
