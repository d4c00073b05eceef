"""
X-ray counts (EDS)
==================

Each pixel has a few counts, and their variance is the signal. ``noise="poisson"`` says so.
"""

import numpy as np
from matplotlib import pyplot as plt

import ngmca

rng = np.random.default_rng(1)
S = ngmca.simulate.bands(m=3, n=300, r=3, bands=6, fwhm=(6, 10), snr=None, seed=5).S
A = rng.dirichlet(np.full(3, 0.4), 400)
clean = A @ S
Y = rng.poisson(clean * 2 / clean.mean()).astype(float)
plain, counts = ngmca.separate(Y, 3), ngmca.separate(Y, 3, noise="poisson")

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
for panel, title, found in zip(panels, ("as white noise", "as counts"), (plain, counts), strict=True):
    order, _ = ngmca.metrics.matched_rows(S, found.S)
    panel.plot((S / S.max(axis=1, keepdims=True)).T, color="0.7", lw=3)
    panel.plot((found.S[order] / found.S[order].max(axis=1, keepdims=True)).T, lw=0.9)
    panel.set(title=f"{title}: {ngmca.evaluate(S, found.S).mean_sdr:.1f} dB", xlabel="channel")
plt.show()
