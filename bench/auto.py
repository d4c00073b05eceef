"""`n_iter="auto"` against 500 iterations over the paper's noisy experiments: `python bench/auto.py`.

Differences are paired: the same data and the same first guess. Times are processor times.
"""

import argparse
import sys
import time

import numpy as np

import ngmca

# m, r, p_S, SNR in dB, tau: the figures over the noise, over m and over r
SETTINGS = [
    *((200, 15, p_S, snr, 1.0) for p_S in (0.1, 0.3, 0.5) for snr in (10.0, 15.0, 20.0, 30.0)),
    *((m, 15, 0.3, 15.0, 1.0) for m in (20, 30, 50, 100)),
    *((200, r, 0.3, 15.0, 1.0) for r in (5, 25, 40)),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    args = parser.parse_args()
    worst, least = np.inf, np.inf
    print("    m   r  p_S    SNR   500 its   auto - 500 (s.e.)   faster")
    for m, r, p_S, snr, tau in SETTINGS:
        sdr, seconds = np.empty((2, args.seeds)), np.zeros(2)
        for seed in range(args.seeds):
            data = ngmca.simulate.sparse(m=m, r=r, p_S=p_S, snr=snr, seed=seed)
            for i, n_iter in enumerate((500, "auto")):
                start = time.process_time()
                result = ngmca.separate(
                    data.Y, r, method=ngmca.Soft(tau=tau, n_iter=n_iter), seed=seed, threads=1, n_init=1
                )
                seconds[i] += time.process_time() - start
                sdr[i, seed] = ngmca.evaluate(data.S, result.S).mean_sdr
        difference = sdr[1] - sdr[0]
        error = difference.std(ddof=1) / np.sqrt(args.seeds) if args.seeds > 1 else np.nan
        ratio = seconds[0] / seconds[1]
        print(
            f"{m:5} {r:3}  {p_S:.1f}  {snr:3g} dB  {sdr[0].mean():6.2f}   "
            f"{difference.mean():+6.3f} ({error:.3f})      {ratio:5.1f}x",
            flush=True,
        )
        worst = min(worst, difference.mean())
        least = min(least, ratio)
    print(
        f"auto - 500 is at least {worst:+.3f} dB in the mean, and auto at least {least:.1f} times faster"
    )
    return 0 if worst > -0.1 and least >= 3 else 1


if __name__ == "__main__":
    sys.exit(main())
