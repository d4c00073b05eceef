"""Mean SDR of the three algorithms over 12 simulations a setting: `python bench/accuracy.py`.

The floors are what the library promises at m = n = 200, for 500 iterations; the orders are the paper's.
Warnings are errors, and the exit status is 1 if a floor or an order is missed.
"""

import argparse
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import ngmca

# p_S, SNR in dB, r, tau, methods, floor of soft in dB, and who should be above whom
SETTINGS = [
    (0.1, 15.0, 15, 1.0, ("soft", "auto", "hard", "naive"), 26.0, ("soft > hard", "soft > naive")),
    (0.3, 15.0, 15, 1.0, ("soft", "auto", "soft, unbounded", "hard", "naive"), 21.0, ()),
    (0.3, 30.0, 15, 1.0, ("soft", "auto", "soft, unbounded"), 35.5, ()),
    (0.5, 15.0, 15, 1.0, ("soft", "auto", "soft, unbounded"), 17.4, ()),
    (0.8, None, 40, 0.0, ("soft", "hard", "naive"), 19.5, ("soft > hard", "soft > naive")),
    (0.8, None, 5, 0.0, ("soft", "hard", "naive"), 0.0, ("hard > soft", "naive > soft")),
]


def score(task: tuple) -> float:
    p_S, snr, r, tau, method, seed = task
    data = ngmca.simulate.sparse(r=r, p_S=p_S, snr=snr, seed=seed)
    records = {
        "soft": ngmca.Soft(tau, n_iter=500),
        "auto": ngmca.Soft(tau),
        "soft, unbounded": ngmca.Soft(tau, n_iter=500, bounded=False),
        "hard": ngmca.Hard(tau, n_iter=500),
        "naive": ngmca.Naive(tau, n_iter=500),
    }
    result = ngmca.separate(data.Y, r, method=records[method], seed=seed, n_init=1)
    return ngmca.evaluate(data.S, result.S).mean_sdr


def square(task: tuple[str, int]) -> float:
    """As many measurements as sources; raises if anything is not finite."""
    method, seed = task
    data = ngmca.simulate.sparse(m=15, n=200, r=15, p_S=0.3, snr=15, seed=seed)
    record = {"soft": ngmca.Soft, "hard": ngmca.Hard, "naive": ngmca.Naive}[method]
    result = ngmca.separate(data.Y, 15, method=record(n_iter=500), seed=seed, n_init=1)
    if not all(np.isfinite(x).all() for x in (result.A, result.S, result.lam, result.noise)):
        raise FloatingPointError(f"{method}, seed {seed}: not finite")
    return ngmca.evaluate(data.S, result.S).mean_sdr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--square", type=int, default=200, help="simulations with m = r = 15")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    missed = 0
    with ProcessPoolExecutor(
        args.processes, initializer=warnings.simplefilter, initargs=("error",)
    ) as pool:
        for p_S, snr, r, tau, methods, floor, orders in SETTINGS:
            label = "noiseless" if snr is None else f"{snr:g} dB"
            print(f"p_S = {p_S}, {label}, r = {r}, tau = {tau:g}")
            means = {}
            for method in methods:
                tasks = [(p_S, snr, r, tau, method, seed) for seed in range(args.seeds)]
                scores = np.array(list(pool.map(score, tasks)))
                spread = scores.std() / np.sqrt(len(scores))
                verdict = f"   floor {floor}" if method == "soft" and floor else ""
                print(f"  {method:16} {scores.mean():6.2f} +- {spread:.2f} dB{verdict}", flush=True)
                means[method] = scores.mean()
                missed += method == "soft" and scores.mean() < floor
            for order in orders:
                higher, lower = order.split(" > ")
                holds = means[higher] > means[lower]
                print(f"  {order}: {'holds' if holds else 'DOES NOT HOLD'}")
                missed += not holds
        print(f"m = r = 15, 15 dB, p_S = 0.3, {args.square} simulations, warnings are errors")
        for method in ("soft", "hard", "naive"):
            scores = np.array(list(pool.map(square, [(method, seed) for seed in range(args.square)])))
            print(f"  {method:16} {scores.mean():6.2f} dB, all finite", flush=True)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
