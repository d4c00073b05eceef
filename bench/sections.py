"""The tables of `make bench`, one function each."""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import cycle

import numpy as np
import paper_scheme
from numpy.typing import NDArray
from sklearn.decomposition import NMF
from timing import Row, advance, side_by_side

import ngmca
from ngmca.algorithms import Options
from ngmca.algorithms.first_guess import first_guess
from ngmca.algorithms.steps import a_step, s_step
from ngmca.engines import Engine, open_data
from ngmca.engines.memory import MemoryEngine
from ngmca.nnqp.pivoting import solve_rows
from ngmca.task import begin_with_part
from ngmca.task.problem import Problem


def data(m: int, n: int, r: int, p_S: float = 0.3, snr: float = 15.0) -> ngmca.simulate.Mixture:
    return ngmca.simulate.sparse(m, n, r, p_S=p_S, snr=snr, seed=0)


def states_of(
    Y: NDArray, r: int, *, n_iter: int, threads: int | None = 1
) -> tuple[Engine, Iterator[ngmca.State]]:
    task = ngmca.Task(r, method=ngmca.Soft(n_iter=n_iter))
    problem = Problem.of(task, open_data(Y, threads=threads))
    return problem.engine, (state for state, _, _ in problem.states(np.random.default_rng(0)))


def first_below(costs: NDArray, goal: float) -> int:
    """The number of iterations to the goal; an error if it is not reached."""
    if not costs.min() <= goal:
        raise RuntimeError(f"cost {costs.min():g} after {len(costs)} iterations, the goal was {goal:g}")
    return int(np.argmax(costs <= goal)) + 1


def sweep() -> list[Row]:
    rows = []
    for p_S, limits in ((0.1, ("<= 1.3", "<= 1.6")), (0.3, ("<= 1.8", "<= 2.2"))):
        Y = data(200, 20_000, 15, p_S).Y
        engine, states = states_of(Y, 15, n_iter=60)
        before = advance(states, 40)
        now = next(states)
        assert isinstance(before, ngmca.State)
        A, S = now.A, np.ascontiguousarray(now.S)
        solve = s_step(now.lam, Options())
        times = side_by_side(
            {
                "products": lambda A=A, S=S, Y=Y: (A.T @ Y, Y @ S.T),
                "sweep": lambda e=engine, A=A, b=before, s=solve: e.sweep(A, b.S, s),
                "iteration": lambda states=states: next(states),
            },
            repeats=6,
        )
        note = f"products {times['products'] * 1e3:.1f} ms"
        label = f"200 x 20,000, r = 15, p_S = {p_S}"
        rows.append(
            Row(f"sweep / products, {label}", times["sweep"] / times["products"], limits[0], note)
        )
        rows.append(
            Row(f"iteration / products, {label}", times["iteration"] / times["products"], limits[1])
        )
    return rows


def against_paper() -> list[Row]:
    rows = []
    for n, stop, limits in ((200, 500, (">= 8", ">= 25")), (20_000, 4, (">= 12", ">= 30"))):
        mixture = data(200, n, 15)
        start = first_guess(MemoryEngine(mixture.Y), 15, np.random.default_rng(0))
        found: dict[str, NDArray] = {}

        def ours(n_iter: int | str, mixture=mixture, start=start, found=found) -> None:  # type: ignore[no-untyped-def]
            found[str(n_iter)] = ngmca.separate(
                mixture.Y, 15, method=ngmca.Soft(n_iter=n_iter), start=start, threads=1, n_init=1
            ).S

        def plain(mixture=mixture, start=start, stop=stop, found=found) -> None:  # type: ignore[no-untyped-def]
            found["paper"] = paper_scheme.separate(mixture.Y, *start, stop=stop)[1]

        times = side_by_side(
            {"paper": plain, "500": lambda: ours(500), "auto": lambda: ours("auto")},
            repeats=3 if stop > 10 else 1,
        )
        whole = times["paper"] * 500 / stop
        sdr = {name: ngmca.evaluate(mixture.S, S).mean_sdr for name, S in found.items()}
        note = f"SDR {sdr['500']:.2f}, auto {sdr['auto']:.2f}"
        note += (
            f", paper's scheme {sdr['paper']:.2f} dB"
            if stop == 500
            else f" dB; scaled up from {stop} iterations"
        )
        rows.append(Row(f"paper's scheme / separate, n = {n:,}", whole / times["500"], limits[0], note))
        rows.append(Row(f"paper's scheme / separate auto, n = {n:,}", whole / times["auto"], limits[1]))
    return rows


def factorisation() -> list[Row]:
    rows = []
    for m, n, r, limit in (
        (200, 20_000, 15, 0.5),
        (2000, 2000, 15, 0.5),
        (200, 200, 15, 1.0),
        (200, 200, 5, 1.0),
        (50, 5000, 15, 1.0),
        (50, 5000, 5, 1.0),
    ):
        Y = np.maximum(data(m, n, r).Y, 0)
        rng = np.random.default_rng(0)
        scale = 2 * np.sqrt(Y.mean() / r)
        start = scale * rng.random((m, r)), scale * rng.random((r, n))

        def peer(solver: str, Y=Y, r=r, start=start) -> float:  # type: ignore[no-untyped-def]
            model = NMF(r, init="custom", solver=solver, max_iter=100, tol=0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                W = model.fit_transform(Y, W=start[0].copy(), H=start[1].copy())
            return float(np.sum((Y - W @ model.components_) ** 2) / 2)

        goal = peer("cd")
        costs = ngmca.separate(
            Y, r, method=ngmca.Anls(n_iter=200, tol=0), start=start, threads=1, n_init=1
        ).history.cost
        enough = first_below(costs, goal)
        times = side_by_side(
            {
                "anls": lambda Y=Y, r=r, k=enough, start=start: ngmca.separate(
                    Y, r, method=ngmca.Anls(n_iter=k), start=start, threads=1, n_init=1
                ),
                "cd": lambda peer=peer: peer("cd"),
                "mu": lambda peer=peer: peer("mu"),
            },
            repeats=5 if m * n < 10**6 else 2,
        )
        label = f"{m:,} x {n:,}, r = {r}"
        note = f"{enough} iterations to cd's cost after 100; mu ends {peer('mu') / goal - 1:+.1%}"
        rows.append(Row(f"anls / sklearn cd, {label}", times["anls"] / times["cd"], f"<= {limit}", note))
    return rows


def growth() -> list[Row]:
    """One iteration against the size; r against growth with r^2 from r = 15."""

    def seconds(m: int, n: int, r: int) -> float:
        _, states = states_of(data(m, n, r).Y, r, n_iter=30)
        advance(states, 15)
        return side_by_side({"": lambda: next(states)}, repeats=6)[""]

    base = seconds(200, 20_000, 15)
    rows = [
        Row(f"r = {r}, over r^2 growth from 15", seconds(200, 20_000, r) / base / (r / 15) ** 2, "<= 2")
        for r in (40, 100)
    ]
    for axis, sizes in (
        ("n", [(200, 5000, 15), (200, 20_000, 15), (200, 80_000, 15)]),
        ("m", [(50, 20_000, 15), (200, 20_000, 15), (800, 20_000, 15)]),
    ):
        times = [seconds(*size) for size in sizes]
        exponent = np.polyfit(np.log([1, 4, 16]), np.log(times), 1)[0]
        rows.append(Row(f"exponent of growth with {axis}", float(exponent)))
    return rows


def threads() -> list[Row]:
    rows = []
    for m, n, limit in (
        (200, 200_000, ">= 1.7"),
        (200, 20_000, ">= 0.95"),
        (200, 2000, ">= 0.95"),
        (200, 200, ">= 0.95"),
        (20_000, 200, ">= 0.95"),
    ):
        Y = data(m, n, 15).Y
        runs = {k: states_of(Y, 15, n_iter=100, threads=k)[1] for k in (1, 2)}
        for states in runs.values():
            advance(states, 12)
        many = 1 if m * n > 10**6 else 10
        times = side_by_side(
            {
                str(k): lambda states=states, many=many: advance(states, many)
                for k, states in runs.items()
            },
            repeats=10 if many == 1 else 4,
            clock=time.perf_counter,
            of_turns=min,
        )
        rows.append(Row(f"1 thread / 2 threads, {m:,} x {n:,}", times["1"] / times["2"], limit))
    return rows


def single_precision() -> list[Row]:
    mixture = data(200, 200_000, 15)
    runs, sdr = {}, {}
    for dtype in (np.float64, np.float32):
        Y = mixture.Y.astype(dtype)
        runs[dtype.__name__] = states_of(Y, 15, n_iter=60)[1]
        sdr[dtype.__name__] = ngmca.evaluate(
            mixture.S, ngmca.separate(Y, 15, seed=0, n_init=1).S
        ).mean_sdr
    for states in runs.values():
        advance(states, 20)
    times = side_by_side({name: lambda s=states: next(s) for name, states in runs.items()}, repeats=8)
    return [
        Row("float64 / float32, 200 x 200,000", times["float64"] / times["float32"], ">= 1.6"),
        Row("SDR lost to float32 in dB", abs(sdr["float64"] - sdr["float32"]), "<= 0.05"),
    ]


def roofline() -> list[Row]:
    """What the machine can do, and what share of it a sweep gets."""
    rng = np.random.default_rng(0)
    square, line = rng.random((1500, 1500)), rng.random(20_000_000)
    rows = []
    for p_S in (0.1, 0.3):
        engine, states = states_of(data(200, 20_000, 15, p_S).Y, 15, n_iter=60)
        before, now = advance(states, 40), next(states)
        assert isinstance(before, ngmca.State)
        solve = s_step(now.lam, Options())
        times = side_by_side(
            {
                "multiply": lambda: square @ square,
                "read": line.sum,
                "sweep": lambda e=engine, A=now.A, b=before, s=solve: e.sweep(A, b.S, s),
            },
            repeats=5,
        )
        peak, bandwidth = 2 * 1500**3 / times["multiply"], line.nbytes / times["read"]
        flops = 2 * 2 * 200 * 20_000 * 15 + 2 * 20_000 * 15 * 15
        traffic = 8 * 20_000 * (200 + 2 * 15)  # Y read once, S read and written
        if not rows:
            rows.append(Row("peak of matrix products, GFLOP/s", peak / 1e9))
            rows.append(Row("reading memory, GB/s", bandwidth / 1e9))
        label = f"200 x 20,000, r = 15, p_S = {p_S}"
        rows.append(
            Row(
                f"share of peak, sweep {label}",
                flops / times["sweep"] / peak,
                note=f"{flops / 1e6:.0f} MFLOP",
            )
        )
        rows.append(
            Row(
                f"share of bandwidth, sweep {label}",
                traffic / times["sweep"] / bandwidth,
                note=f"{traffic / 1e6:.0f} MB",
            )
        )
    return rows


def profile() -> list[Row]:
    """Where the time of one iteration goes, in the middle of 500."""
    rows = []
    for n, at in ((200, 300), (20_000, 100)):
        Y = data(200, n, 15).Y
        engine, states = states_of(Y, 15, n_iter=500)
        before, now = advance(states, at), next(states)
        assert isinstance(before, ngmca.State)
        probe, turns = (
            MemoryEngine(Y),
            cycle((before, now)),
        )  # as in a run, levels are close to the last ones
        A, X = now.A, np.ascontiguousarray(before.S.T)
        G, C = A.T @ A, Y.T @ A
        step = engine._step(15)
        blocks = [slice(j, j + step) for j in range(0, n, step)]
        sweep = engine.sweep(A, before.S, s_step(now.lam, Options()))
        times = side_by_side(
            {
                "A'Y and YS', block by block": lambda: [(Y[:, b].T @ A, Y[:, b] @ X[b]) for b in blocks],
                "pivoting": lambda: solve_rows(G, C, X.copy(), now.lam, unit=True),
                "SS'": lambda: [X[b].T @ X[b] for b in blocks],
                "A-step": lambda: a_step(engine, sweep, A, Options(), bounded=False),
                "noise": lambda: probe.noise((state := next(turns)).A, state.S),
                "whole iteration": lambda: next(states),
            },
            repeats=7,
        )
        whole = times.pop("whole iteration")
        rows += [Row(f"{name}, n = {n:,}", seconds / whole) for name, seconds in times.items()]
        rows.append(
            Row(
                f"the rest, n = {n:,}",
                1 - sum(times.values()) / whole,
                note=f"whole iteration {whole * 1e3:.2f} ms",
            )
        )
    return rows


MEMORY = """
import gc, re, sys, numpy as np, ngmca
def memory(field):  # in MB
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
m, n, r, dtype = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
ngmca.separate(np.random.default_rng(0).random((20, 50)).astype(dtype), 2, method=ngmca.Soft(n_iter=3), n_init=1)
rng = np.random.default_rng(0)
Y = np.empty((m, n), dtype=dtype)
A = rng.random((m, r)).astype(dtype)
for j in range(0, n, 1000):
    S = rng.exponential(size=(r, 1000)) * (rng.random((r, 1000)) < 0.3)
    Y[:, j:j + 1000] = A @ S + 0.3 * rng.standard_normal((m, 1000))
gc.collect()
open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew
before = memory("VmRSS")
ngmca.separate(Y, r, method=ngmca.Soft(n_iter=5), n_init=1)
print(memory("VmHWM") - before)
"""


def memory() -> list[Row]:
    rows = []
    for m, n, dtype in (
        (200, 200_000, "float64"),
        (200, 200_000, "float32"),
        (50, 1_000_000, "float64"),
    ):
        arguments = [str(m), str(n), "15", dtype]
        out = subprocess.run(
            [sys.executable, "-c", MEMORY, *arguments], capture_output=True, text=True, check=True
        )
        allowed = 3 * 15 * n * np.dtype(dtype).itemsize / 2**20 + 64
        note = f"{float(out.stdout):.0f} MB beyond Y, S is {15 * n * np.dtype(dtype).itemsize / 2**20:.0f} MB"
        rows.append(
            Row(f"{m:,} x {n:,} {dtype}, over 3 S + 64 MB", float(out.stdout) / allowed, "<= 1", note)
        )
    return rows


def startup() -> list[Row]:
    def process(code: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    separate = "ngmca.separate(np.ones((5, 9)), 2, method=ngmca.Soft(n_iter=2), n_init=1)"
    call = f"import numpy as np, ngmca; {separate}"
    times = side_by_side(
        {
            "sklearn": process("import sklearn.decomposition"),
            "ngmca": process("import ngmca"),
            "first call": process(call),
        },
        repeats=5,
        clock=time.perf_counter,
    )
    return [
        Row("import ngmca / import sklearn.decomposition", times["ngmca"] / times["sklearn"], "<= 1.5"),
        Row("import and first separate, in seconds", times["first call"]),
        *command_runs(),
    ]


def command_runs() -> Iterator[Row]:
    """Seconds of `ngmca separate` on a small file with an empty cache of kernels, and a second time."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        data = ngmca.datasets.path("reaction")
        for which, goal in (("first", "<= 10"), ("later", "<= 2")):
            command = ["separate", str(data), "-r", "3", "-o", f"{folder}/{which}", "--quiet"]
            begun, used = time.perf_counter(), time_of_children()
            subprocess.run([sys.executable, "-m", "ngmca", *command], check=True, env=environment)
            seconds = time.perf_counter() - begun
            note = f"{time_of_children() - used:.1f} s of processor time"
            yield Row(f"{which} run of the command, in seconds", seconds, goal, note)


def time_of_children() -> float:
    """Return the processor time of the processes that have ended."""
    used = os.times()
    return used.children_user + used.children_system


def others() -> list[Row]:
    """100 iterations of other libraries' plain factorisation against anls to the same cost."""
    Y = np.maximum(data(200, 2000, 10).Y, 0)
    rows = []
    for name, run in (("tensorly", _tensorly), ("nimfa", _nimfa)):
        try:
            seconds, cost = run(Y, 10)
        except (ImportError, AttributeError) as error:  # not there, or too old for this NumPy
            print(f"{name} did not run: {error}")
            continue
        costs = ngmca.separate(
            Y, 10, method=ngmca.Anls(n_iter=200, tol=0), seed=0, threads=1, n_init=1
        ).history.cost
        enough = first_below(costs, cost)
        start = time.process_time()
        ngmca.separate(Y, 10, method=ngmca.Anls(n_iter=enough), seed=0, threads=1, n_init=1)
        rows.append(Row(f"anls / {name}, 200 x 2,000, r = 10", (time.process_time() - start) / seconds))
    return rows


def _tensorly(Y: NDArray, r: int) -> tuple[float, float]:
    from tensorly.decomposition import non_negative_parafac_hals

    start = time.process_time()
    weights, (A, B) = non_negative_parafac_hals(Y, r, n_iter_max=100, tol=0, random_state=0)
    seconds = time.process_time() - start
    return seconds, float(np.sum((Y - (A * weights) @ B.T) ** 2) / 2)


def _nimfa(Y: NDArray, r: int) -> tuple[float, float]:
    import nimfa

    start = time.process_time()
    fit = nimfa.Nmf(Y, rank=r, max_iter=100, update="euclidean", objective="fro", seed="random_vcol")()
    seconds = time.process_time() - start
    return seconds, float(np.sum((Y - fit.fitted()) ** 2) / 2)


def bands() -> list[Row]:
    """A default run where sources are bands, over `soft` alone."""
    rows = []
    for m, n, r, limit in ((40, 1024, 5, 12), (200, 20_000, 15, 15)):
        mixture = ngmca.simulate.bands(m, n, r, fwhm=(10.0, 60.0), snr=25.0, seed=0)
        found: dict[str, ngmca.Separation] = {}

        def run(domain: str, Y: NDArray = mixture.Y, r: int = r, found: dict = found) -> None:
            found[domain] = ngmca.separate(Y, r, seed=0, domain=domain, threads=1, n_init=1)

        times = side_by_side(
            {"direct": lambda: run("direct"), "auto": lambda: run("auto")}, repeats=2 if n > 2000 else 9
        )
        sdr = {name: ngmca.evaluate(mixture.S, one.S).mean_sdr for name, one in found.items()}
        assert found["auto"].domain.name == "wavelet"
        note = f"SDR {sdr['direct']:.1f}, in wavelets {sdr['auto']:.1f} dB"
        name = f"wavelets / soft, {m} x {n:,}, r = {r}"
        rows.append(Row(name, times["auto"] / times["direct"], f"<= {limit}", note))
    return rows


def counts() -> list[Row]:
    """Maps of counts that begin with a part of their measurements, over those that do not."""
    rows = []
    for m, level in ((6000, 30.0), (6000, 5.0)):
        rng, channels = np.random.default_rng(0), np.arange(2048)
        centres = rng.uniform(0, 2048, (4, 6, 1)), rng.uniform(6, 20, (4, 6, 1))
        shapes = np.exp(-(((channels - centres[0]) / centres[1]) ** 2) / 2)
        S = 0.02 + (rng.uniform(0.3, 1, (4, 6, 1)) * shapes).sum(axis=1)
        Y = rng.poisson(level * rng.dirichlet(np.full(4, 0.5), m) @ S).astype(float)
        found: dict[int, ngmca.Separation] = {}

        def run(entries: int, Y: NDArray = Y, found: dict = found) -> None:
            kept, begin_with_part.LARGE_ENTRIES = begin_with_part.LARGE_ENTRIES, entries
            found[entries] = ngmca.separate(Y, 4, noise="poisson", seed=0, threads=1, n_init=1)
            begin_with_part.LARGE_ENTRIES = kept

        part, whole = Y.size, Y.size + 1
        times = side_by_side({"part": lambda: run(part), "whole": lambda: run(whole)}, repeats=1)
        sdr = {entries: ngmca.evaluate(S, one.S).mean_sdr for entries, one in found.items()}
        note = f"SDR {sdr[whole]:.1f}, with a part {sdr[part]:.1f} dB"
        name = f"with a part / without, {m:,} x 2,048, {level:g} in the largest peak"
        rows.append(Row(name, times["part"] / times["whole"], "<= 0.5", note))
    return rows


ALL: dict[str, tuple[str, Callable[[], list[Row]]]] = {
    "sweep": ("A sweep and a whole iteration, over the two bare matrix products", sweep),
    "paper": ("The paper's scheme in plain NumPy (80 FISTA steps) over separate", against_paper),
    "factorisation": (
        "Plain factorisation to the cost of scikit-learn's cd after 100 iterations",
        factorisation,
    ),
    "bands": ("Lines and bands: a default run over soft channel by channel", bands),
    "counts": ("Maps of counts that begin with a part of the measurements", counts),
    "others": ("Plain factorisation against other libraries", others),
    "growth": ("Growth of one iteration with the size", growth),
    "threads": ("Threads", threads),
    "float32": ("Single precision", single_precision),
    "memory": ("Peak memory beyond Y", memory),
    "roofline": ("What the machine can do, and what of it is used", roofline),
    "profile": ("Shares of one iteration", profile),
    "startup": ("Import and first call", startup),
}
