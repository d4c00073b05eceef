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
    ("A baseline that the automatic\nchoice misses? (Raman, infrared)", "yes", 'Baseline("polynomial")'),
    ("Broad look-alike spectra?\n(UV, XANES)", "yes", "Closure(), Unimodal(),\nKnownMixing(...)"),
    ("Excitation x emission? (EEM)", "yes", "Trilinear()"),
    ("All techniques", "with what you added", "ngmca.separate(Y, r, ...)"),
]
ELSEWHERE = 2  # so many answers at the top lead to other programs
DOWN = ["yes", "no: ngmca", *["also"] * 4, "then"]


def settings() -> None:
    """Questions from top to bottom; each answer leads to the right."""
    figure, panel = plt.subplots(figsize=(6.4, 8.5), layout="constrained")
    box = {"boxstyle": "round,pad=0.5", "fc": "#e8eef7", "ec": "#34609c"}
    for i, (question, answer, setting) in enumerate(STEPS):
        y = len(STEPS) - i
        panel.text(0.25, y, question, ha="center", va="center", bbox=box, fontsize=10)
        panel.annotate("", (0.62, y), (0.46, y), arrowprops={"arrowstyle": "->"})
        panel.text(0.54, y + 0.06, answer, ha="center", va="bottom", fontsize=8)
        colour = "#fbeadb" if i < ELSEWHERE else "#eef7e8"
        panel.text(
            0.8, y, setting, ha="center", va="center", family="monospace", bbox=box | {"fc": colour}
        )
        if i + 1 < len(STEPS):
            panel.annotate("", (0.25, y - 0.68), (0.25, y - 0.3), arrowprops={"arrowstyle": "->"})
            panel.text(0.27, y - 0.5, DOWN[i], va="center", fontsize=8)
    panel.set(xlim=(0, 1), ylim=(0.5, len(STEPS) + 0.5))
    panel.axis("off")
    figure.savefig(PICTURES / "which-tool.svg", metadata={"Date": None})


def failure(name: str, Y: np.ndarray, S: np.ndarray) -> ngmca.Separation:
    """True and found sources of a case."""
    found = ngmca.separate(Y, len(S))
    score = ngmca.evaluate(S, found.S)
    figure, panels = plt.subplots(1, len(S), figsize=(10, 2.6), sharey=True, layout="constrained")
    for panel, true, spectrum in zip(panels, S, score.S, strict=True):
        panel.plot(true / true.max(), color="0.65", lw=3)
        panel.plot(spectrum / max(spectrum.max(), 1e-12), "r", lw=1)
        panel.set_xlabel("channel")
        panel.set_title(f"correlation {np.corrcoef(true, spectrum)[0, 1]:.2f}")
    print(f"{name}: {ngmca.judge(Y, found).colour}")
    figure.savefig(PICTURES / f"fails-{name}.png", dpi=90)
    return found


def failures() -> None:
    """The four cases of when-it-fails.md."""
    rng = np.random.default_rng(0)
    g = gaussian_filter1d(rng.random((4, 300)), 6, axis=1)
    g = (g - g.min(axis=1, keepdims=True)) / np.ptp(g, axis=1)[:, None]
    S = 0.7 * g[-1] + 0.3 * g[:-1]
    Y = (0.1 + 0.7 * rng.dirichlet(np.ones(3), 40)) @ S  # at least 10 % of each in every mixture
    Y += 0.01 * Y.std() * rng.standard_normal(Y.shape)
    print(ngmca.ambiguity(Y, failure("alike", Y, S)))
    x = ngmca.simulate.spectra(m=40, n=300, r=3, snr=30, seed=0)
    at, moves = np.arange(300), rng.normal(0, 2.5, 40)
    Y = np.array([a @ [np.interp(at + d, at, s) for s in x.S] for a, d in zip(x.A, moves, strict=True)])
    failure("shift", Y + (x.Y - x.A @ x.S), x.S)
    x = ngmca.simulate.bands(m=3, n=300, r=3, snr=15, seed=1)
    failure("few", x.Y, x.S)
    sample = ngmca.datasets.mixtures()
    hump = np.exp(-0.5 * ((np.asarray(sample.data.axis) - 1150) / 80) ** 2)
    heights = 0.5 * np.random.default_rng(1).random((len(sample.data.Y), 1))
    Y = sample.data.Y + heights * hump
    failure("baseline", Y, sample.S)
    four = ngmca.evaluate(sample.S, ngmca.separate(Y, 4).S).S
    same = [np.corrcoef(s, t)[0, 1] for s, t in zip(sample.S, four, strict=True)]
    print(
        "the same with four sources: correlations", np.round(same, 2), "rank", ngmca.choose_rank(Y).rank
    )


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
