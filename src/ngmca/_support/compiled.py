"""How kernels are compiled: on first use, cached on disk, without the interpreter's lock.

Multiply-adds may be fused, except in `strict` kernels; in `swift` ones sums may be reordered as well,
where nothing depends on their order. Nothing else about the arithmetic is relaxed.

The cache is Numba's, but it never ends a run: what is damaged is compiled anew, and replaced.
"""

import hashlib
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache


@cache
def _tell_once() -> None:
    """Warn that every process will have to compile."""
    warnings.warn(
        "compiled code cannot be kept, and is made anew by every process, which takes up to a minute: "
        "set NUMBA_CACHE_DIR to a folder with room in it that may be written to.",
        UserWarning,
        stacklevel=2,
    )


class _Sealed(IndexDataCacheFile):
    """Files that begin with a checksum: what has been cut or changed is as good as not there.

    Damaged machine code would end the process, and a damaged pickle may do anything.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        kept, data = super().load(key) or (None, None)
        return data if kept == key else None  # another process may have taken the same name

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_index(self) -> dict[Any, str]:
        try:
            stamp, overloads = self._read(self._index_path)
        except OSError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _write(self, path: str, content: Any) -> None:
        content = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(self._seal(content) + content)

    def _read(self, path: str) -> Any:
        whole = Path(path).read_bytes()
        seal, content = whole[:32], whole[32:]
        if seal != self._seal(content):
            raise OSError(f"{path} is damaged, or not of this version.")
        return pickle.loads(content)

    def _seal(self, content: bytes) -> bytes:
        return hashlib.sha256(self._version.encode() + content).digest()


class _Cache(FunctionCache):
    """The compiled versions of a kernel on disk; a folder that takes no more is no reason to stop."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Sealed(self._cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            _tell_once()


class _NoCache(NullCache):
    """For where no folder can be written to."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _tell_once()


def _kernels(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles, with these options, and keeps what it has compiled."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(nogil=True, error_model="numpy", **options)(function)
        try:
            kernel._cache = _Cache(function)
        except (RuntimeError, OSError):  # Numba found no place for it
            kernel._cache = _NoCache()
        return kernel

    return decorate


compiled = _kernels(fastmath={"contract"})
strict = _kernels()
inlined = _kernels(fastmath={"contract"}, inline="always")
swift = _kernels(fastmath={"contract", "reassoc", "nsz"})
