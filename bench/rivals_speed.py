"""Time of `hals` to the cost that scikit-learn's coordinate descent has after 100 iterations.

    python bench/rivals_speed.py

Both start from the same factors, on the same non-negative data, in this process, with one thread, and
take turns; the ratio is that of the fastest of several runs each.
"""

import os
import platform
import time
import warnings

import numba
import numpy as np
import sklearn
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import ngmca
from ngmca import rivals

SHAPES = ((200, 200), (200, 20_000), (2_000, 2_000))
R = 15
ITERATIONS = 100


def main() -> None:
    print(
        f"ngmca {ngmca.__version__}, scikit-learn {sklearn.__version__}, numpy {np.__version__}, "
        f"numba {numba.__version__}, Python {platform.python_version()}, {platform.machine()}, "
        f"{os.cpu_count()} cores, 1 thread\n"
    )
    print(f"r = {R}, p_S = 0.3, 15 dB, negative entries set to 0; {ITERATIONS} iterations of cd\n")
    print("| data | cd, s | hals, s | hals / cd | iterations of hals |")
    print("|---|---|---|---|---|")
    with threadpool_limits(1):
        for shape in SHAPES:
            print(line(*shape), flush=True)


def line(m: int, n: int) -> str:
    mixture = ngmca.simulate.sparse(m, n, R, snr=15, seed=0)
    Y = np.maximum(mixture.Y, 0)
    rng = np.random.default_rng(1)
    scale = np.sqrt(Y.mean() / R)
    start = scale * rng.random((m, R)), scale * rng.random((R, n))
    target = coordinate_descent(Y, start)
    needed = iterations_to(Y, start, target)
    rounds = 15 if Y.size < 1e5 else 3
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(seconds(lambda: coordinate_descent(Y, start)))
        ours.append(seconds(lambda: rivals.hals(Y, R, n_iter=needed, start=start)))
    ratio = min(ours) / min(theirs)
    return f"| {m} x {n} | {min(theirs):.3f} | {min(ours):.3f} | {ratio:.2f} | {needed} |"


def coordinate_descent(Y, start) -> float:
    """Cost 1/2 |Y - WH|^2 of scikit-learn's solver after the iterations."""
    model = NMF(R, init="custom", solver="cd", tol=0.0, max_iter=ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit_transform(Y, W=start[0].copy(), H=start[1].copy())
    return model.reconstruction_err_**2 / 2


def iterations_to(Y, start, target: float) -> int:
    """The first iteration of `hals` whose cost is not above the target."""
    cost = rivals.hals(Y, R, n_iter=4 * ITERATIONS, start=start).cost
    reached = np.flatnonzero(cost <= target)
    if not reached.size:
        raise SystemExit(f"hals did not reach {target} in {4 * ITERATIONS} iterations: {cost[-1]}")
    return int(reached[0]) + 1


def seconds(work) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
