"""Bigger than memory: what a pass costs on disk, on Dask workers, and what a subset start saves.

    python bench/scaling.py make FOLDER [--gigabytes 12] [--measurements 200]
    python bench/scaling.py disk FOLDER            # peak memory, and a pass against the one in memory
    python bench/scaling.py separate FOLDER        # all of it, S on disk too
    python bench/scaling.py workers FOLDER         # one Dask worker against two
    python bench/scaling.py subset [--seeds 3]     # passes over all data, with and without a subset start
    python bench/scaling.py tiles FOLDER           # Indian Pines tiled to 10^7 pixels, pines.zarr
    python bench/scaling.py model                  # docs/how-to/scaling.md: the model against runs of several sizes

`make` writes Y.zarr (float32, not compressed) and the true factors. All times are ratios within one run.
"""

import argparse
import os
import resource
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

SOURCES, CHUNK, SPARSE, NOISE = 5, 8192, 0.1, 0.05


def mixing(m):
    A = np.random.default_rng(1).random((m, SOURCES)).astype(np.float32)
    return A / np.linalg.norm(A, axis=0)


def columns(A, block, width=CHUNK):
    """Columns of the mixture, the same whoever asks for them, and their sources."""
    rng = np.random.default_rng((2, block))
    S = rng.standard_exponential((SOURCES, width), dtype=np.float32)
    S *= rng.random((SOURCES, width), dtype=np.float32) < SPARSE
    Y = A @ S
    Y += np.float32(NOISE) * rng.standard_normal(Y.shape, dtype=np.float32)
    return Y, S


def make(folder, gigabytes, m):
    import zarr

    n = int(gigabytes * 1e9 / (4 * m)) // CHUNK * CHUNK
    folder.mkdir(parents=True, exist_ok=True)
    store = zarr.create_array(
        folder / "Y.zarr", shape=(m, n), dtype="f4", chunks=(m, CHUNK), compressors=None, overwrite=True
    )
    A, begun = mixing(m), time.perf_counter()
    for block in range(n // CHUNK):
        store[:, block * CHUNK : (block + 1) * CHUNK] = columns(A, block)[0]
    print(f"{m} x {n:,}: {store.nbytes / 1e9:.2f} GB in {time.perf_counter() - begun:.0f} s")


def tiles(folder):
    """Indian Pines, 22 x 22 times: an image of 10^7 pixels for `ngmca separate`, with its channels."""
    import zarr

    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    import real_data

    tile = np.load(real_data.pines()).astype(np.float32)
    h, w, channels = tile.shape
    store = zarr.create_group(folder / "pines.zarr", overwrite=True)
    cube = store.create_array(
        "data", shape=(22 * h, 22 * w, channels), dtype="f4", chunks=(5, 22 * w, channels)
    )
    for row in range(22):
        cube[row * h : (row + 1) * h] = np.tile(tile, (1, 22, 1))
    print(f"{folder / 'pines.zarr'}: {cube.shape}, {cube.nbytes / 1e9:.1f} GB of numbers")


def rss():
    """Largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def steps(engine, count, clock=time.perf_counter):
    """Seconds of each of a few sweeps at a fixed threshold, after the first guess."""
    from ngmca.algorithms import Options
    from ngmca.algorithms.steps import s_step

    A = mixing(engine.shape[0])
    S, found = engine.zero_sources(SOURCES), []
    solve = s_step(np.full(SOURCES, NOISE, dtype=float), Options())
    for _ in range(count):
        begun = clock()
        S = engine.sweep(A, S, solve).S
        found.append(clock() - begun)
    return found


def reading(array, width, clock=time.perf_counter):
    """Seconds to read some columns by slabs, and nothing else."""
    begun = clock()
    for start in range(0, width, 2 * CHUNK):
        np.asarray(array[:, start : min(start + 2 * CHUNK, width)])
    return clock() - begun


def disk(folder, part):
    """A pass over all on disk against one in memory over the part that fits, and the memory it took."""
    import zarr

    from ngmca._support.threads import one_blas_thread
    from ngmca.engines import open_data

    store = zarr.open_array(folder / "Y.zarr", mode="r")
    m, n = store.shape
    begun = time.perf_counter()
    engine = open_data(store, lazily=True)
    print(f"opening (one pass): {time.perf_counter() - begun:.1f} s")
    there = one_blas_thread(steps)(engine, 3)
    print(f"pass over {store.nbytes / 1e9:.1f} GB on disk: {min(there[1:]):.1f} s; peak {rss():.2f} GB")
    read = reading(store, n)
    print(f"reading alone, one thread: {read:.1f} s, {store.nbytes / read / 1e9:.2f} GB/s")
    width = int(part * 1e9 / (4 * m)) // CHUNK * CHUNK
    inside = one_blas_thread(steps)(open_data(np.asarray(store[:, :width])), 3)
    whole = min(inside[1:]) * n / width
    print(f"pass in memory over {part:g} GB, for all: {whole:.1f} s")
    print(
        f"ratio {min(there[1:]) / whole:.2f}; over the larger of memory and reading "
        f"{min(there[1:]) / max(whole, read):.2f}"
    )
    clock = time.process_time  # of all threads: it hardly changes on a machine with other work
    pass_on_disk = min(one_blas_thread(steps)(engine, 3, clock)[1:])
    in_memory = open_data(np.asarray(store[:, :width]))
    pass_in_memory = min(one_blas_thread(steps)(in_memory, 3, clock)[1:]) * n / width
    read = reading(store, n, clock)
    print(
        f"processor time {pass_on_disk:.1f} s, in memory {pass_in_memory:.1f} s, reading {read:.1f} s: "
        f"{pass_on_disk / (pass_in_memory + read):.2f} of their sum"
    )


def separated(folder, iterations):
    """Separate all of it, with the sources on disk as well, and say what it took."""
    import zarr

    import ngmca
    from ngmca.engines import open_data

    store = zarr.open_array(folder / "Y.zarr", mode="r")
    begun = time.perf_counter()
    n_iter = iterations or "auto"
    found = ngmca.separate(
        open_data(store, scratch=folder),
        SOURCES,
        method=ngmca.Soft(n_iter=n_iter),
        seed=0,
        domain="direct",
        n_init=1,
    )
    A = mixing(len(found.A))
    cosine = np.abs(A.T @ (found.A / np.linalg.norm(found.A, axis=0))).max(axis=1)
    print(
        f"{found}: {time.perf_counter() - begun:.0f} s, peak {rss():.2f} GB, "
        f"cosines of the mixing {cosine.min():.5f} and above"
    )


def workers(folder, part):
    """A sweep on one worker process against one on two, each with one thread, over data in their memory.

    Beside the least time, which other work on the machine makes longer, the processor time of the busiest
    worker, which it does not: what a sweep would take with a core for each.
    """
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    from ngmca.engines import open_data

    walls, busiest = {1: [], 2: []}, {1: [], 2: []}
    for count in (1, 2):
        here = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**here, silence_logs=50) as cluster, Client(cluster) as client:
            stored = da.from_zarr(str(folder / "Y.zarr"))
            width = int(part * 1e9 / (4 * len(stored))) // CHUNK * CHUNK
            Y = stored[:, :width].rechunk((len(stored), 8 * CHUNK)).persist()
            wait(Y)
            engine = open_data(Y)
            steps(engine, 2)
            before = client.run(time.process_time)
            walls[count] += steps(engine, 6)
            after = client.run(time.process_time)
            busiest[count].append(max(after[name] - before[name] for name in after) / 6)
    for what, (one, two) in {
        "least time": (min(walls[1]), min(walls[2])),
        "processor time of the busiest worker": (min(busiest[1]), min(busiest[2])),
    }.items():
        print(
            f"{part:g} GB, {what}: one worker {one:.2f} s a sweep, two {two:.2f} s, ratio {one / two:.2f}"
        )


def subset(seeds):
    """Passes over all data and SDR, with and without a start on a part of them."""
    import ngmca
    from ngmca.algorithms import start_on_part as on_part

    m, blocks, huge = 200, 64, on_part.HUGE_ENTRIES
    print("seed  passes  SDR     on a part: passes  SDR     saved")
    for seed in range(seeds):
        A = mixing(m)
        made = [columns(A, 1000 * seed + block) for block in range(blocks)]
        Y, S = (np.concatenate(part, axis=1) for part in zip(*made, strict=True))
        found = []
        for on_part.HUGE_ENTRIES in (1 << 62, 1):
            run = ngmca.separate(Y, SOURCES, seed=seed, domain="direct", n_init=1)
            extra = (
                5 if on_part.HUGE_ENTRIES > 1 else 1
            )  # of the first guess, and the peak; or of the first S
            found.append((run.n_iter + extra, ngmca.evaluate(S, run.S).mean_sdr))
        (one, first), (other, second) = found
        print(f"{seed:4d}  {one:6d}  {first:6.2f}  {other:17d}  {second:6.2f}  {1 - other / one:6.0%}")
    on_part.HUGE_ENTRIES = huge


CALIBRATED = [
    (30, 1_000_000, 5),
    (100, 800_000, 5),
    (400, 200_000, 5),
    (100, 400_000, 15),
    (400, 100_000, 15),
]
CHECKED = [
    (200, 200_000, 5),
    (200, 200_000, 10),
    (50, 1_600_000, 5),
    (800, 100_000, 10),
    (200, 800_000, 8),
]


def sweep_seconds(m, n, r):
    """Processor seconds of a sweep in memory by one thread, 10 % of the sources active: the least of some."""
    from ngmca.algorithms import Options
    from ngmca.algorithms.steps import s_step
    from ngmca.engines.memory import MemoryEngine

    rng = np.random.default_rng(0)
    A = rng.random((m, r), dtype=np.float32)
    A /= np.linalg.norm(A, axis=0)
    S = rng.standard_exponential((r, n), dtype=np.float32)
    S *= rng.random((r, n), dtype=np.float32) < SPARSE
    engine = MemoryEngine(
        A @ S + np.float32(NOISE) * rng.standard_normal((m, n), dtype=np.float32), threads=1
    )
    solve, times = s_step(np.full(r, NOISE, dtype=float), Options()), []
    for _ in range(12):
        begun = time.process_time()
        S = engine.sweep(A, S, solve).S
        times.append(time.process_time() - begun)
    return min(times[1:])


def model():
    """Seconds of a sweep = a m n + b n + c n r^2: fitted to some sizes, compared with others."""

    def terms(m, n, r):
        return np.array([m * n, n, n * r * r], dtype=float)

    rows = np.stack([terms(*size) for size in CALIBRATED])
    times = np.array([sweep_seconds(*size) for size in CALIBRATED])
    found = np.maximum(np.linalg.lstsq(rows / times[:, None], np.ones(len(times)))[0], 0)
    print(
        "ns: a {:.3f} an entry, b {:.1f} a sample, c {:.2f} a sample and pair of sources".format(
            *(1e9 * found)
        )
    )
    print("    m        n   r  measured  model   ratio")
    for m, n, r in CHECKED:
        measured, told = sweep_seconds(m, n, r), float(terms(m, n, r) @ found)
        print(f"{m:5d} {n:8d} {r:3d}  {measured:7.3f}  {told:6.3f}  {told / measured:5.2f}")
    m, n, r, machines = 200, 1e9, 5, 100
    sweep = float(terms(m, n, r) @ found) / (16 * machines)
    print(
        f"10^9 samples on {machines} machines of 16 cores: {sweep:.1f} s a sweep, "
        f"{4 * m * n / machines / 1e9:.0f} GB on each, "
        f"{8 * (m * r + r * r) * machines * 2 / 1e6:.1f} MB of sums and mixing sent"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "what", choices=("make", "disk", "separate", "workers", "subset", "model", "tiles")
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path("scaling"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--gigabytes", type=float, default=12.0)
    parser.add_argument("--measurements", type=int, default=200)
    parser.add_argument("--part", type=float, default=2.0, help="GB that fit in memory")
    parser.add_argument("--iterations", type=int, default=0)
    given = parser.parse_args()
    if given.what == "make":
        make(given.folder, given.gigabytes, given.measurements)
    elif given.what == "tiles":
        tiles(given.folder)
    elif given.what == "disk":
        disk(given.folder, given.part)
    elif given.what == "separate":
        separated(given.folder, given.iterations)
    elif given.what == "workers":
        workers(given.folder, given.part)
    elif given.what == "subset":
        subset(given.seeds)
    else:
        model()


if __name__ == "__main__":
    main()
