"""
Missing data
============

A third of the entries is missing. NaN is enough: they have no weight, and nothing is filled in before the fit.
"""

import numpy as np
from matplotlib import pyplot as plt

import ngmca

sample = ngmca.datasets.reaction()
Y = sample.data.Y.copy()
Y[np.random.default_rng(0).random(Y.shape) < 1 / 3] = np.nan
found = ngmca.separate(Y, 3)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
left.imshow(Y, aspect="auto")
left.set(title="data; white is missing", xlabel="channel", ylabel="measurement")
order, _ = ngmca.metrics.matched_rows(sample.S, found.S)
right.plot((sample.S / sample.S.max(axis=1, keepdims=True)).T, color="0.7", lw=3)
right.plot((found.S[order] / found.S[order].max(axis=1, keepdims=True)).T, lw=1)
right.set(title=f"spectra: {ngmca.evaluate(sample.S, found.S).mean_sdr:.1f} dB", xlabel="channel")
plt.show()
