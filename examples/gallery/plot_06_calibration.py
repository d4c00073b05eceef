"""
Calibration with few standards, beside PLS
==========================================

A real fermentation was followed in the infrared, and 34 samples of it were measured by a chromatograph (HPLC). Seven of these are
standards here, and the other 27 test. `separate` sees no concentration. `quantify` then turns its amounts into g/L with
the seven standards, and PLS learns from the same seven.

The data are in the package chemotools: ``pip install chemotools pandas``.
"""

import numpy as np
from chemotools.datasets import load_fermentation_test
from matplotlib import pyplot as plt
from sklearn.cross_decomposition import PLSRegression
from sklearn.model_selection import GridSearchCV, LeaveOneOut

import ngmca

spectra, hplc = load_fermentation_test()
print(spectra.shape, list(hplc.columns))

# %%
# There is a spectrum every 1.25 minutes. We take the mean of seven spectra around the time of each sample, and the
# range in which sugars and ethanol absorb.
axis = spectra.columns.to_numpy(dtype=float)
kept = (axis >= 950) & (axis <= 1500)
hours = hplc.iloc[:, 0].to_numpy()
places = np.rint(hours * 60 / 1.25).astype(int)
Y = np.stack([spectra.to_numpy()[max(0, i - 3) : i + 4, kept].mean(axis=0) for i in places])
result = ngmca.separate(Y, 4, constraints=[ngmca.Baseline("polynomial")])

# %%
# Standards are a table: the numbers of the measurements, and a column for each substance.
substances = ["glucose", "xylose", "ethanol"]
known = hplc[substances].to_numpy()
rows = np.arange(0, 34, 5)
rest = np.setdiff1d(np.arange(34), rows)
standards = {"measurement": (rows + 1).tolist()}
standards |= {name: known[rows, j].tolist() for j, name in enumerate(substances)}
amounts = ngmca.quantify(result, standards, data=ngmca.io.Dataset(Y))
print("\n".join(amounts.words))

# %%
# PLS gets a model for each substance. The number of its components is chosen by leaving out one standard after the other.
search = GridSearchCV(
    PLSRegression(scale=False),
    {"n_components": [1, 2, 3, 4, 5]},
    cv=LeaveOneOut(),
    scoring="neg_mean_squared_error",
)
pls = np.column_stack([search.fit(Y[rows], y[rows]).predict(Y) for y in known.T])

# %%
# How large are the errors of the samples that are no standards? The spectrum of the last sample is unlike all others, and
# PLS is far off there. So errors without it are printed as well. With many standards PLS catches up: :doc:`/how-to/how-much`.
for text, tested in (("27 samples", rest), ("26 samples, without the last", rest[:-1])):
    for name, found in (("ngmca", amounts.values), ("PLS", pls)):
        errors = np.sqrt(np.mean((found - known)[tested] ** 2, axis=0))
        print(
            f"{text}, {name}:",
            ", ".join(f"{s} {e:.2f} g/L" for s, e in zip(substances, errors, strict=True)),
        )

# %%
# Lines are the predictions for all 34 samples, dots the chromatograph, and circles the standards. PLS leaves the picture at the
# last sample.
figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for j, panel in enumerate(panels):
    panel.plot(hours, amounts.values[:, j], "r", label="ngmca")
    panel.plot(hours, pls[:, j], "b--", label="PLS")
    panel.plot(hours, known[:, j], "k.", label="HPLC")
    panel.plot(hours[rows], known[rows, j], "ko", mfc="none", ms=9, label="standards")
    panel.set(title=substances[j], xlabel="time [h]", ylim=(-6, 1.2 * known[:, j].max()))
panels[0].set_ylabel("concentration [g/L]")
panels[0].legend()
plt.show()
