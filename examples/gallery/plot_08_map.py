"""
A hyperspectral map
===================

A cube of 30 x 40 pixels with 120 channels. Pixels are measurements: the amounts of each source are a map.
"""

import numpy as np
from matplotlib import pyplot as plt

import ngmca

y, x = np.mgrid[:30, :40]
maps = np.stack(
    [np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / 90) for cx, cy in ((10, 8), (28, 12), (18, 24))], -1
)
S = ngmca.simulate.bands(m=3, n=120, r=3, bands=3, snr=None, seed=4).S
clean = maps @ S
cube = clean + 0.05 * clean.max() * np.random.default_rng(0).standard_normal(clean.shape)

result = ngmca.separate(cube.reshape(-1, 120), 3)
order, _ = ngmca.metrics.matched_rows(S, result.S)
found = result.A[:, order].reshape(30, 40, 3)

# %%
figure, panels = plt.subplots(2, 3, figsize=(9, 5), layout="constrained")
for i in range(3):
    panels[0, i].imshow(found[..., i])
    panels[0, i].set(title=f"map of source {i + 1}", xticks=[], yticks=[])
    panels[1, i].plot(S[i] / S[i].max(), color="0.7", lw=4)
    panels[1, i].plot(result.S[order[i]] / result.S[order[i]].max(), "r", lw=1)
    panels[1, i].set_xlabel("channel")
plt.show()
