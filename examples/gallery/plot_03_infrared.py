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
for panel, (domain, found) in zip(panels, both.items(), strict=True):
    order, _ = ngmca.metrics.matched_rows(mixture.S, found.S)
    true, estimate = mixture.S, found.S[order]
    panel.plot((true / true.max(axis=1, keepdims=True)).T, color="0.7", lw=3)
    panel.plot((estimate / estimate.max(axis=1, keepdims=True)).T, lw=0.9)
    panel.set(title=f"{domain}: {ngmca.evaluate(true, found.S).mean_sdr:.1f} dB", xlabel="channel")
plt.show()
