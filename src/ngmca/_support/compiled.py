"""How kernels are compiled: on first use, cached on disk, without the interpreter's lock.

Multiply-adds may be fused, except in `strict` kernels; in `swift` ones sums may be reordered as well,
where nothing depends on their order. Nothing else about the arithmetic is relaxed.
"""

from numba import njit

compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
strict = njit(cache=True, nogil=True, error_model="numpy")
inlined = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"}, inline="always")
swift = njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
