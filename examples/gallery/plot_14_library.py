"""
Names from a library
====================

`identify` compares the sources with reference spectra, and says how certain each name is.
"""

from matplotlib import pyplot as plt

import ngmca

sample = ngmca.datasets.reaction()
found = ngmca.separate(sample.data, 3)
library = {
    f"substance {name}": (sample.data.axis, s)
    for name, s in zip(sample.substances, sample.S, strict=True)
}
library |= {
    f"other {i}": (sample.data.axis, s)
    for i, s in enumerate(ngmca.simulate.bands(m=2, n=141, r=4, seed=9).S)
}
names = ngmca.identify(found, library, axis=sample.data.axis, unit="nm")
print(names)

# %%
names.plot()
plt.show()
