"""
A map in a Dask array
=====================

Blocks of a Dask array stay on their workers. Here the workers are threads of this computer; a cluster is used in the same way.
"""

import dask
import dask.array as da
import numpy as np
from matplotlib import pyplot as plt

import ngmca

amounts = ngmca.simulate.images(m=1, shape=(60, 60), r=3, seed=0).S.T  # pixels x substances
spectra = ngmca.simulate.bands(m=1, n=200, r=3, snr=None, seed=1).S
clean = amounts @ spectra
noise = 0.5 * clean.std() * np.random.default_rng(0).standard_normal(clean.shape)
pixels = da.from_array(clean + noise, chunks=(900, 200))
with dask.config.set(scheduler="threads"):
    found = ngmca.separate(pixels, 3, n_init=1)

# %%
# Amounts of the three substances: above the truth, below what was found.
score = ngmca.evaluate(amounts.T, found.A.T)
figure, panels = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
for i in range(3):
    for panel, image in zip(panels[:, i], (amounts[:, i], score.S[i]), strict=True):
        panel.imshow(image.reshape(60, 60), vmin=0, vmax=amounts[:, i].max())
        panel.set(xticks=[], yticks=[])
    panels[1, i].set_title(f"{score.sdr[i]:.0f} dB")
panels[0, 0].set_ylabel("true")
panels[1, 0].set_ylabel("found")
plt.show()
