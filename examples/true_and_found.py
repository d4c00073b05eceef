"""Separate a simulated noisy mixture, print how well each source was found, and draw them."""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np

import ngmca

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sources", type=int, default=6)
    parser.add_argument("--snr", type=float, default=15.0, help="signal-to-noise ratio in dB")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("true_and_found"))
    args = parser.parse_args()

    data = ngmca.simulate.sparse(m=40, n=200, r=args.sources, p_S=0.1, snr=args.snr, seed=args.seed)
    result = ngmca.separate(data.Y, args.sources, seed=args.seed, progress=True)
    score = ngmca.evaluate(data.S, result.S, noise=data.noise)

    print(f"{args.sources} sources in {data.Y.shape[0]} measurements at {args.snr:g} dB")
    print(f"stopped after {result.n_iter} iterations ({result.stopped}), ", end="")
    print(f"KKT violation {result.violation:.1e}")
    print(f"noise: found {result.noise.mean():.3f}, true {data.noise.std():.3f}")
    for i, (sdr, sir) in enumerate(zip(score.sdr, score.sir, strict=True), start=1):
        print(f"  source {i}: SDR {sdr:5.1f} dB   SIR {sir:5.1f} dB")
    print(f"  mean    : SDR {score.mean_sdr:5.1f} dB")

    args.out.mkdir(parents=True, exist_ok=True)
    picture = args.out / "sources.png"
    draw(data, score).savefig(picture, dpi=120)
    print(f"true and found sources: {picture.resolve()}")


def draw(data: ngmca.simulate.Mixture, score: ngmca.metrics.Evaluation) -> Figure:
    """True and found sources, one panel each, below one of the measurements."""
    r = len(data.S)
    figure, panels = plt.subplots(
        r + 1, 1, figsize=(9, 1.3 * (r + 1)), sharex=True, layout="constrained"
    )
    samples = np.arange(data.Y.shape[1])
    panels[0].plot(samples, data.Y[0], color="0.35", linewidth=0.8)
    panels[0].set_title("one of the measurements", loc="left", fontsize=9)
    for i, panel in enumerate(panels[1:]):
        panel.vlines(samples, 0, data.S[i], color="0.75", linewidth=3, label="true")
        panel.plot(samples, score.S[i], color="C3", linewidth=1, label="found")
        panel.set_title(f"source {i + 1}: SDR {score.sdr[i]:.1f} dB", loc="left", fontsize=9)
    panels[1].legend(loc="upper right", ncols=2, fontsize=8, frameon=False)
    panels[-1].set_xlabel("sample")
    for panel in panels:
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=7)
    return figure


if __name__ == "__main__":
    main()
