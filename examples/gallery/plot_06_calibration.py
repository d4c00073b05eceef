"""
Calibration with few standards, beside PLS
==========================================

Five of 25 infrared mixtures have known concentrations. `quantify` gives a unit to the amounts of the separation; PLS learns
from the same five.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cross_decomposition import PLSRegression

import ngmca

sample = ngmca.datasets.mixtures()
result = ngmca.separate(sample.data, 3, constraints=[ngmca.Baseline("splines")])
rows = np.arange(0, 25, 5)
rest = np.setdiff1d(np.arange(25), rows)
standards = {"measurement": (rows + 1).tolist()}
standards |= {name: sample.A[rows, j].tolist() for j, name in enumerate(sample.substances)}
amounts = ngmca.quantify(result, standards, data=ngmca.io.Dataset(sample.data.Y))
pls = PLSRegression(3, scale=False).fit(sample.data.Y[rows], sample.A[rows]).predict(sample.data.Y)

# %%
figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for panel, title, values in zip(panels, ("ngmca", "PLS"), (amounts.values, pls), strict=True):
    error = np.sqrt(np.nanmean((values - sample.A)[rest] ** 2))
    panel.plot(sample.A[rest], values[rest], ".")
    panel.plot([0, 1], [0, 1], color="0.6")
    panel.set(title=f"{title}: error {error:.3f}", xlabel="true concentration")
panels[0].set_ylabel("predicted")
plt.show()
