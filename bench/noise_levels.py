"""The noise that a separation finds over the true one, and its SDR, by the number of measurements.

    python bench/noise_levels.py [--seeds 12] [--p-S 0.3] [--snr 15] [--picture docs/pictures/noise-before-after]

"before" is the level of the residual as it is, which is the paper's; "after" knows what the fit follows of
the noise. Both have the same data and first guesses. n = 200.
"""

import argparse
import sys

import numpy as np
from numpy.typing import NDArray

import ngmca
from ngmca.engines import by_residual, open_data

NUMBERS = {15: (15, 20, 30, 60, 200), 5: (5, 8, 15, 20, 30, 60, 200)}  # of measurements, for r sources
RUNS = {"before": (True, 1.0), "before, tau = 2": (True, 2.0), "after": (False, 1.0)}


def measured(m: int, r: int, p_S: float, snr: float, seeds: int) -> dict[str, NDArray]:
    """(seeds, 2) for each run: the level found over the true one, and the mean SDR of the sources."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in RUNS}
    for seed in range(seeds):
        data = ngmca.simulate.sparse(m=m, r=r, p_S=p_S, snr=snr, seed=seed)
        true = np.sqrt(np.mean(data.noise**2))
        for name, (before, tau) in RUNS.items():
            engine = open_data(data.Y, threads=1)
            engine = by_residual(engine) if before else engine
            result = ngmca.separate(
                engine, r, method=ngmca.Soft(tau=tau), domain="direct", seed=seed, n_init=1
            )
            ratio = np.sqrt(np.mean(result.noise**2)) / true
            found[name].append((float(ratio), ngmca.evaluate(data.S, result.S).mean_sdr))
    return {name: np.array(rows) for name, rows in found.items()}


def table(r: int, p_S: float, snr: float, seeds: int) -> dict[str, NDArray]:
    """Print one line for each number of measurements; (numbers, seeds) the ratios before and after."""
    print(f"\nr = {r}, p_S = {p_S}, {snr:g} dB, means of {seeds} seeds\n")
    print("| m | level before | after | SDR before, tau = 1 | before, tau = 2 | after, tau = 1 |")
    print("|---|---|---|---|---|---|")
    rows = []
    for m in NUMBERS[r]:
        found = measured(m, r, p_S, snr, seeds)
        (low, one), (_, two), (right, new) = (found[name].mean(axis=0) for name in RUNS)
        print(f"| {m} | {low:.2f} | {right:.2f} | {one:.2f} | {two:.2f} | {new:.2f} |", flush=True)
        rows.append([found[name][:, 0] for name in ("before", "after")])
    return dict(zip(("before", "after"), np.swapaxes(rows, 0, 1), strict=True))


def draw(ratios: dict[int, dict[str, NDArray]], path: str) -> None:
    """PATH.png: the level found over the true one, against the number of measurements."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, (r, found) in zip(
        figure.subplots(1, len(ratios), sharey=True), ratios.items(), strict=True
    ):
        axes.axhspan(0.9, 1.1, color="0.92")
        axes.axhline(1, color="0.6", linewidth=0.8)
        for (name, values), colour in zip(found.items(), ("#b5651d", "#1f5fa8"), strict=True):
            kept = {"capsize": 2, "color": colour, "marker": "o", "markersize": 4}
            axes.errorbar(NUMBERS[r], values.mean(axis=1), values.std(axis=1), label=name, **kept)
        axes.set(xscale="log", xticks=NUMBERS[r], xticklabels=NUMBERS[r], ylim=(0, 1.4))
        axes.set(title=f"{r} sources", xlabel="measurements")
        axes.minorticks_off()
    figure.axes[0].set_ylabel("noise found / true noise")
    figure.axes[0].legend(frameon=False, loc="lower right")
    figure.savefig(f"{path}.png", dpi=110, metadata={"Software": None})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--p-S", type=float, default=0.3)
    parser.add_argument("--snr", type=float, default=15.0)
    parser.add_argument("--picture")
    args = parser.parse_args()
    ratios = {r: table(r, args.p_S, args.snr, args.seeds) for r in NUMBERS}
    if args.picture:
        draw(ratios, args.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
