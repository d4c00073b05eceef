"""CuPy, if there is a GPU that it can use."""

from functools import cache
from typing import Any

from ngmca._support.extras import pip_line
from ngmca._support.messages import message, option


class GpuError(RuntimeError):
    """There is no GPU to calculate on, or it has too little memory."""


@cache
def load_cupy() -> Any:
    """Return CuPy, once a GPU has answered it; raise a `GpuError` if none does."""
    cuda = option("device", "cuda")
    try:
        import cupy
    except ImportError as error:
        raise GpuError(
            message(
                "{} needs CuPy, which cannot be imported ({}): {}, or install the CuPy for "
                "your version of CUDA.",
                *(cuda, error, pip_line("cupy")),
            )
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
        cupy.cuda.device.get_cublas_handle()
        cupy.zeros(1).sum().item()
    except Exception as error:
        raise GpuError(
            message(
                "{} finds no GPU that CuPy {} can use: {}. Check with nvidia-smi that there is one, and "
                "that CuPy is the one for its version of CUDA.",
                *(cuda, cupy.__version__, error),
            )
        ) from None
    if not count:
        raise GpuError(message("{} finds no GPU: CUDA can use none on this machine.", cuda))
    return cupy
