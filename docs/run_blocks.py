"""Run every block of Python and of commands in README and docs: `python docs/run_blocks.py [PAGE ...]`.

Blocks of a page share a folder and their names, as a reader would type them one after the other. Names that a page takes for
granted (Y, data, ...) and sample files are made first. A block is one of commands if it starts with a program of `PROGRAMS`;
its lines of `pip` are left out, because everything is installed. A block after the line `<!-- not run: reason -->` is skipped,
and counted. Recipes of other programs (`<!-- recipe: ... -->`) are run by `make test-tools`.
"""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr
from pyimzml.ImzMLWriter import ImzMLWriter

import ngmca

ROOT = Path(__file__).parent.parent
FENCED, INDENTED = r"```([^\n]*)\n(.*?)^```", r"((?:^    [^\n]*\n)+)"
MARK = r"(<!-- (?:not run|recipe): [^\n]*-->\n)?"
BLOCK = re.compile(rf"^{MARK}(?:{FENCED}|{INDENTED})", re.DOTALL | re.MULTILINE)
PROGRAMS = re.compile(r" *(?:\$ )?(?:ngmca|pip|python|make) ")


def names() -> dict:
    """What pages take for granted."""
    x = ngmca.simulate.bands(m=24, n=200, r=3, snr=30, seed=0)
    total = x.A.sum(axis=1, keepdims=True)  # fractions sum to 1
    x = dataclasses.replace(x, A=x.A / total, Y=x.Y / total)
    axis = np.linspace(400.0, 1800.0, 200)
    amounts = np.full(x.A.shape, np.nan)
    amounts[[4, 20]] = x.A[[4, 20]]
    cube = xr.DataArray(x.Y.reshape(4, 6, 200), dims=("y", "x", "energy"), coords={"energy": axis})
    return {
        "cube": cube, "table": pd.DataFrame(x.Y, columns=axis),
        "ngmca": ngmca, "np": np, "dataclasses": dataclasses, "axis": axis, "data": ngmca.io.Dataset(x.Y, axis),
        "Y": x.Y, "Y_new": x.Y[:4], "Y1": x.Y[:12], "Y2": x.Y[12:], "Y3": x.Y[6:18], "r": 3, "m": 24, "n": 200,
        "fractions": x.A[[4, 20]], "amounts": amounts, "spectra": x.S[:1], "spectrum": x.S[0], "sigma": np.full(24, 0.01),
        "mask": np.quantile(x.Y, 0.99) < x.Y, "sd": 0.01, "absent": np.zeros((24, 3), dtype=bool), "silent": x.S < 0, "totals": x.A.sum(axis=1), "minutes": np.arange(24.0),
    }  # fmt: skip


def write_library(folder: Path) -> None:
    """One text file for each substance of the samples."""
    folder.mkdir()
    for sample in (ngmca.datasets.reaction(), ngmca.datasets.mixtures()):
        for name, spectrum in zip(sample.substances, sample.S, strict=True):
            np.savetxt(
                folder / f"{name}.csv", np.column_stack([sample.data.axis, spectrum]), delimiter=","
            )


def write_store(name: str) -> None:
    """A Zarr array."""
    import zarr

    zarr.save_array(name, ngmca.simulate.sparse(m=20, n=2000, r=5, snr=20, seed=0).Y)


def write_files() -> None:
    """The files that pages name, in the current folder."""
    for file in ("reaction.csv", "spectra.csv", "measurements.csv"):
        shutil.copyfile(ngmca.datasets.path("reaction"), file)
    for file in ("mixtures.csv", "infrared.csv", "raman.csv"):
        shutil.copyfile(ngmca.datasets.path("mixtures"), file)
    Path("known.csv").write_text("time,A,B,C\n10,0.301,0.554,0.145\n40,0.008,0.291,0.701\n")
    Path("standards.csv").write_text(
        "measurement,alcohol (g/L),acid (g/L)\nmixture 1,10.0,10.0\nmixture 5,0.29,6.26\nmixture 9,8.88,0.63\n"
        "mixture 13,2.40,1.55\nmixture 17,6.02,\nmixture 21,5.68,9.78\n"
    )
    write_library(Path("library"))
    write_store("Y.zarr")
    write_store("image.zarr")
    cube = names()["cube"].to_numpy()
    np.save("map.npy", cube)
    with ImzMLWriter("image.imzML", mode="continuous") as image:
        for y, x in np.ndindex(cube.shape[:2]):
            image.addSpectrum(np.linspace(100.0, 300.0, 200), cube[y, x], (x + 1, y + 1, 1))


def run_commands(block: str) -> None:
    """Run a block of commands; lines of output, below lines that start with `$`, are left out."""
    lines = [line.removeprefix("    ") for line in block.splitlines()]
    if any(line.startswith("$ ") for line in lines):
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    commands = "\n".join(line for line in lines if not line.startswith("pip "))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", commands], env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(" ".join(done.stderr.split()))


def run(page: Path) -> tuple[int, int, int]:
    """Numbers of blocks that ran, that were skipped, and that failed."""
    known, counts = names(), [0, 0, 0]
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        mark, language, fenced, indented = found.groups()
        code = fenced or indented
        if language != "python" and not PROGRAMS.match(code):
            continue  # a table, a formula, output
        if mark:
            counts[1] += 1
            continue
        line = text.count("\n", 0, found.start()) + 1
        try:
            if language == "python":
                exec(compile(code, f"{page.name}, line {line}", "exec"), known)
            else:
                run_commands(code)
            counts[0] += 1
        except Exception:
            counts[2] += 1
            error = traceback.format_exc(limit=0).strip().splitlines()[-1]
            print(f"{page.relative_to(ROOT)}, line {line}: {error[:300]}")
    return tuple(counts)


def main() -> int:
    """Run the pages."""
    import matplotlib as mpl

    mpl.use("Agg")
    warnings.simplefilter("ignore")
    given = [Path(name).resolve() for name in sys.argv[1:]]
    pages = given or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    total = np.zeros(3, dtype=int)
    for page in pages:
        if "_build" not in page.parts:
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                write_files()
                total += run(page)
                os.chdir(ROOT)
    print(f"{total[0]} blocks ran, {total[1]} are not run, {total[2]} failed")
    return int(total[2] > 0)


if __name__ == "__main__":
    sys.exit(main())
