"""
X-ray absorption near the edge (XANES)
======================================

A metal is oxidised in two steps while its edge is measured (simulated). Every spectrum is a step with a peak behind it, and
the intermediate is never alone. The first and the last spectrum are known from references, and fractions sum to 1. Is that enough?
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
references = ngmca.KnownSources(S[[0, 2]], sources=[0, 2])
alone = ngmca.separate(Y, 3, constraints=[ngmca.Closure(), references])

# %%
# It is not: a mixture of the intermediate with the others fits as well. One sample of a known composition decides
# it, here at 3.6 minutes.
amounts = np.full(A.shape, np.nan)
amounts[14] = A[14]
helped = ngmca.separate(Y, 3, constraints=[ngmca.Closure(), references, ngmca.KnownMixing(amounts)])
for name, found in (("references", alone), ("references and one sample", helped)):
    print(f"{name}: fractions are off by at most {np.abs(found.A - A).max():.2f}")

# %%
figure, panels = plt.subplots(2, 2, figsize=(10, 6), sharex="col", layout="constrained")
for (left, right), title, found in zip(
    panels, ("references known", "and one sample known"), (alone, helped), strict=True
):
    left.plot(energy, S.T, color="0.7", lw=4)
    left.plot(energy, found.S.T)
    left.set(title=f"spectra, {title} (grey: truth)", xlim=(7100, 7160))
    right.plot(time, A, color="0.7", lw=4)
    right.plot(time, found.A)
    right.set(title=f"fractions, {title}")
panels[1, 0].set_xlabel("energy [eV]")
panels[1, 1].set_xlabel("time [min]")
plt.show()
