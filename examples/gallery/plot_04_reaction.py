"""
A reaction with known points
============================

Two samples of the reaction were also measured by a chromatograph. Known amounts, fractions that sum to 1 and a rate law
make the answer exact in its scale.
"""

import numpy as np
from matplotlib import pyplot as plt

import ngmca

sample = ngmca.datasets.reaction()
amounts = np.full(sample.A.shape, np.nan)
amounts[[5, 20]] = sample.A[[5, 20]]
known = ngmca.separate(sample.data, 3, constraints=[ngmca.KnownMixing(amounts), ngmca.Closure()])
law = ngmca.separate(
    sample.data, 3, constraints=[ngmca.Kinetics("A -> B -> C", times=sample.data.row_axis)]
)
for name, found in (("known points", known), ("kinetics", law)):
    print(f"{name}: fractions are off by at most {np.abs(found.A - sample.A).max():.3f}")
print("\n".join(law.rates.words()) if law.rates else "")

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 3.4), sharey=True, layout="constrained")
for panel, title, found in zip(panels, ("two known points", "a rate law"), (known, law), strict=True):
    panel.plot(sample.data.row_axis, sample.A, color="0.7", lw=4)
    panel.plot(sample.data.row_axis, found.A, label=["A", "B", "C"])
    panel.set(title=title, xlabel="time [min]")
panels[0].set_ylabel("fraction; grey: truth")
panels[0].plot(np.asarray(sample.data.row_axis)[[5, 20]], sample.A[[5, 20]], "ko", mfc="none")
panels[1].legend()
plt.show()
