"""Run every Python block of README and docs: `python docs/run_blocks.py [PAGE ...]`.

Blocks of a page share their names, as a reader would type them one after the other. Names that a page takes for granted
(Y, data, ...) and sample files are made first. A block after the line `<!-- not run: reason -->` is skipped, and counted.
Recipes of other programs (`<!-- recipe: ... -->`) are run by `make test-tools`.
"""

import dataclasses
import os
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import ngmca

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(<!-- (?:not run|recipe): [^\n]*-->\n)?```python\n(.*?)```", re.DOTALL)


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


def run(page: Path) -> tuple[int, int, int]:
    """Numbers of blocks that ran, that were skipped, and that failed."""
    known, counts = names(), [0, 0, 0]
    for number, (mark, code) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), start=1):
        if mark:
            counts[1] += 1
            continue
        try:
            exec(compile(code, f"{page.name}, block {number}", "exec"), known)
            counts[0] += 1
        except Exception:
            counts[2] += 1
            print(
                f"{page.relative_to(ROOT)}, block {number}: {traceback.format_exc(limit=0).splitlines()[-1][:150]}"
            )
    return tuple(counts)


def main() -> int:
    """Run the pages."""
    import matplotlib as mpl

    mpl.use("Agg")
    warnings.simplefilter("ignore")
    given = [Path(name).resolve() for name in sys.argv[1:]]
    pages = given or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for file in ("spectra.csv", "measurements.csv"):
            shutil.copyfile(ngmca.datasets.path("reaction"), file)
        for file in ("mixtures.csv", "infrared.csv", "raman.csv"):
            shutil.copyfile(ngmca.datasets.path("mixtures"), file)
        write_library(Path("library"))
        write_store("Y.zarr")
        total = np.sum([run(page) for page in pages if "_build" not in page.parts], axis=0)
        os.chdir(ROOT)
    print(f"{total[0]} blocks ran, {total[1]} are not run, {total[2]} failed")
    return int(total[2] > 0)


if __name__ == "__main__":
    sys.exit(main())
