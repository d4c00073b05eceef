"""The sub-problem on a CUDA card: columns that stay there, and the kernels that solve for them.

CuPy is loaded when a card is asked for, and nowhere else. A `Card` makes arrays with the functions of
`xp`, which have NumPy's names: tests put NumPy, and the kernels compiled for the CPU, in their place.
"""

from ngmca.engines.gpu.columns import Columns
from ngmca.engines.gpu.cuda_driver import CardError
from ngmca.engines.gpu.device import MEDIAN_OF, MOST_SOURCES, TILE, Card, levels_room, open_card

__all__ = [
    "MEDIAN_OF",
    "MOST_SOURCES",
    "TILE",
    "Card",
    "CardError",
    "Columns",
    "levels_room",
    "open_card",
]
