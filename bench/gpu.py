"""What a GPU does: iterations beside bare products, data beyond its memory, restarts, and the same answers.

python bench/gpu.py [--only wavelets rank ...] [--out bench/results-gpu.json]
"""

import argparse
import json
import os
import platform
import time
import warnings
from collections import deque
from dataclasses import replace
from pathlib import Path

import cupy as cp
import numpy as np

import ngmca
from ngmca import simulate
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms.first_guess import first_guess
from ngmca.algorithms.options import Options
from ngmca.algorithms.soft_and_hard import iterate_thresholded
from ngmca.algorithms.wavelets.wavelet_stage import iterate_bands
from ngmca.engines.gpu import open_device
from ngmca.engines.gpu.engine import GpuEngine
from ngmca.engines.memory import MemoryEngine
from ngmca.result import Domain

SECTIONS = ["iterations", "streamed", "restarts", "answers", "wavelets", "rank", "posterior"]
M, N, CUT = 200, 4_000_000, 200_000
DEVICE = open_device()


def timed(work, times=10):
    """Median milliseconds on the GPU."""
    work()
    begin, end, found = cp.cuda.Event(), cp.cuda.Event(), []
    for _ in range(times):
        begin.record()
        work()
        end.record()
        end.synchronize()
        found.append(cp.cuda.get_elapsed_time(begin, end))
    return float(np.median(found))


def machine():
    properties = cp.cuda.runtime.getDeviceProperties(0)
    a, b = cp.empty(1 << 30, np.float32), cp.empty(1 << 30, np.float32)
    copied = 2 * a.nbytes / timed(lambda: cp.copyto(b, a)) / 1e6
    return {
        "device": properties["name"].decode(),
        "memory_gb": round(properties["totalGlobalMem"] / 1e9, 1),
        "copy_gb_s": round(copied),
        "cuda_runtime": cp.cuda.runtime.runtimeGetVersion(),
        "driver": cp.cuda.runtime.driverGetVersion(),
        "cupy": cp.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "cpu": next(
            (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), ""
        ),
    }


def data(r, n, p_S, m=M, seed=0):
    """A mixture of r sources at 15 dB, made on the GPU."""
    rng = cp.random.default_rng(seed)
    A = abs(rng.standard_normal((m, r), dtype=np.float32))
    A /= cp.linalg.norm(A, axis=0)
    S = cp.where(rng.random((r, n), dtype=np.float32) < p_S, rng.exponential(1, (r, n)), 0).astype(
        np.float32
    )
    Y = A @ S
    sigma = float(cp.sqrt((Y * Y).mean())) * 10 ** (-15 / 20)
    for row in Y:
        row += sigma * rng.standard_normal(n, dtype=np.float32)
    return Y


def run(engine, r, n_iter="auto", start=None):
    """Milliseconds of each iteration of a whole run but the first and the last, and its last state.

    The first waits for a first look at the data, and the last ends with the final noise.
    """
    options = Options("soft", n_iter=n_iter, domain="direct")
    A, S = first_guess(engine, r, np.random.default_rng(0)) if start is None else start
    found, states, last = [], iterate_thresholded(engine, A, S, options), time.perf_counter()
    while (following := next(states, None)) is not None:
        state, now = following, time.perf_counter()
        found.append(1e3 * (now - last))
        last = now
    return np.array(found[1:-1]), state, options.schedule.n_decrease - 1


def bare_products(Y, r):
    """A'Y and Y S', as CuPy and cuBLAS do them."""
    A, S = cp.random.random((M, r), dtype=np.float32), cp.random.random((r, N), dtype=np.float32)
    return timed(lambda: A.T @ Y) + timed(lambda: Y @ S.T)


def iterations(copy_gb_s, p_S):
    found = []
    for r in (8, 16, 32, 64):
        Y = data(r, N, p_S)
        bare = bare_products(Y, r)
        run(GpuEngine(Y[:, :CUT].copy(), DEVICE), r)  # compiles
        times, state, falling = run(GpuEngine(Y, DEVICE), r)
        falls, stays = float(np.median(times[:falling])), float(np.median(times[falling:]))
        mean = float(times.mean())
        moved = 4.0 * N * (2 * M + 8 * r) / 1e6  # Y twice; S, C and the guess read and written
        one = {
            "r": r, "p_S": p_S, "active": round(state.active, 3), "iterations": len(times) + 2,
            "violation": state.violation, "bare_products_ms": bare,
            "falling_ms": falls, "staying_ms": stays, "mean_ms": mean, "longest_ms": float(times.max()),
            "falling_ratio": falls / bare, "staying_ratio": stays / bare, "mean_ratio": mean / bare,
            "bytes_moved_over_possible": moved / falls / copy_gb_s,
        }  # fmt: skip
        if p_S == 0.1:
            few, start = Y[:, :CUT].get(), (state.A, state.S[:, slice(0, CUT)])
            for name, threads in (("one_thread", 1), ("all_threads", None)):
                times, _, _ = run(MemoryEngine(few, threads=threads), r, 6, start)
                one[f"cpu_ms_{name}"] = float(np.median(times)) * N / CUT
            one["times_one_thread"] = one["cpu_ms_one_thread"] / mean
        found.append(one)
        print({k: round(v, 3) if isinstance(v, float) else v for k, v in one.items()}, flush=True)
        del Y, state
        cp.get_default_memory_pool().free_all_blocks()
    return found


def streamed(gigabytes=4.0, r=8):
    """Data of 1.5 times what is free, CuPy being held to so much, and the way from the host."""
    pool = cp.get_default_memory_pool()
    n = int(1.5 * gigabytes * 1e9 / (4 * M)) // 2048 * 2048
    Y = data(r, n, 0.1).get()
    pool.free_all_blocks()
    whole = ngmca.separate(
        Y, r, method=ngmca.Soft(n_iter=12), seed=0, domain="direct", device="cuda", n_init=1
    )
    pool.free_all_blocks()
    pool.set_limit(size=int(gigabytes * 1e9))
    engine = GpuEngine(Y, DEVICE)
    free = DEVICE.free()
    pieces = engine._pieces(r)
    stream = engine._pieces_of
    passes = []
    for _ in range(3):
        cp.cuda.Device().synchronize()
        begun = time.perf_counter()
        for _ in stream:
            pass
        cp.cuda.Device().synchronize()
        passes.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    times, _, _ = run(engine, r)
    found = ngmca.separate(engine, r, method=ngmca.Soft(n_iter=12), seed=0, domain="direct", n_init=1)
    pool.set_limit(size=0)
    way = Y.nbytes / min(passes) / 1e9
    through = Y.nbytes / np.median(times) / 1e6
    del pieces
    return {
        "data_gb": Y.nbytes / 1e9, "free_gb": free / 1e9, "pieces": len(stream._blocks),
        "pinned_in_place": bool(stream._way._pinned),
        "host_to_device_gb_s": way, "throughput_gb_s": float(through), "share": float(through / way),
        "A_difference": float(np.abs(found.A - whole.A).max()),
        "S_difference": float(np.abs(found.S - whole.S).max() / whole.S.max()),
    }  # fmt: skip


def restarts(r=15, n_init=64):
    """64 first guesses on small data in one batch, beside the CPU on one core."""
    Y, found = simulate.sparse(200, 200, r, snr=15.0, seed=0).Y, {"r": r, "n_init": n_init}
    for kind in ("float64", "float32"):
        seconds, costs = {}, {}
        for device, times in (("cuda", 4), ("cpu", 2)):
            given = {"device": device} if device == "cuda" else {"threads": 1}
            took = []
            for _ in range(times):
                begun = time.perf_counter()
                one = ngmca.separate(Y.astype(kind), r, seed=0, n_init=n_init, domain="direct", **given)
                took.append(time.perf_counter() - begun)
            seconds[device] = float(np.median(took[1:]))  # the first compiles
            costs[device] = np.array([run.cost for run in one.restarts])
        found[kind] = {
            "cuda_s": seconds["cuda"], "cpu_one_core_s": seconds["cpu"],
            "times": seconds["cpu"] / seconds["cuda"], "best_cost": float(costs["cuda"].min()),
            "cost_difference": float(np.abs(costs["cuda"] / costs["cpu"] - 1).max()),
            "same_choice": bool(costs["cuda"].argmin() == costs["cpu"].argmin()),
        }  # fmt: skip
    return found


def answers(seeds=12):
    """SDR on the GPU less that on the CPU, and A and S from the same start."""
    worst = {"float32": 0.0, "float64": 0.0}
    same = {"A": 0.0, "S": 0.0}
    for seed in range(seeds):
        for p_S in (0.1, 0.3):
            mixture = simulate.sparse(200, 2000, 10, snr=15.0, p_S=p_S, seed=seed)
            for kind in worst:
                Y = mixture.Y.astype(kind)
                runs = [
                    ngmca.separate(Y, 10, seed=seed, domain="direct", device=d, n_init=1)
                    for d in ("cuda", "cpu")
                ]
                sdr = [ngmca.evaluate(mixture.S, one.S).mean_sdr for one in runs]
                worst[kind] = max(worst[kind], abs(sdr[0] - sdr[1]))
                if kind == "float64":
                    same["A"] = max(same["A"], float(np.abs(runs[0].A - runs[1].A).max()))
                    difference = np.abs(runs[0].S - runs[1].S).max() / runs[1].S.max()
                    same["S"] = max(same["S"], float(difference))
    return {"seeds": seeds, "largest_sdr_difference_db": worst, "float64_difference": same}


@one_blas_thread
def in_wavelets(engine, A, S, before, shape=None):
    """Seconds of the iterations in wavelets and the last step, and the last state."""
    options = Options("soft", domain="wavelet", sample_shape=shape)
    begun = time.perf_counter()
    last = deque(iterate_bands(engine, A, S, options, before), maxlen=1).pop()
    return time.perf_counter() - begun, last


def wavelets(sizes=((40, 1024, 5), (200, 20_000, 8), (40, (201, 201), 5), (200, 200_000, 8))):
    """The wavelet stage on the GPU and on all cores, from the same start, in both precisions."""
    found = []
    for m, size, r in sizes:
        shape = size if isinstance(size, tuple) else None
        n = size if shape is None else shape[0] * shape[1]
        make = simulate.bands if shape is None else simulate.images
        mixture = make(m, size, r, snr=20.0, seed=0)
        for kind in ("float32", "float64"):
            if (n, kind) == (200_000, "float64"):
                continue
            Y = mixture.Y.astype(kind)
            there, here = GpuEngine(Y, DEVICE), MemoryEngine(Y)
            _, state, _ = run(there, r)
            S = state.S.fetched()
            before = replace(state, S=S, domain=Domain("wavelet", "", begun=state.k))
            in_wavelets(there, state.A, S, before, shape)  # compiles
            cuda, on_gpu = in_wavelets(there, state.A, S, before, shape)
            if n < 100_000:
                in_wavelets(here, state.A, S, before, shape)
            cpu, on_cpu = in_wavelets(here, state.A, S, before, shape)
            sdr = [ngmca.evaluate(mixture.S, one.S).mean_sdr for one in (on_gpu, on_cpu)]
            found.append({
                "m": m, "n": n, "image": shape, "r": r, "dtype": kind, "cores": os.cpu_count(),
                "iterations_cuda": on_gpu.k - state.k, "iterations_cpu": on_cpu.k - state.k,
                "cuda_s": cuda, "cpu_s": cpu, "times": cpu / cuda,
                "gap_cuda": on_gpu.violation, "gap_cpu": on_cpu.violation,
                "sdr_cuda_db": sdr[0], "sdr_cpu_db": sdr[1],
                "S_difference": float(np.linalg.norm(on_gpu.S - on_cpu.S) / np.linalg.norm(on_cpu.S)),
            })  # fmt: skip
            print(found[-1], flush=True)
            cp.get_default_memory_pool().free_all_blocks()
    return found


def rank(sizes=((200, 400, 8), (200, 20_000, 8), (200, 200_000, 8))):
    """The number of sources for data on the GPU, and on all cores."""
    found = []
    for m, n, r in sizes:
        Y = simulate.bands(m, n, r, snr=20.0, seed=0).Y.astype(np.float32)
        seconds, choices = {}, {}
        for device in ("cuda", "cpu"):  # compiles
            ngmca.choose_rank(Y, 10, seed=0, device=device)
        for device in ("cuda", "cpu"):
            begun = time.perf_counter()
            choices[device] = ngmca.choose_rank(Y, seed=0, device=device)
            seconds[device] = time.perf_counter() - begun
        there, here = choices["cuda"], choices["cpu"]
        found.append({
            "m": m, "n": n, "r": r, "cores": os.cpu_count(), "cuda_s": seconds["cuda"],
            "cpu_s": seconds["cpu"], "times": seconds["cpu"] / seconds["cuda"], "rank": there.rank,
            "same": (there.rank, there.criteria, there.range) == (here.rank, here.criteria, here.range),
        })  # fmt: skip
        print(found[-1], flush=True)
    return found


def posterior(sizes=((200, 20_000, 8), (200, 200_000, 8)), n_samples=80, burn=20):
    """Error bars of sparse sources on the GPU and on all cores, from the same separation."""
    found = []
    for m, n, r in sizes:
        Y = simulate.sparse(m, n, r, snr=15.0, p_S=0.1, seed=0).Y.astype(np.float32)
        separation = ngmca.separate(Y, r, device="cuda", domain="direct", n_init=1)
        given = {"n_samples": n_samples, "burn": burn}
        for device in ("cuda", "cpu"):  # compiles
            ngmca.posterior(Y, separation, n_samples=4, burn=4, seed=0, device=device)
        runs, seconds = {}, {}
        for name, device, seed in (("cuda", "cuda", 0), ("cpu", "cpu", 0), ("again", "cpu", 1)):
            if name == "again" and n > 100_000:
                continue
            begun = time.perf_counter()
            runs[name] = ngmca.posterior(Y, separation, seed=seed, device=device, **given)
            seconds[name] = time.perf_counter() - begun

        def apart(one, other):
            sd = np.maximum(runs["cpu"].S.sd, 1e-3 * runs["cpu"].S.mean.max())
            return float(np.sqrt(np.mean(((one.S.mean - other.S.mean) / sd) ** 2)))

        found.append({
            "m": m, "n": n, "r": r, "cores": os.cpu_count(), "sweeps": 2 * (n_samples + burn),
            "cuda_s": seconds["cuda"], "cpu_s": seconds["cpu"], "times": seconds["cpu"] / seconds["cuda"],
            "mean_S_apart_in_sd": apart(runs["cuda"], runs["cpu"]),
            "two_cpu_runs_apart_in_sd": apart(runs["again"], runs["cpu"]) if "again" in runs else None,
            "sd_S_over_that_of_cpu": float(runs["cuda"].S.sd.mean() / runs["cpu"].S.sd.mean()),
            "sd_A_over_that_of_cpu": float(runs["cuda"].A.sd.mean() / runs["cpu"].A.sd.mean()),
        })  # fmt: skip
        print(found[-1], flush=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=SECTIONS)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results-gpu.json")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    results = json.loads(given.out.read_text()) if given.out.is_file() else {}
    results["machine"] = machine()
    print(results["machine"], flush=True)
    for name in given.only:
        if name == "iterations":
            results[name] = [
                one for p in (0.1, 0.3) for one in iterations(results["machine"]["copy_gb_s"], p)
            ]
        else:
            results[name] = globals()[name]()
            print(name, results[name], flush=True)
        given.out.write_text(json.dumps(results, indent=1) + "\n")
