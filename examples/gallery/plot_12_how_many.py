"""
How many sources?
=================

`choose_rank` gives a number, a range, and its reasons.
"""

from matplotlib import pyplot as plt

import ngmca

choice = ngmca.choose_rank(ngmca.datasets.reaction().data)
print(choice.rank, choice.range)
print(choice.advice)

# %%
choice.plot()
plt.show()
