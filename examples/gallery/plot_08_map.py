"""
A hyperspectral map
===================

Indian Pines is a real image of fields and woods, taken from an aeroplane: 145 x 145 pixels with 200 channels of reflected light.
Pixels are measurements, so the amounts of each source are a map. People on the ground noted what grows in each field,
and these classes were not used here.

The image is in the package tensorly: ``pip install tensorly``.
"""

from pathlib import Path

import numpy as np
import tensorly.datasets
from matplotlib import pyplot as plt

import ngmca

folder = Path(tensorly.datasets.__file__).parent / "data"
cube, classes = (np.load(folder / f"Indian_pines_{part}.npy") for part in ("corrected", "gt"))
height, width, channels = cube.shape
result = ngmca.separate(cube.reshape(-1, channels), 4)
maps = result.A.reshape(height, width, 4)

# %%
# Which class has the most of each source? Zero is ground without a class.
names = {2: "corn", 3: "corn", 4: "corn", 5: "grass, pasture", 6: "grass, trees", 8: "hay", 10: "soybean",
         11: "soybean", 12: "soybean", 14: "woods", 15: "buildings", 16: "stone and steel"}  # fmt: skip
shares = maps / maps.sum(axis=-1, keepdims=True)
for i in range(4):
    mean = {k: shares[classes == k, i].mean() for k in names}
    best = sorted(mean, key=lambda k: mean[k])[-3:][::-1]
    print(f"source {i + 1}:", ", ".join(f"{names[k]} {mean[k]:.0%}" for k in best))

# %%
figure, panels = plt.subplots(2, 5, figsize=(13, 5), layout="constrained")
panels[0, 0].imshow(np.where(classes == 0, np.nan, classes), cmap="tab20", interpolation="nearest")
panels[0, 0].set(title="classes on the ground", xticks=[], yticks=[])
panels[1, 0].axis("off")
for i in range(4):
    panels[0, i + 1].imshow(shares[..., i])
    panels[0, i + 1].set(title=f"share of source {i + 1}", xticks=[], yticks=[])
    panels[1, i + 1].plot(result.S[i] / result.S[i].max())
    panels[1, i + 1].set_xlabel("channel")
panels[1, 1].set_ylabel("spectrum")
plt.show()
