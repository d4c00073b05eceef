"""
Two techniques, the same samples
================================

Infrared and Raman spectra of the same samples have the same amounts. Separated together, each technique tells apart what
the other confuses.
"""

import numpy as np
from matplotlib import pyplot as plt

import ngmca

rng = np.random.default_rng(0)
A = rng.random((30, 3))
parts = [ngmca.simulate.bands(m=3, n=n, r=3, snr=None, seed=seed).S for n, seed in ((300, 1), (250, 2))]
infrared, raman = (A @ S + 0.05 * S.max() * rng.standard_normal((30, S.shape[1])) for S in parts)
raman *= 1000.0  # other units
alone = ngmca.separate(infrared, 3)
both = ngmca.separate([infrared, raman], 3, shared="mixing")

# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for panel, title, found in zip(panels, ("infrared alone", "both"), (alone, both), strict=True):
    values = ngmca.metrics.matched_rows(A.T, found.A.T)
    order, sdr = values
    panel.plot(A, found.A[:, order] / found.A[:, order].max(axis=0) * A.max(axis=0), ".")
    panel.plot([0, 1], [0, 1], color="0.6")
    panel.set(title=f"{title}: {np.mean(sdr):.1f} dB", xlabel="true amounts", ylabel="found amounts")
plt.show()
