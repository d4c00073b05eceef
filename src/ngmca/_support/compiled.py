"""How kernels are compiled: on first use, cached on disk, without the interpreter's lock.

Multiply-adds may be fused, except in `strict` kernels; nothing else about the arithmetic is relaxed.
"""

from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
strict = njit(cache=True, nogil=True, error_model="numpy")
inlined = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}, inline="always")
