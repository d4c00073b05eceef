"""Draw pictures of the site: `python docs/draw.py` (the first picture, the figure of settings, and those of failures)."""

import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scipy.ndimage import gaussian_filter1d

mpl.use("Agg")
from matplotlib import pyplot as plt

import ngmca

PICTURES = Path(__file__).parent / "pictures"
GALLERY = Path(__file__).parent.parent / "examples" / "gallery"
STEPS = [
    ("Do you want spectra?", "no, only concentrations,\nmany standards", "PLS"),
    ("Are all spectra known?", "yes", "scipy.optimize.nnls"),
    ("Are the data counts?\n(EDS, EELS, mass spectra)", "yes", 'noise="poisson"'),
    ("Cosmic rays or spikes?\n(Raman)", "yes", "robust=True"),
    ("A baseline that the automatic\nchoice misses? (Raman, infrared)", "yes", 'Baseline("splines")'),
    ("Broad look-alike spectra?\n(UV, XANES)", "yes", "Closure(), Unimodal(),\nKnownMixing(...)"),
    ("Excitation x emission? (EEM)", "yes", "Trilinear()"),
    ("NMR, maps, anything else", "", "ngmca.separate(Y, r)"),
]


def settings() -> None:
    """Questions from top to bottom; each answer leads to the right."""
    figure, panel = plt.subplots(figsize=(8, 9), layout="constrained")
    box = {"boxstyle": "round,pad=0.5", "fc": "#e8eef7", "ec": "#34609c"}
    for i, (question, answer, setting) in enumerate(STEPS):
        y = len(STEPS) - i
        panel.text(0.25, y, question, ha="center", va="center", bbox=box, fontsize=10)
        panel.annotate("", (0.62, y), (0.46, y), arrowprops={"arrowstyle": "->"})
        panel.text(0.54, y + 0.06, answer, ha="center", va="bottom", fontsize=8)
        panel.text(
            0.8, y, setting, ha="center", va="center", family="monospace", bbox=box | {"fc": "#eef7e8"}
        )
        if i + 1 < len(STEPS):
            panel.annotate("", (0.25, y - 0.68), (0.25, y - 0.3), arrowprops={"arrowstyle": "->"})
    panel.set(xlim=(0, 1), ylim=(0.5, len(STEPS) + 0.5))
    panel.axis("off")
    figure.savefig(PICTURES / "which-tool.svg", metadata={"Date": None})


def failure(name: str, Y: np.ndarray, S: np.ndarray, **options: object) -> None:
    """True and found sources of a case."""
    found = ngmca.separate(Y, len(S), **options)
    order, _ = ngmca.metrics.matched_rows(S, found.S)
    figure, panels = plt.subplots(1, len(S), figsize=(10, 2.6), sharey=True, layout="constrained")
    for panel, true, i in zip(panels, S, order, strict=True):
        panel.plot(true / true.max(), color="0.65", lw=3)
        panel.plot(found.S[i] / max(found.S[i].max(), 1e-12), "r", lw=1)
        panel.set_xlabel("channel")
        panel.set_title(f"correlation {np.corrcoef(true, found.S[i])[0, 1]:.2f}")
    figure.savefig(PICTURES / f"fails-{name}.png", dpi=90)


def failures() -> None:
    """The four cases of when-it-fails.md."""
    rng = np.random.default_rng(0)
    g = gaussian_filter1d(rng.random((4, 300)), 6, axis=1)
    g = (g - g.min(axis=1, keepdims=True)) / np.ptp(g, axis=1)[:, None]
    S = 0.7 * g[-1] + 0.3 * g[:-1]
    Y = rng.dirichlet(np.ones(3), 40) @ S
    failure("alike", Y + 0.01 * Y.std() * rng.standard_normal(Y.shape), S)
    x = ngmca.simulate.spectra(m=40, n=300, r=3, snr=30, seed=0)
    at, moves = np.arange(300), rng.normal(0, 2.5, 40)
    Y = np.array([a @ [np.interp(at + d, at, s) for s in x.S] for a, d in zip(x.A, moves, strict=True)])
    failure("shift", Y + (x.Y - x.A @ x.S), x.S)
    x = ngmca.simulate.bands(m=3, n=300, r=3, snr=15, seed=1)
    failure("few", x.Y, x.S)
    sample = ngmca.datasets.mixtures()
    failure("baseline", sample.data.Y, sample.S)


def meats() -> None:
    """Amounts that were found without reference values, beside those that a laboratory measured."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))
    import calibration
    import real_mixtures

    data = calibration.meats()
    A = ngmca.separate(data.Y, data.sources).A
    each, sources = real_mixtures.assigned(A, data.known)
    figure, panels = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
    for j, panel in enumerate(panels):
        panel.plot(data.known[:, j], A[:, sources[j]], ".", ms=4)
        panel.set(title=f"{data.substances[j]}: correlation {each[j]:.2f}", xlabel="laboratory [%]")
    panels[0].set_ylabel("amount of the source")
    figure.savefig(PICTURES / "fails-meats.png", dpi=90)


if __name__ == "__main__":
    runpy.run_path(str(GALLERY / "plot_01_first_separation.py"))
    plt.gcf().savefig(PICTURES / "first.png", dpi=90)
    settings()
    failures()
    meats()
