"""CuPy, where there is a card that it can calculate on."""

from functools import cache
from typing import Any


class CardError(RuntimeError):
    """There is no card to calculate on, or too little room on it."""


@cache
def cupy_of_card() -> Any:
    """CuPy, once a card has answered it."""
    try:
        import cupy
    except ImportError as error:
        raise CardError(
            f"device='cuda' needs CuPy, which cannot be loaded ({error}): install 'ngmca[gpu]', or the "
            "CuPy for your version of CUDA."
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
        cupy.cuda.device.get_cublas_handle()
        cupy.zeros(1).sum().item()
    except Exception as error:
        raise CardError(
            f"device='cuda' finds no card that CuPy {cupy.__version__} can calculate on: {error}. Check "
            "with nvidia-smi that there is one, and that CuPy is the one for its version of CUDA."
        ) from None
    if not count:
        raise CardError("device='cuda' finds no card: this machine has none that CUDA can use.")
    return cupy
