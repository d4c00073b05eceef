"""Decorators that compile kernels on first use, cache them on disk and release the interpreter lock.

Multiply-adds may be fused, except in `strict` kernels. Sums may be reordered in `swift` kernels, where
nothing depends on their order. Nothing else about the arithmetic is relaxed.

The cache is Numba's, but it never stops a run: a damaged file is compiled again and replaced. A notice
tells users who wait that kernels are compiled. Kernels that another process is compiling are waited for.
"""

import hashlib
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.event import Event, Listener, install_listener

_elsewhere: dict[str, Callable[[], object]] = {}  # how to wait for the process that compiles a package


@cache
def _warn_once() -> None:
    """Warn that every process has to compile."""
    warnings.warn(
        "compiled code cannot be cached, so every process compiles it again, up to a minute each time: "
        "set NUMBA_CACHE_DIR to a folder that can be written to and has free space.",
        UserWarning,
        stacklevel=2,
    )


class _ChecksummedFiles(IndexDataCacheFile):
    """Cache files that begin with a checksum: a file that was cut or changed is ignored.

    Damaged machine code could crash the process, and a damaged pickle can do anything.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        kept, data = super().load(key) or (None, None)
        return data if kept == key else None  # another process may have used the same name

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
            file.write(self._checksum(content) + content)

    def _read(self, path: str) -> Any:
        stored = Path(path).read_bytes()
        checksum, content = stored[:32], stored[32:]
        if checksum != self._checksum(content):
            raise OSError(f"{path} is damaged, or of another version.")
        return pickle.loads(content)

    def _checksum(self, content: bytes) -> bytes:
        return hashlib.sha256(self._version.encode() + content).digest()


@cache
def _stamp(folder: Path) -> str:
    """Return a digest of all files with kernels in a folder: kernels are compiled into each other."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(folder.glob("*.py")):
        content = path.read_bytes()
        if b"_support.compiled" in content:
            digest.update(content)
    return digest.hexdigest()


class _Cache(FunctionCache):
    """The compiled versions of a kernel on disk; a folder without write access gives a warning."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = _stamp(Path(function.__code__.co_filename).parent)
        self._cache_file = _ChecksummedFiles(self._cache_path, self._impl.filename_base, stamp)
        self._package = function.__module__.rpartition(".")[0]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on disk."""
        return not self._cache_file._load_index()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None and self._package in _elsewhere:
            _elsewhere[self._package]()
            found = super().load_overload(sig, target_context)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            _warn_once()


class _NoCache(NullCache):
    """No cache: no folder can be written to."""

    def load_overload(self, sig: Any, target_context: Any) -> None:
        _warn_once()


def _kernels(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles with these options, and caches."""

    def decorate(function: Callable[..., Any]) -> Any:
        kernel = njit(nogil=True, error_model="numpy", **options)(function)
        try:
            kernel._cache = _Cache(function)
        except (RuntimeError, OSError):  # Numba found no folder for it
            kernel._cache = _NoCache()
        return kernel

    return decorate


compiled = _kernels(fastmath={"contract"})
strict = _kernels()
inlined = _kernels(fastmath={"contract"}, inline="always")
swift = _kernels(fastmath={"contract", "reassoc", "nsz"})


def is_cached(kernel: Any) -> bool:
    """Return whether a kernel has a compiled version on disk, or cannot have one."""
    return not (isinstance(kernel._cache, _Cache) and kernel._cache.is_empty)


@contextmanager
def compiled_elsewhere(packages: Mapping[str, Callable[[], object]]) -> Iterator[None]:
    """Wait for other processes before kernels of these packages are compiled here.

    Each package has a function that returns when its process has ended.
    """
    _elsewhere.update(packages)
    try:
        yield
    finally:
        for package in packages:
            _elsewhere.pop(package, None)


class _FirstCompilation(Listener):
    """Call a function when the first compilation starts."""

    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify: Callable[[], None] | None = notify

    def on_start(self, event: Event) -> None:
        notify, self._notify = self._notify, None
        if notify is not None:
            notify()

    def on_end(self, event: Event) -> None:
        pass


@contextmanager
def compile_notice(notify: Callable[[], None]) -> Iterator[None]:
    """Call `notify` once if a kernel is compiled inside; loading it from the cache does not count."""
    with install_listener("numba:compile", _FirstCompilation(notify)):
        yield
