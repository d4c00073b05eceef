"""Six samples at the same twelve excitations: what common profiles tell.

python examples/trilinear.py [picture]
"""

import sys

import numpy as np
from matplotlib import pyplot

import ngmca

rng = np.random.default_rng(1)
x, excitation = np.linspace(0, 1, 80), np.linspace(0, 1, 12)
S = 0.2 + np.exp(-((x - np.array([[0.35], [0.5], [0.65]])) ** 2) / 0.03)  # emission spectra
profiles = 0.2 + np.exp(-((excitation[:, None] - np.array([0.3, 0.7, 0.5])) ** 2) / 0.1)
amounts = rng.random((6, 3)) + 0.1
samples = [(profiles * one) @ S + 0.02 * rng.standard_normal((12, 80)) for one in amounts]


def unit(spectra: np.ndarray) -> np.ndarray:
    """Return spectra with a largest entry of 1, in the order of their maxima."""
    found = spectra / spectra.max(axis=1, keepdims=True)
    return np.asarray(found[np.argsort(found.argmax(axis=1))])


free = ngmca.separate(samples, 3)
common = ngmca.separate(samples, 3, constraints=[ngmca.Trilinear()])
for name, found in (("free profiles", free), ("common profiles", common)):
    print(f"{name}: spectra are off by at most {np.abs(unit(found.S) - unit(S)).max():.3f}")

figure, panels = pyplot.subplots(1, 3, figsize=(11, 3), layout="constrained", sharey=True)
for k, panel in enumerate(panels):
    panel.plot(x, unit(S)[k], color="0.7", linewidth=4, label="true")
    panel.plot(x, unit(free.S)[k], color="C1", linewidth=1, label="free profiles")
    panel.plot(x, unit(common.S)[k], color="C0", linewidth=1, label="Trilinear()")
    panel.set_title(f"source {k + 1}", fontsize=10)
    panel.set_xlabel("emission")
panels[0].legend(frameon=False, fontsize=8)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=100)
