"""
Infrared bands
==============

Broad bands that overlap. Channel by channel, noise and neighbours disturb them; in wavelets a band is a few numbers.
"""

from matplotlib import pyplot as plt

import ngmca

mixture = ngmca.simulate.bands(m=40, n=600, r=4, snr=20, seed=1)
both = {domain: ngmca.separate(mixture.Y, 4, domain=domain) for domain in ("direct", "auto")}

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True, layout="constrained")
titles = ("channel by channel", "in wavelets (automatic)")
for panel, title, found in zip(panels, titles, both.values(), strict=True):
    score = ngmca.evaluate(mixture.S, found.S)
    panel.plot(mixture.S.T, color="0.7", lw=3)
    panel.plot(score.S.T, lw=0.9)
    panel.set(title=f"{title}: {score.mean_sdr:.1f} dB", xlabel="channel")
panels[0].set_ylabel("spectra; grey: truth")
plt.show()
