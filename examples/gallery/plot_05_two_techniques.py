"""
Two techniques, the same samples
================================

Infrared and Raman spectra of the same samples have the same amounts. Two of these three substances have similar infrared spectra,
and two have similar Raman spectra. Separated together, each technique tells apart what the other confuses.
"""

import numpy as np
from matplotlib import pyplot as plt

import ngmca

rng = np.random.default_rng(0)
A = rng.random((30, 3))
measured = []
for n, similar in ((300, (0, 1)), (250, (1, 2))):
    S = ngmca.simulate.bands(m=1, n=n, r=3, bands=8, fwhm=(8, 30), snr=None, seed=rng).S
    S[similar[1]] = 0.3 * S[similar[1]] + 0.7 * S[similar[0]]
    clean = A @ S
    measured.append(clean + 0.1 * np.sqrt(np.mean(clean**2)) * rng.standard_normal(clean.shape))
infrared, raman = measured[0], 5000 * measured[1]  # other units
answers = {
    "infrared alone": ngmca.separate(infrared, 3),
    "Raman alone": ngmca.separate(raman, 3),
    "both": ngmca.separate([infrared, raman], 3, shared="mixing"),
}

# %%
figure, panels = plt.subplots(1, 3, figsize=(11, 3.8), sharey=True, layout="constrained")
for panel, (title, found) in zip(panels, answers.items(), strict=True):
    score = ngmca.evaluate(A.T, found.A.T)
    panel.plot(A, score.S.T, ".")
    panel.plot([0, 1], [0, 1], color="0.6")
    panel.set(title=f"{title}: {score.mean_sdr:.1f} dB", xlabel="true amount")
panels[0].set_ylabel("found amount")
plt.show()
