"""
Data larger than memory
=======================

A memory map is read in blocks. The same call works for HDF5 and Zarr arrays.
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import ngmca

mixture = ngmca.simulate.spectra(m=60, n=20_000, r=3, snr=10, seed=0)
folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "data.npy"
np.save(file, mixture.Y)
found = ngmca.separate(np.load(file, mmap_mode="r"), 3, n_init=1)
print(found)

# %%
# One of 60 measurements, and the three spectra found in them. Grey is the truth.
score = ngmca.evaluate(mixture.S, found.S)
figure, panels = plt.subplots(4, 1, figsize=(9, 6), sharex=True, layout="constrained")
panels[0].plot(mixture.Y[0], lw=0.4)
panels[0].set_ylabel("measured")
for i, panel in enumerate(panels[1:]):
    panel.plot(mixture.S[i], color="0.7", lw=3)
    panel.plot(score.S[i], "r", lw=0.8)
    panel.set_ylabel(f"{score.sdr[i]:.0f} dB")
panels[-1].set(xlabel="channel")
plt.show()
