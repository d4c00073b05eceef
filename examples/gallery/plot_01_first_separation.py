"""
A first separation
==================

A reaction A -> B -> C was followed in the ultraviolet. From its 30 spectra alone, `separate` finds the spectra of the
three substances and their concentrations.
"""

from matplotlib import pyplot as plt

import ngmca

sample = ngmca.datasets.reaction()
data = sample.data
result = ngmca.separate(data, 3)
print(result)

# %%
# The truth of this sample is known: how near is the answer?
print(f"{ngmca.evaluate(sample.S, result.S).mean_sdr:.1f} dB (20 dB is an error of 10 %)")

# %%
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
left.plot(data.axis, data.Y.T, color="0.6", lw=0.6)
left.set(title="30 measurements", xlabel="wavelength [nm]", ylabel="absorbance")
middle.plot(data.axis, (result.S / result.S.max(axis=1, keepdims=True)).T)
middle.set(title="three spectra found", xlabel="wavelength [nm]")
right.plot(data.row_axis, result.A / result.A.max(axis=0))
right.set(title="and their amounts", xlabel="time [min]")
plt.show()
