"""
Mixtures of NMR spectra
=======================

Thirty mixtures of four metabolites, with noise at 15 dB. Lines are found in a wavelet basis, which `separate` chooses by itself.
"""

from matplotlib import pyplot as plt

import ngmca

mixture = ngmca.simulate.nmr(m=30, n=1000, r=4, snr=15, seed=3)
found = ngmca.separate(mixture.Y, 4)
score = ngmca.evaluate(mixture.S, found.S)
print(found.domain.why, f"{score.mean_sdr:.1f} dB")

# %%
order, _ = ngmca.metrics.matched_rows(mixture.S, found.S)
figure, panels = plt.subplots(4, 1, figsize=(8, 6), sharex=True, layout="constrained")
for panel, true, i in zip(panels, mixture.S, order, strict=True):
    panel.plot(true / true.max(), color="0.6", lw=3)
    panel.plot(found.S[i] / found.S[i].max(), "r", lw=0.8)
panels[0].set_title("true (grey) and found (red) spectra")
panels[-1].set_xlabel("channel")
plt.show()
