"""The whole command on 1 GB, over `separate` alone: time, memory, and how long `ngmca info` takes.

    python bench/whole_command.py [--gigabytes 1]

Each command is a process of its own, begun with a warm cache of kernels. Ratios are of wall times and of
processor times; on a busy machine the second is the steadier one.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from timing import Row

MEASUREMENTS, SOURCES, ACTIVE = 500, 15, 0.3  # as in the other benches: 15 sources, 30 % active, 15 dB
NGMCA = (sys.executable, "-c", "from ngmca.cli import main; main()")
ALONE = """
import sys, numpy as np, ngmca, time
Y = np.load(sys.argv[1])
wall, processor = time.perf_counter(), time.process_time()
ngmca.separate(Y, int(sys.argv[2]), seed=0)
print(time.perf_counter() - wall, time.process_time() - processor)
"""


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    wall: float  # seconds
    processor: float  # seconds, of all cores
    memory: float  # bytes, at the most, of the largest of its processes
    told: str


def cost(command: Sequence[str | Path]) -> Cost:
    """Run a command to its end."""
    begun = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    told = process.stdout.read() if process.stdout else ""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    wall = time.perf_counter() - begun
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024.0, told)


def write_data(folder: Path, size: float) -> list[Path]:
    """About so many bytes of a sparse mixture as .npy and .h5."""
    n = int(size / 8 / MEASUREMENTS)
    rng = np.random.default_rng(0)
    A = rng.random((MEASUREMENTS, SOURCES))
    S = np.where(rng.random((SOURCES, n)) < ACTIVE, rng.exponential(size=(SOURCES, n)), 0.0)
    level = 0.18 * np.sqrt(np.mean((A @ S[:, :1000]) ** 2))  # 15 dB
    Y = np.lib.format.open_memmap(folder / "d.npy", "w+", float, (MEASUREMENTS, n))
    with h5py.File(folder / "d.h5", "w") as file:
        stored = file.create_dataset("Y", Y.shape, float)
        for i, row in enumerate(A):
            Y[i] = row @ S + level * rng.standard_normal(n)
            stored[i] = Y[i]
    Y.flush()
    return [folder / "d.npy", folder / "d.h5"]


def measured(folder: Path, size: float) -> list[Row]:
    """The table."""
    files = write_data(folder, size)
    small = write_data_small(folder)
    cost((*NGMCA, "separate", small, "-r", "2", "-o", folder / "small"))  # kernels into the cache
    alone = cost((sys.executable, "-c", ALONE, files[0], str(SOURCES)))
    wall, processor = map(float, alone.told.split())
    rows = [Row("separate() alone, s", wall)]
    for file in files:
        kind = file.suffix
        whole = cost((*NGMCA, "separate", file, "-r", str(SOURCES), "-o", folder / f"out{kind}"))
        info = cost((*NGMCA, "info", file))
        rows += [
            Row(f"{kind}: separate, wall over separate() alone", whole.wall / wall, "<= 1.5"),
            Row(f"{kind}: separate, processor over separate() alone", whole.processor / processor),
            Row(f"{kind}: separate, memory beyond the data, GB", (whole.memory - size) / 1e9, "<= 1"),
            Row(f"{kind}: info, s", info.wall, "<= 20"),
            Row(f"{kind}: info, processor, s", info.processor),
            Row(f"{kind}: info, memory beyond the data, GB", (info.memory - size) / 1e9, "<= 1"),
        ]
    return rows


def write_data_small(folder: Path) -> Path:
    """A table that brings all kernels into the cache: lines, so that wavelets are among them."""
    axis = np.linspace(0, 6, 300)
    S = np.exp(-(((axis - np.array([[2.0], [4.0]])) / 0.1) ** 2))
    rng = np.random.default_rng(0)
    np.save(folder / "small.npy", rng.random((20, 2)) @ S + 0.01 * rng.standard_normal((20, 300)))
    return folder / "small.npy"


def main() -> None:
    """Print the table; the exit code is 1 if a limit is not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    size = parser.parse_args().gigabytes * 1e9
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(Path(folder), size)
    for row in rows:
        verdict = {None: "", True: "met", False: "NOT MET"}[row.met]
        print(f"{row.name:50s} {row.value:8.2f}  {row.limit:8s} {verdict}")
    sys.exit(any(row.met is False for row in rows))


if __name__ == "__main__":
    main()
