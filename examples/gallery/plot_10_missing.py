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
axis, times = np.asarray(sample.data.axis), np.asarray(sample.data.row_axis)
left.imshow(Y, aspect="auto", extent=(axis[0], axis[-1], times[-1], times[0]))
left.set(title="data; white is missing", xlabel="wavelength [nm]", ylabel="time [min]")
score = ngmca.evaluate(sample.S, found.S)
right.plot(axis, sample.S.T, color="0.7", lw=3)
right.plot(axis, score.S.T, lw=1)
right.set(title=f"spectra: {score.mean_sdr:.1f} dB (grey: truth)", xlabel="wavelength [nm]")
plt.show()
