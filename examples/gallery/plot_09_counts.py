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
figure, (first, *panels) = plt.subplots(1, 3, figsize=(12, 3.4), layout="constrained")
first.vlines(range(300), 0, Y[0], lw=0.8)
first.set(title="one pixel of 400", xlabel="channel", ylabel="counts")
for panel, title, found in zip(panels, ("as white noise", "as counts"), (plain, counts), strict=True):
    score = ngmca.evaluate(S, found.S)
    panel.plot(S.T, color="0.7", lw=3)
    panel.plot(score.S.T, lw=0.9)
    panel.set(title=f"{title}: {score.mean_sdr:.1f} dB", xlabel="channel")
panels[0].set_ylabel("spectra; grey: truth")
plt.show()
