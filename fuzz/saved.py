"""Damaged results and checkpoints: loading gives a `ReadError`, or the numbers that were saved."""

import shutil
import tempfile
from functools import cache, partial
from pathlib import Path

import damage
import numpy as np
from outcome import ACCEPTED, Failure, read_error

import ngmca
from ngmca.io import Dataset, ReadError
from ngmca.saving import checksummed_files as interim
from ngmca.saving import results
from ngmca.saving.result_folder import CHECKPOINT, RESULT
from ngmca.task import checkpoints

DAMAGE = (damage.cut, damage.flip, damage.overwrite, damage.zero, damage.insert, damage.leave_out,
          damage.duplicate, damage.swap, damage.word)  # fmt: skip
INTERIM = "separated.npz"


@cache
def prepare_results():
    """Return a folder with a result, and one with a posterior."""
    folder, Y, plain = _folder(), _data(), _separated()
    sampled = ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=8), seed=0, posterior=True)
    data = Dataset(Y, np.linspace(9, 1, 50), "chemical shift", "ppm", tuple("abcdef"), notes=("read",))
    results.save(folder / "plain.nc", plain, data)
    results.save(folder / "sampled.nc", sampled, data, instrument="400 MHz")
    return folder


@cache
def prepare_checkpoints():
    """Return a folder with an interim separation and a checkpoint."""
    folder = _folder()
    interim.save_interim(folder / INTERIM, _separated())
    ngmca.separate(_data(), 2, method=ngmca.Soft(n_iter=8), n_init=1, checkpoint=folder / CHECKPOINT)
    return folder


def _folder():
    return Path(tempfile.mkdtemp(prefix="saved-", dir=".")).absolute()


def _data():
    return ngmca.simulate.sparse(m=6, n=50, r=2, snr=20, seed=0).Y


def _separated():
    return ngmca.separate(_data(), 2, method=ngmca.Soft(n_iter=8), seed=0, n_init=2)


def results_case(rng, folder):
    """Load a damaged result, alone or in a folder."""
    source = prepare_results() / str(rng.choice(["plain.nc", "sampled.nc"]))
    path = folder / RESULT
    shutil.copy(source, path)
    done = damage.damage_file(path, rng, DAMAGE)
    (folder.parent / "what.txt").write_text(f"{source.name}: {done}\n")
    loads = {"load": partial(ngmca.load, with_data=True), "load_run": results.load_run}
    return _compare(loads[str(rng.choice(sorted(loads)))], source, path)


def checkpoints_case(rng, folder):
    """Load a damaged checkpoint, or a damaged interim separation."""
    name = str(rng.choice([CHECKPOINT, INTERIM]))
    shutil.copy(prepare_checkpoints() / name, folder)
    done = damage.damage_file(folder / name, rng, DAMAGE)
    (folder.parent / "what.txt").write_text(f"{name}: {done}\n")
    load = interim.load_interim if name == INTERIM else checkpoints.read
    return _compare(load, prepare_checkpoints() / name, folder / name)


def _compare(load, undamaged, path):
    """Load a damaged path; what it gives must equal what the undamaged one gives."""
    try:
        found = load(path)
    except ReadError as error:
        return read_error(str(error), str(path))
    for name in _different(load(undamaged), found):
        raise Failure(f"{name} changed without an error")
    return ACCEPTED


def _different(one, other, name="it"):
    """Yield the names of the parts in which two records differ."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        same = np.shape(one) == np.shape(other) and np.array_equal(one, other, equal_nan=_floats(one))
    elif hasattr(one, "__dataclass_fields__"):
        for key in one.__dataclass_fields__:
            yield from _different(getattr(one, key), getattr(other, key), f"{name}.{key}")
        return
    elif isinstance(one, dict) and isinstance(other, dict):
        yield from _different(list(one), list(other), f"{name}'s names")
        for key in one:
            yield from _different(one[key], other[key], f"{name}.{key}")
        return
    elif isinstance(one, tuple | list) and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            yield from _different(*pair, f"{name}[{i}]")
        return
    else:
        same = one == other or (one != one and other != other)
    if not same:
        yield name


def _floats(array):
    return np.asarray(array).dtype.kind == "f"
