"""The sub-problem on a CUDA device: columns that stay there, and the kernels that solve for them.

CuPy is loaded when a GPU is asked for, and nowhere else. A `Device` makes arrays with the functions of
`xp`, which have NumPy's names: tests put NumPy, and the kernels compiled for the CPU, in their place.
"""

from ngmca.engines.gpu.columns import Columns
from ngmca.engines.gpu.cuda_driver import GpuError
from ngmca.engines.gpu.device import Device, open_device

__all__ = ["Columns", "Device", "GpuError", "open_device"]
