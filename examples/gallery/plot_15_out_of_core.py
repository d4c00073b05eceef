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

mixture = ngmca.simulate.sparse(m=60, n=20_000, r=4, snr=20, seed=0)
folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "data.npy"
np.save(file, mixture.Y)
found = ngmca.separate(np.load(file, mmap_mode="r"), 4, n_init=1)

# %%
figure, panel = plt.subplots(figsize=(6, 3.6), layout="constrained")
panel.bar(range(1, 5), ngmca.evaluate(mixture.S, found.S).sdr)
panel.set(
    title="sources of a file read in blocks", xlabel="source", ylabel="SDR [dB]", xticks=range(1, 5)
)
plt.show()
