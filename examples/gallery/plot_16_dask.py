"""
A Dask array
============

Blocks of a Dask array stay on their workers. Here the workers are threads of this computer.
"""

import dask
import dask.array as da
from matplotlib import pyplot as plt

import ngmca

mixture = ngmca.simulate.sparse(m=40, n=4_000, r=3, snr=20, seed=0)
blocks = da.from_array(mixture.Y, chunks=(40, 1_000))
with dask.config.set(scheduler="threads"):
    found = ngmca.separate(blocks, 3, n_init=1)

# %%
figure, panel = plt.subplots(figsize=(6, 3.6), layout="constrained")
panel.bar(range(1, 4), ngmca.evaluate(mixture.S, found.S).sdr)
panel.set(title="sources of a Dask array", xlabel="source", ylabel="SDR [dB]", xticks=range(1, 4))
plt.show()
