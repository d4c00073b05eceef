"""Error bars where the model is right, and where it is wrong: `python examples/error_bars.py -o DIR`."""

import argparse
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import ngmca
from ngmca.simulate import Mixture


def poisson(seed: int) -> Mixture:
    """Counts: the noise grows with the signal."""
    clean = ngmca.simulate.sparse(100, 300, 8, p_S=0.2, seed=seed)
    signal = clean.A @ clean.S
    counts = 20 / signal.mean()
    Y = np.random.default_rng(seed).poisson(counts * signal) / counts
    return Mixture(Y=Y, A=clean.A, S=clean.S, noise=Y - signal)


def draw(axes: Axes, data: Mixture, source: int, window: slice, title: str, *, tau: float = 1.0) -> None:
    """One source: the truth, what `soft` finds, the posterior mean and its 90 % intervals."""
    separation = ngmca.separate(data.Y, len(data.S), method=ngmca.Soft(tau=tau), seed=0)
    posterior = ngmca.posterior(data.Y, separation, seed=0)
    truth = data.S[source] * np.linalg.norm(data.A[:, source])
    found = ngmca.evaluate(data.S, posterior.S.mean).order[source]
    soft = ngmca.evaluate(data.S, separation.S).order[source]
    low, high = (end[found] for end in posterior.S.interval(0.9))
    x = np.arange(len(truth))[window]
    axes.fill_between(x, low[window], high[window], step="mid", color="C0", alpha=0.35, label="90 %")
    axes.step(x, posterior.S.mean[found][window], where="mid", color="C0", label="posterior mean")
    axes.step(x, separation.S[soft][window], where="mid", color="C1", lw=0.8, label="soft")
    axes.plot(x, truth[window], "k.", ms=4, label="truth")
    inside = ((low <= truth) & (truth <= high))[truth > posterior.noise.mean.max()]
    axes.set_title(f"{title}: {inside.mean():.0%} inside", fontsize=9)


def main() -> None:
    """Draw four cases into posterior.png."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=Path())
    args = parser.parse_args()
    warnings.filterwarnings("ignore", "the chains disagree|sampling stopped")
    figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
    sparse = ngmca.simulate.sparse(p_S=0.1, snr=10, seed=0)
    draw(axes[0, 0], sparse, 0, slice(0, 100), "the model's own data, 10 dB")
    names = [*ngmca.simulate.DEFAULT_COMPOUNDS[:-1], "beta-glucose"]
    nmr = ngmca.simulate.nmr(60, 1200, 15, compounds=names, snr=15, seed=0)
    draw(axes[0, 1], nmr, 14, slice(740, 840), "NMR: beta-glucose, which hides taurine", tau=2.0)
    bands = ngmca.simulate.spectra(m=60, n=400, r=5, lines=6, width=8.0, snr=20, seed=0)
    draw(axes[1, 0], bands, 0, slice(0, 400), "broad overlapping bands")
    draw(axes[1, 1], poisson(0), 0, slice(0, 100), "Poisson noise")
    axes[0, 0].legend(fontsize=8)
    figure.savefig(args.out / "posterior.png", dpi=90)
    print(args.out / "posterior.png")


if __name__ == "__main__":
    main()
