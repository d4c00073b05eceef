"""Spectra in random layouts of tables and containers: read right, or a `ReadError` about the file."""

import csv

import h5py
import numpy as np
import scipy.io
from outcome import ACCEPTED, Failure, expect, read_error
from readers import check_dataset, read

from ngmca import io

AXES = (
    lambda n, rng: np.arange(n) * float(rng.choice([1, 2, 4])) + 400,
    lambda n, rng: 4000 - 4.0 * np.arange(n),
    lambda n, rng: np.round(np.sort(rng.uniform(200, 1800, n)), 2) + 0.01 * np.arange(n),
    lambda n, rng: np.round(np.linspace(10, 0.5, n), 4),
)
LABELS = ("none", "names", "times", "counter")
CONTAINERS = ("npy", "npz", "mat", "h5")


def prepare():
    """Nothing is needed beforehand."""


def case(rng, folder):
    """Write random spectra in a random layout, and read them."""
    n, m = int(rng.integers(24, 160)), int(rng.integers(1, 30))
    axis = AXES[rng.integers(len(AXES))](n, rng)
    Y = _bands(m, axis, rng)
    writer = (_table, _container, _cube)[rng.choice(3, p=[0.45, 0.35, 0.2])]
    path = writer(folder, Y, axis, rng)
    options = _options(rng) if rng.random() < 0.25 else {}
    (folder.parent / "what.txt").write_text(f"{path.name}: {m} x {n} {options}\n")
    try:
        data = read(path.absolute(), **options)
    except io.ReadError as error:
        return read_error(str(error), path.name)
    check_dataset(data)
    if options:  # they may ask for another layout than the file has
        return ACCEPTED
    if any("as many rows as columns" in note for note in data.notes):
        return ACCEPTED
    same = data.Y.shape == Y.shape and np.allclose(data.Y, Y, rtol=1e-4, atol=1e-4, equal_nan=True)
    expect(same, f"{path.name}: {Y.shape} read as {data}: {'; '.join(map(str, data.notes))}")
    if data.axis is not None and not np.allclose(data.axis, axis, rtol=1e-4):
        raise Failure(f"{path.name}: axis {axis[:2]} ... read as {data}")
    return ACCEPTED


def _options(rng):
    """Return one to three options of `read`, which may contradict the file and each other."""
    drawn = {
        "axis": str(rng.choice(["first-column", "first-row", "none", "x"])),
        "transpose": bool(rng.random() < 0.5),
        "header": int(rng.integers(0, 4)),
        "skip": int(rng.choice([0, 1, 2, 500])),
        "columns": str(rng.choice(["1", "2-5", "9999", "a,b", "0", "5-2", ""])),
        "axes": str(rng.choice(["time,channel", "y,x,channel", "channel,channel", "x", ",,"])),
        "axis_name": str(rng.choice(["energy", "", "time (h)"])),
        "axis_unit": str(rng.choice(["eV", "cm-1", ""])),
        "dataset": str(rng.choice(["data", "scan/data", "wl", "none"])),
        "missing": str(rng.choice(["none", "0", "-999"])),
    }
    names = rng.choice(sorted(drawn), size=int(rng.integers(1, 4)), replace=False)
    return {str(name): drawn[str(name)] for name in names}


def _bands(m, axis, rng):
    width = np.ptp(axis) * rng.uniform(0.01, 0.06)
    centres = rng.uniform(axis.min(), axis.max(), (4, 3, 1))
    S = np.exp(-(((axis - centres) / width) ** 2)).sum(axis=1)
    A = rng.random((m, 4))
    if rng.random() < 0.5:  # a reaction: smooth along the measurements too
        t = np.linspace(0, 3, m)[:, None]
        A = np.hstack([np.exp(-t), t * np.exp(-t), 1 - np.exp(-t), 0.1 + 0 * t])
    return np.round(A @ S + 0.003 * rng.standard_normal((m, len(axis))), 5)


def _labels(kind, m, rng):
    if kind == "names":
        return [f"sample {i}" for i in range(m)]
    values = np.round(np.cumsum(rng.uniform(0.1, 3, m)), 3) if kind == "times" else np.arange(m)
    return [f"{value:g}" for value in values]


def _table(folder, Y, axis, rng):
    """Write a table: the axis above or at the left, labels or none, properties after the spectra."""
    kind, head = LABELS[rng.integers(len(LABELS))], rng.choice(["wavelength", "", "nm", "ppm"])
    positions = [f"{x:g}" for x in axis]
    rows = [[f"{v:g}" for v in y] for y in Y]
    down = rng.random() < 0.5
    if kind == "none":
        lines = [positions, *rows]
    else:
        corner = head if down else {"names": "sample", "times": "time", "counter": ""}[kind]
        labels = _labels(kind, len(Y), rng)
        lines = [[corner, *positions], *([label, *row] for label, row in zip(labels, rows, strict=True))]
    metas = not down and rng.random() < 0.3
    if metas:
        lines = [[*line, "conc" if i == 0 else f"{i / 7:.3f}"] for i, line in enumerate(lines)]
    lines = list(zip(*lines, strict=True)) if down else lines
    path = folder / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=str(rng.choice([",", ";", "\t"]))).writerows(lines)
    return path


def _cube(folder, Y, axis, rng):
    """Write an array of three or four dimensions beside its axis, with channels in any place."""
    sides = [k for k in range(1, len(Y) + 1) if len(Y) % k == 0]
    rows = int(rng.choice(sides))
    shape = [rows, len(Y) // rows]
    if rng.random() < 0.3:
        inner = int(rng.choice([k for k in range(1, shape[1] + 1) if shape[1] % k == 0]))
        shape = [rows, inner, shape[1] // inner]
    cube = Y.reshape(*shape, -1)
    if rng.random() < 0.5:
        cube = np.moveaxis(cube, -1, int(rng.integers(cube.ndim)))
    arrays = {str(rng.choice(["cube", "data", "ans"])): cube, "wavelength": axis}
    if rng.random() < 0.4:
        arrays |= {"x": np.arange(float(shape[1])), "y": np.arange(float(shape[0]))}
    path = folder / ("d.npz" if rng.random() < 0.5 else "d.h5")
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    else:
        with h5py.File(path, "w") as file:
            for key, array in arrays.items():
                file[key] = array
    return path


def _container(folder, Y, axis, rng):
    """Write arrays: the axis inside or beside the data, turned or not, as a cube or not."""
    inside, turned = rng.random() < 0.5, rng.random() < 0.5
    name = CONTAINERS[rng.integers(len(CONTAINERS))]
    path = folder / f"d.{name}"
    table = np.vstack([axis, Y]) if inside or name == "npy" else Y
    arrays = {str(rng.choice(["data", "Y", "spectra", "ans"])): table.T if turned else table}
    if not inside:
        arrays[str(rng.choice(["wavelength", "wl", "axis"]))] = axis
        if rng.random() < 0.3:
            arrays["conc"] = rng.random((len(Y), 2))
    match name:
        case "npy":
            np.save(path, next(iter(arrays.values())))
        case "npz":
            np.savez(path, **arrays)
        case "mat":
            scipy.io.savemat(path, arrays)
        case "h5":
            with h5py.File(path, "w") as file:
                for key, array in arrays.items():
                    file[f"scan/{key}"] = array
    return path
