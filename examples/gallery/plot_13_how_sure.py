"""
How sure? Error bars, and what else would fit
=============================================

Noise moves the answer: error bars say how far. Other mixtures of the sources may fit as well: feasible bands say how far those go.
"""

import numpy as np
from matplotlib import pyplot as plt

import ngmca

sample = ngmca.datasets.reaction()
found = ngmca.separate(sample.data, 3)
verdict = ngmca.judge(sample.data.Y, found)
print(verdict.colour, verdict.text)
bars = ngmca.posterior(sample.data.Y, found)
low, high = bars.S.interval(0.9)
bands = ngmca.ambiguity(sample.data, found)

# %%
axis = np.asarray(sample.data.axis)
figure, panel = plt.subplots(figsize=(7, 3.6), layout="constrained")
for i in range(3):
    panel.fill_between(axis, low[i], high[i], alpha=0.4)
    panel.plot(axis, found.S[i], lw=0.8)
panel.set(title="spectra with error bars", xlabel="wavelength [nm]")
bands.plot(sample.data)
plt.show()
