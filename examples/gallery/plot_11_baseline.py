"""
A baseline
==========

The mixtures of this sample stand on a smooth baseline, which is different in each of them. Without a baseline in the model it gets
into the spectra. The default sees it, and fits it together with the sources. ``Baseline("polynomial")`` or ``Baseline("splines")``
chooses its kind.
"""

from matplotlib import pyplot as plt

import ngmca

sample = ngmca.datasets.mixtures()
answers = {
    "no baseline": ngmca.separate(sample.data, 3, constraints=[]),
    "automatic": ngmca.separate(sample.data, 3),
    "polynomial": ngmca.separate(sample.data, 3, constraints=[ngmca.Baseline("polynomial")]),
}
for name, found in answers.items():
    print(f"{name}: {ngmca.judge(sample.data.Y, found).colour}")

# %%
figure, panels = plt.subplots(1, 4, figsize=(14, 3.4), layout="constrained")
panels[0].plot(sample.data.axis, sample.data.Y.T, color="0.5", lw=0.5)
panels[0].set(title="measurements", xlabel="wavenumber [cm-1]")
for panel, (name, found) in zip(panels[1:], answers.items(), strict=True):
    score = ngmca.evaluate(sample.S, found.S)
    panel.plot(sample.data.axis, sample.S.T, color="0.7", lw=3)
    panel.plot(sample.data.axis, score.S.T, lw=1)
    panel.set(title=f"{name}: {score.mean_sdr:.1f} dB", xlabel="wavenumber [cm-1]")
panels[1].set_ylabel("spectra; grey: truth")
plt.show()
