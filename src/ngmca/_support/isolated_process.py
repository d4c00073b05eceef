"""Work in a process of its own: it may crash, hang or ask for too much memory without harm to this one.

    with Apart(memory=4e9) as apart:
        answer = apart.call("ngmca.io.isolated_reading:read_as_plain", "data.h5", {}, "HDF5", seconds=60)

Arguments and answers are None, bool, int, float, str, lists, dicts with str keys, and arrays of numbers
or text: they travel as JSON and raw bytes. A pickle would let a file that took over the other process
into this one.
"""

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Timer
from typing import IO, Any

import numpy as np

LONGEST = 1e6  # seconds: timers of longer waits overflow
START_SECONDS = 60.0  # within which a process answers for the first time
PLAIN = "biufcmMSU"  # kinds of arrays that are nothing but their bytes
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ONE_THREAD["MALLOC_ARENA_MAX"] = "2"  # others reserve memory, which is limited, and never use it
TRUST = ("NUMCODECS_ALLOW_UNSAFE_PICKLE_DECODE",)  # by which a library is told to run code out of files
START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from ngmca._support.isolated_process import serve; serve()"
)


class NotStartedError(RuntimeError):
    """No second process can be started here; the text says why."""


class CrashedError(RuntimeError):
    """The process ended in the middle of its work; the text says how."""


class TooLongError(RuntimeError):
    """The process was ended because its time was up."""


class RaisedError(RuntimeError):
    """The function raised an exception: `kind` is the name of its class, the text is its text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class Apart:
    """A process that does one call after the other; started by the first, and anew after a crash."""

    def __init__(self, memory: float = float("inf")) -> None:
        self._memory = memory  # bytes that it may take
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "Apart":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def call(self, function: str, *arguments: Any, seconds: float) -> Any:
        """What `function`, "module:name", returns for plain arguments within so many seconds."""
        process = self._process or self._start()
        try:
            return self._ask(process, [function, seconds, list(arguments)], seconds)
        except RaisedError:
            raise
        except BaseException:  # an interrupt among them: what comes next would be half an old answer
            self.close()
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        """A process that has answered, so that whatever happens later is due to its work."""
        if getattr(sys, "frozen", False) or not _is_python(sys.executable):
            raise NotStartedError("this program has no Python interpreter of its own")
        try:
            self._process = subprocess.Popen(
                _command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={key: os.environ[key] for key in os.environ if key not in TRUST} | ONE_THREAD,
            )
            self._ask(self._process, min(self._memory, 2.0**62), START_SECONDS)
        except (OSError, CrashedError, TooLongError) as error:
            self.close()
            raise NotStartedError(f"a second process cannot be started: {error}") from error
        except BaseException:
            self.close()
            raise
        return self._process

    def _ask(self, process: subprocess.Popen[bytes], request: Any, seconds: float) -> Any:
        late = Event()

        def give_up() -> None:
            late.set()
            process.kill()

        timer = Timer(min(seconds, LONGEST), give_up)
        timer.daemon = True
        timer.start()
        try:
            _send(process.stdin, _packed(request))  # type: ignore[arg-type]
            kind, answer = _receive(process.stdout)  # type: ignore[arg-type]
        except (EOFError, OSError) as error:
            if late.is_set():
                raise TooLongError(f"took longer than {seconds:g} s") from error
            raise CrashedError(_ending(process.wait())) from error
        finally:
            timer.cancel()
        if kind:
            raise RaisedError(kind, answer)
        return answer


def serve() -> None:
    """Answer requests from the standard input until it ends: the main loop of the other process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # what libraries print would end up between the answers
        os.dup2(nothing, number)
    _limit(_receive(requests))
    _send(answers, _packed(["", None]))
    with contextlib.suppress(EOFError):
        while True:
            function, seconds, arguments = _receive(requests)
            with _deadline(seconds):
                _send(answers, _answer(function, arguments))


def _answer(function: str, arguments: list[Any]) -> list[Any]:
    module, name = function.split(":")
    try:
        return _packed(["", getattr(importlib.import_module(module), name)(*arguments)])
    except BaseException as error:  # SystemExit of a library among them
        return _packed([type(error).__name__, str(error)])


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Should the parent be killed, nobody else would end a function that hangs."""
    if not hasattr(signal, "alarm"):
        yield
        return
    signal.alarm(int(min(seconds, LONGEST)) + 10)
    yield
    signal.alarm(0)


def _limit(memory: float) -> None:
    """Take no more than so many bytes beyond those in use, and dump no core, where that can be had."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([used + int(memory), *limits]), hard))


def _command() -> list[str]:
    """An interpreter that finds the same modules as this one."""
    flags = {"-E": sys.flags.ignore_environment, "-s": sys.flags.no_user_site, "-S": sys.flags.no_site}
    chosen = [flag for flag, on in flags.items() if on]
    paths = json.dumps([path for path in sys.path if isinstance(path, str)])
    utf8 = f"utf8={sys.flags.utf8_mode}"  # names of files are the same bytes then
    return [sys.executable, *chosen, "-P", "-W", "ignore", "-X", utf8, "-c", START, paths]


def _is_python(executable: str | None) -> bool:
    """Whether this is an interpreter, and not a program with one inside: that would start once more."""
    return Path(executable or "").stem.lower().startswith(("python", "pypy"))


def _ending(code: int) -> str:
    if code == -getattr(signal, "SIGKILL", 0):
        return "killed by the system, which may be short of memory"
    return (signal.strsignal(-code) or f"signal {-code}").lower() if code < 0 else f"exit code {code}"


def _packed(value: Any) -> list[Any]:
    """What is written for a value: the length of a JSON text, the text, the bytes of all arrays."""
    arrays: list[Any] = []
    text = json.dumps(_described(value, arrays)).encode()
    return [len(text).to_bytes(8, "little"), text, *arrays]


def _described(value: Any, arrays: list[Any]) -> Any:
    """A value as JSON can tell it, its arrays moved to a list."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OT" and all(isinstance(entry, str) for entry in value.flat):
            value = value.astype(str)
        if value.dtype.kind not in PLAIN:
            raise TypeError(f"an array of {value.dtype} is not plain.")
        turned = not value.flags.c_contiguous and value.flags.f_contiguous  # no copy for its sake
        arrays.append(np.ascontiguousarray(value.T if turned else value).reshape(-1).view(np.uint8))
        return {"array": [value.dtype.str, value.shape, turned]}
    if isinstance(value, dict):
        return {"dict": {key: _described(entry, arrays) for key, entry in value.items()}}
    if isinstance(value, list | tuple):
        return [_described(entry, arrays) for entry in value]
    return value


def _send(pipe: IO[bytes], parts: list[Any]) -> None:
    for part in parts:
        pipe.write(part)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    size = int.from_bytes(_filled(pipe, bytearray(8)), "little")
    return _rebuilt(json.loads(_filled(pipe, bytearray(size))), pipe)


def _rebuilt(told: Any, pipe: IO[bytes]) -> Any:
    """The value that `_described` told, its arrays read from the pipe in the same order."""
    if isinstance(told, list):
        return [_rebuilt(entry, pipe) for entry in told]
    if not isinstance(told, dict):
        return told
    if "dict" in told:
        return {key: _rebuilt(entry, pipe) for key, entry in told["dict"].items()}
    kind, shape, turned = told["array"]
    if np.dtype(kind).kind not in PLAIN:  # bytes of the other process are never taken for objects
        raise TypeError(f"an array of {kind} is not plain.")
    array = np.empty(shape[::-1] if turned else shape, kind)
    _filled(pipe, array.reshape(-1).view(np.uint8))
    return array.T if turned else array


def _filled(pipe: IO[bytes], buffer: Any) -> Any:
    """The buffer, full of what comes from the pipe."""
    rest = memoryview(buffer)
    while len(rest):
        count = pipe.readinto(rest)  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the other process has ended.")
        rest = rest[count:]
    return buffer
