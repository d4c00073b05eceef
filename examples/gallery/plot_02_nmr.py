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
# Each found spectrum is beside the compound that it fits best, on its scale.
figure, panels = plt.subplots(4, 1, figsize=(8, 6), sharex=True, layout="constrained")
for panel, name, true, spectrum in zip(panels, mixture.names, mixture.S, score.S, strict=True):
    panel.plot(mixture.axis, true, color="0.6", lw=3)
    panel.plot(mixture.axis, spectrum, "r", lw=0.8)
    panel.set(yticks=[], ylabel=name)
figure.suptitle("true (grey) and found (red) spectra")
panels[-1].set(xlabel="chemical shift [ppm]", xlim=(6, 0.5))
plt.show()
