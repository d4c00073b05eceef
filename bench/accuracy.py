"""Mean SDR of the three algorithms over 12 simulations a setting: `python bench/accuracy.py`.

The floors are what the library promises at m = n = 200; the orders are the paper's.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import ngmca

# p_S, SNR in dB, r, tau, methods, floor of soft in dB
SETTINGS = [
    (0.1, 15.0, 15, 1.0, ("soft", "hard", "naive"), 26.0),
    (0.3, 15.0, 15, 1.0, ("soft", "soft, unbounded", "hard", "naive"), 21.0),
    (0.3, 30.0, 15, 1.0, ("soft", "soft, unbounded"), 35.5),
    (0.5, 15.0, 15, 1.0, ("soft", "soft, unbounded"), 17.4),
    (0.8, None, 40, 0.0, ("soft", "hard", "naive"), 19.5),
    (0.8, None, 5, 0.0, ("soft", "hard", "naive"), 0.0),
]


def score(task: tuple) -> float:
    p_S, snr, r, tau, method, seed = task
    data = ngmca.simulate.sparse(r=r, p_S=p_S, snr=snr, seed=seed)
    name, *switch = method.split(", ")
    result = ngmca.separate(data.Y, r, method=name, tau=tau, bounded=not switch, seed=seed)
    return ngmca.evaluate(data.S, result.S).mean_sdr


def square(task: tuple[str, int]) -> float:
    """As many measurements as sources; raises if anything is not finite."""
    method, seed = task
    data = ngmca.simulate.sparse(m=15, n=200, r=15, p_S=0.3, snr=15, seed=seed)
    result = ngmca.separate(data.Y, 15, method=method, seed=seed)
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
    with ProcessPoolExecutor(args.processes) as pool:
        for p_S, snr, r, tau, methods, floor in SETTINGS:
            label = "noiseless" if snr is None else f"{snr:g} dB"
            print(f"p_S = {p_S}, {label}, r = {r}, tau = {tau:g}")
            for method in methods:
                tasks = [(p_S, snr, r, tau, method, seed) for seed in range(args.seeds)]
                scores = np.array(list(pool.map(score, tasks)))
                spread = scores.std() / np.sqrt(len(scores))
                verdict = f"   floor {floor}" if method == "soft" and floor else ""
                print(f"  {method:16} {scores.mean():6.2f} +- {spread:.2f} dB{verdict}", flush=True)
                missed += method == "soft" and scores.mean() < floor
        print(f"m = r = 15, 15 dB, p_S = 0.3, {args.square} simulations, warnings are errors")
        for method in ("soft", "hard", "naive"):
            scores = np.array(list(pool.map(square, [(method, seed) for seed in range(args.square)])))
            print(f"  {method:16} {scores.mean():6.2f} dB, all finite", flush=True)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
