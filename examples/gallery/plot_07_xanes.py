"""
X-ray absorption near the edge (XANES)
======================================

A metal is oxidised while its edge is measured. The spectra are not sparse: each is a step with a few peaks. Fractions that sum
to 1 and a first spectrum that is known keep the answer in place.
"""

import numpy as np
from matplotlib import pyplot as plt

import ngmca

energy = np.linspace(7100, 7200, 201)


def edge(position: float, peak: float) -> np.ndarray:
    """A step and a peak behind it."""
    step = 0.5 + np.arctan((energy - position) / 2) / np.pi
    return step + peak * np.exp(-0.5 * ((energy - position - 6) / 4) ** 2)


S = np.stack([edge(7112, 0.2), edge(7120, 0.5), edge(7125, 0.9)])
time = np.linspace(0, 10, 40)
a, c = np.exp(-0.6 * time), (1 - np.exp(-0.3 * time)) ** 2
A = np.column_stack([a, 1 - a - c, c])
Y = A @ S + 0.004 * np.random.default_rng(0).standard_normal((40, 201))
reference = ngmca.KnownSources(S[[0, 2]])
found = ngmca.separate(Y, 3, constraints=[ngmca.Closure(), reference])

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
left.plot(energy, S.T, color="0.7", lw=4)
left.plot(energy, found.S.T)
left.set(title="spectra (grey: truth)", xlabel="energy [eV]")
right.plot(time, A, color="0.7", lw=4)
right.plot(time, found.A)
right.set(title="fractions", xlabel="time [min]")
plt.show()
