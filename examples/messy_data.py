"""Messy data and constraints, one picture for each topic: `python examples/messy_data.py FOLDER`.

Each function is a complete example: simulated data with a problem of real data, the call that solves it,
and a plain call. Titles show the mean SDR of the sources in dB.
docs/reference/constraints.md shows the pictures.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import ngmca

R = 3
COLOURS = ("tab:blue", "tab:orange", "tab:green")


def mixture(m: int = 30, snr: float = 25.0, seed: int = 4) -> ngmca.simulate.Mixture:
    return ngmca.simulate.bands(m=m, n=400, r=R, bands=6, fwhm=(6, 25), snr=snr, seed=seed)


def sdr(S: Any, found: Any, first: int = 0) -> float:
    return float(np.mean(ngmca.evaluate(S, found.S).sdr[first:]))


def draw_sources(axes: Any, S: Any, found: Any, title: str, first: int = 0) -> None:
    """Draw found sources over the true ones in the same order, each divided by its maximum."""
    order = ngmca.evaluate(S, found.S).order
    for k, colour in enumerate(COLOURS):
        axes.plot(S[k] / S[k].max(), color="0.75", linewidth=4)
        one = found.S[order[k]]
        axes.plot(one / (one.max() or 1), color=colour, linewidth=1)
    axes.set_title(f"{title}: {sdr(S, found, first):.1f} dB", fontsize=10)
    axes.set_yticks([])


def before_and_after(
    S: Any, plain: Any, cared: Any, name: str, data: Any, shown: str, first_unknown: int = 0
) -> Figure:
    """The data, the sources of a plain separation, and those of one that knows."""
    figure, (first, second, third) = plt.subplots(1, 3, figsize=(11, 2.8), layout="constrained")
    data(first)
    first.set_title(shown, fontsize=10)
    draw_sources(second, S, plain, "plain", first_unknown)
    draw_sources(third, S, cared, name, first_unknown)
    return figure


def missing() -> Figure:
    data, rng = mixture(), np.random.default_rng(0)
    Y = data.Y.copy()
    Y[rng.random(Y.shape) < 0.2] = np.nan  # single entries
    Y[5:15, 100:180] = np.nan  # a block
    Y[:, 300:304] = np.nan  # bad channels
    cared = ngmca.separate(Y, R, seed=0)  # warns of the channels of which nothing is left
    plain = ngmca.separate(np.nan_to_num(Y), R, seed=0)
    image = lambda axes: axes.imshow(Y, aspect="auto", cmap="viridis")  # noqa: E731
    return before_and_after(data.S, plain, cared, "missing entries as such", image, "white is missing")


def levels() -> Figure:
    data, rng = mixture(snr=200), np.random.default_rng(1)
    clean = data.A @ data.S
    sigma = 0.05 * clean.std() * np.where(np.arange(len(clean)) < 15, 1, 20)
    Y = clean + sigma[:, None] * rng.standard_normal(clean.shape)
    plain, cared = ngmca.separate(Y, R, seed=0), ngmca.separate(Y, R, noise=sigma, seed=0)
    rows = lambda axes: axes.plot(Y[[0, 20]].T + np.r_[0, 1.3 * clean.max()], linewidth=0.8)  # noqa: E731
    return before_and_after(data.S, plain, cared, "noise=sigma", rows, "a good and a bad measurement")


def counts() -> Figure:
    data, rng = mixture(snr=200), np.random.default_rng(2)
    clean = np.maximum(data.A @ data.S, 0)
    Y = rng.poisson(10 * clean / clean.mean())
    plain, cared = ngmca.separate(Y, R, seed=0), ngmca.separate(Y, R, noise="poisson", seed=0)
    row = lambda axes: axes.plot(Y[0], linewidth=0.8)  # noqa: E731
    return before_and_after(data.S, plain, cared, 'noise="poisson"', row, "counts of a measurement")


def spikes() -> Figure:
    data, rng = mixture(), np.random.default_rng(3)
    Y, hit = data.Y.copy(), rng.random(data.Y.shape) < 0.002
    Y[hit] += rng.uniform(20, 100, hit.sum()) * np.std(data.Y - data.A @ data.S)
    plain, cared = ngmca.separate(Y, R, seed=0), ngmca.separate(Y, R, robust=True, seed=0)

    def marked(axes: Any) -> None:
        axes.plot(Y[:5].T, linewidth=0.6, color="0.5")
        assert cared.outliers is not None
        listed = cared.outliers[cared.outliers[:, 0] < 5]
        axes.plot(listed[:, 1], Y[tuple(listed.T)], "rx")

    return before_and_after(
        data.S, plain, cared, "robust=True", marked, "five measurements, outliers found"
    )


def known() -> Figure:
    data = mixture(m=6, snr=15)
    plain = ngmca.separate(data.Y, R, seed=0)
    cared = ngmca.separate(data.Y, R, constraints=[ngmca.KnownSources(data.S[:1])], seed=0)
    given = lambda axes: axes.plot(data.S[0])  # noqa: E731
    return before_and_after(
        data.S, plain, cared, "known_sources, the other two", given, "what is known", first_unknown=1
    )


def closure() -> Figure:
    data, rng = mixture(snr=200), np.random.default_rng(4)
    A = rng.dirichlet(np.ones(R), 30)
    clean = A @ data.S
    Y = clean + 0.02 * clean.std() * rng.standard_normal(clean.shape)
    found = ngmca.separate(Y, R, constraints=[ngmca.Closure()], seed=0)
    order = ngmca.evaluate(data.S, found.S).order
    figure, (first, second) = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained")
    for k, colour in enumerate(COLOURS):
        first.plot(A[:, k], found.A[:, order[k]], "o", color=colour, markersize=4)
    first.plot([0, 1], [0, 1], color="0.6")
    first.set(
        xlabel="true fraction", ylabel="found fraction", title="closure=True: fractions, not shapes"
    )
    draw_sources(second, data.S, found, "sources")
    return figure


def profiles() -> Figure:
    data, rng = mixture(snr=200), np.random.default_rng(5)
    t = np.arange(40)[:, None]
    A = np.exp(-0.5 * ((t - [12, 18, 26]) / 5) ** 2)
    clean = A @ data.S
    Y = clean + 0.5 * clean.std() * rng.standard_normal(clean.shape)
    figure, panels = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained", sharey=True)
    for axes, given in zip(panels, ([], [ngmca.Unimodal()]), strict=True):
        found = ngmca.separate(Y, R, constraints=given, seed=0)
        order = ngmca.evaluate(data.S, found.S).order
        for k, colour in enumerate(COLOURS):
            axes.plot(A[:, k] / np.linalg.norm(A[:, k]), color="0.75", linewidth=4)
            axes.plot(found.A[:, order[k]], color=colour)
        axes.set_title(f"constraints={given!r}", fontsize=10)
    return figure


def several() -> Figure:
    data = mixture(m=16, snr=15)
    first, second = data.Y[:8], data.Y[8:]
    alone, together = ngmca.separate(first, R, seed=0), ngmca.separate([first, second], R, seed=0)
    both = lambda axes: axes.imshow(np.vstack([first, second]), aspect="auto")  # noqa: E731
    return before_and_after(
        data.S, alone, together, "[Y1, Y2]", both, "two data sets, 8 measurements each"
    )


def baseline() -> Figure:
    data, rng = mixture(), np.random.default_rng(7)
    n = data.Y.shape[1]
    curves = rng.random((30, 4)) @ ngmca.backgrounds.polynomial(n, 3)
    curves *= 2 * (data.A @ data.S).max() / curves.max()
    Y = data.Y + curves
    plain, cared = (
        ngmca.separate(Y, R, seed=0),
        ngmca.separate(Y, R, constraints=[ngmca.Baseline("polynomial")], seed=0),
    )

    def shown(axes: Any) -> None:
        axes.plot(Y[:3].T, linewidth=0.8)
        assert cared.background is not None
        axes.plot(cared.background.values[:3].T, "k--", linewidth=0.8)

    return before_and_after(
        data.S, plain, cared, 'baseline="polynomial"', shown, "data and background found"
    )


TOPICS: dict[str, Callable[[], Figure]] = {
    "missing": missing,
    "levels": levels,
    "counts": counts,
    "spikes": spikes,
    "known": known,
    "closure": closure,
    "profiles": profiles,
    "several": several,
    "baseline": baseline,
}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "messy-data")
    folder.mkdir(exist_ok=True)
    for name, make in TOPICS.items():
        figure = make()
        figure.savefig(folder / f"{name}.png", dpi=90)
        plt.close(figure)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main()
