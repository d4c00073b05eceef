"""CuPy, where there is a GPU that it can calculate on."""

from functools import cache
from typing import Any


class GpuError(RuntimeError):
    """There is no GPU to calculate on, or too little room on it."""


@cache
def load_cupy() -> Any:
    """CuPy, once a GPU has answered it."""
    try:
        import cupy
    except ImportError as error:
        raise GpuError(
            f"device='cuda' needs CuPy, which cannot be loaded ({error}): install 'ngmca[gpu]', or the "
            "CuPy for your version of CUDA."
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
        cupy.cuda.device.get_cublas_handle()
        cupy.zeros(1).sum().item()
    except Exception as error:
        raise GpuError(
            f"device='cuda' finds no GPU that CuPy {cupy.__version__} can calculate on: {error}. Check "
            "with nvidia-smi that there is one, and that CuPy is the one for its version of CUDA."
        ) from None
    if not count:
        raise GpuError("device='cuda' finds no GPU: this machine has none that CUDA can use.")
    return cupy
