"""
A baseline
==========

The mixtures of this sample stand on a smooth baseline. The automatic choice does not see it here; ``Baseline("splines")`` fits it
together with the sources.
"""

import numpy as np
from matplotlib import pyplot as plt

import ngmca

sample = ngmca.datasets.mixtures()
answers = {
    "automatic": ngmca.separate(sample.data, 3),
    "splines": ngmca.separate(sample.data, 3, constraints=[ngmca.Baseline("splines")]),
}
for name, found in answers.items():
    print(name, "fits a background:", found.background is not None)

# %%
figure, panels = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
panels[0].plot(sample.data.axis, sample.data.Y.T, color="0.5", lw=0.5)
panels[0].set(title="measurements", xlabel="wavenumber [cm-1]")
for panel, (name, found) in zip(panels[1:], answers.items(), strict=True):
    order, _ = ngmca.metrics.matched_rows(sample.S, found.S)
    close = [np.corrcoef(s, found.S[i])[0, 1] for s, i in zip(sample.S, order, strict=True)]
    panel.plot(sample.data.axis, (sample.S / sample.S.max(axis=1, keepdims=True)).T, color="0.7", lw=3)
    panel.plot(sample.data.axis, (found.S[order] / found.S[order].max(axis=1, keepdims=True)).T, lw=1)
    panel.set(title=f"{name}: correlations from {min(close):.2f}", xlabel="wavenumber [cm-1]")
plt.show()
