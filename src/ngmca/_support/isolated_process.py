"""Work in a separate process: it may crash, hang or ask for too much memory without harm to this one.

    with IsolatedProcess(memory=4e9) as process:
        answer = process.call("package.module:function", "data.h5", seconds=60)

Arguments and answers are None, bool, int, float, str, lists, dicts with str keys, and arrays of numbers
or text: they are sent as JSON and raw bytes. With pickles, a malicious file that took over the other
process could take over this one too.
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

MAX_TIMER_SECONDS = 1e6  # longer timers overflow
PLAIN_KINDS = "biufcmMSU"  # kinds of arrays that are nothing but their bytes
ENVIRONMENT = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ENVIRONMENT["MALLOC_ARENA_MAX"] = "2"  # more arenas reserve memory, which is limited, without use
UNSAFE = ("NUMCODECS_ALLOW_UNSAFE_PICKLE_DECODE",)  # lets a library run code from files
START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
SERVE = "from ngmca._support.isolated_process import serve; serve()"


class NotStartedError(RuntimeError):
    """A second process cannot be started; the text says why."""


class CrashedError(RuntimeError):
    """The process ended during its work; the text says how."""


class TooLongError(RuntimeError):
    """The process was stopped after its time limit."""


class RaisedError(RuntimeError):
    """The function raised an exception: `kind` is the name of its class, the text is its text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


class IsolatedProcess:
    """A process that does one call after another; the first call starts it, and the next after a crash.

    Parameters
    ----------
    memory : float
        Bytes that it may use.
    """

    def __init__(self, memory: float = float("inf")) -> None:
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "IsolatedProcess":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    pipe.close()  # type: ignore[union-attr]

    def call(self, function: str, *arguments: Any, seconds: float) -> Any:
        """Return what `function`, "module:name", returns for plain arguments, within a time limit."""
        process = self._process or self._start()
        try:
            return self._ask(process, [function, seconds, list(arguments)], seconds)
        except RaisedError:
            raise
        except BaseException:  # also Ctrl-C: the pipe may hold a part of an old answer
            self.close()
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the process and wait for its first answer: later errors are then due to its work."""
        command = python_command(SERVE)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={key: os.environ[key] for key in os.environ if key not in UNSAFE} | ENVIRONMENT,
            )
            self._ask(self._process, min(self._memory, 2.0**62), seconds=60.0)
        except (OSError, CrashedError, TooLongError) as error:
            self.close()
            raise NotStartedError(f"a second process cannot be started: {error}") from error
        except BaseException:
            self.close()
            raise
        return self._process

    def _ask(self, process: subprocess.Popen[bytes], request: Any, seconds: float) -> Any:
        late = Event()

        def stop() -> None:
            late.set()
            process.kill()

        timer = Timer(min(seconds, MAX_TIMER_SECONDS), stop)
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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # prints of libraries would mix with the answers
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
    except BaseException as error:  # also SystemExit of a library
        return _packed([type(error).__name__, str(error)])


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """End a function that hangs, also if the parent was killed."""
    if not hasattr(signal, "alarm"):
        yield
        return
    signal.alarm(int(min(seconds, MAX_TIMER_SECONDS)) + 10)
    yield
    signal.alarm(0)


def _limit(memory: float) -> None:
    """Limit the memory of this process to so many more bytes, and dump no core, where possible."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([used + int(memory), *limits]), hard))


def python_command(code: str) -> list[str]:
    """Return the command of an interpreter that finds the same modules as this one, and runs code.

    Raises
    ------
    NotStartedError
        If this program is not a Python interpreter: it would start itself again.
    """
    name = Path(sys.executable or "").stem.lower()
    if getattr(sys, "frozen", False) or not name.startswith(("python", "pypy")):
        raise NotStartedError("this program has no separate Python interpreter")
    flags = {"-E": sys.flags.ignore_environment, "-s": sys.flags.no_user_site, "-S": sys.flags.no_site}
    chosen = [flag for flag, on in flags.items() if on]
    paths = json.dumps([*map(str, sys.path)])
    utf8 = f"utf8={sys.flags.utf8_mode}"  # so that names of files are the same bytes
    return [sys.executable, *chosen, "-P", "-W", "ignore", "-X", utf8, "-c", START + code, paths]


def _ending(code: int) -> str:
    if code == -getattr(signal, "SIGKILL", 0):
        return "killed by the system, perhaps for lack of memory"
    return (signal.strsignal(-code) or f"signal {-code}").lower() if code < 0 else f"exit code {code}"


def _packed(value: Any) -> list[Any]:
    """Return the parts to send: the length of a JSON text, the text, the bytes of all arrays."""
    arrays: list[Any] = []
    text = json.dumps(_described(value, arrays)).encode()
    return [len(text).to_bytes(8, "little"), text, *arrays]


def _described(value: Any, arrays: list[Any]) -> Any:
    """Return a value that JSON can hold; append its arrays to a list."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OT" and all(isinstance(entry, str) for entry in value.flat):
            value = value.astype(str)
        if value.dtype.kind not in PLAIN_KINDS:
            raise TypeError(f"an array of {value.dtype} cannot be sent to another process.")
        turned = not value.flags.c_contiguous and value.flags.f_contiguous  # avoids a copy
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


def _rebuilt(value: Any, pipe: IO[bytes]) -> Any:
    """Return the value that `_described` described; read its arrays from the pipe in the same order."""
    if isinstance(value, list):
        return [_rebuilt(entry, pipe) for entry in value]
    if not isinstance(value, dict):
        return value
    if "dict" in value:
        return {key: _rebuilt(entry, pipe) for key, entry in value["dict"].items()}
    kind, shape, turned = value["array"]
    if np.dtype(kind).kind not in PLAIN_KINDS:  # bytes of the other process never become objects
        raise TypeError(f"an array of {kind} cannot be received from another process.")
    array = np.empty(shape[::-1] if turned else shape, kind)
    _filled(pipe, array.reshape(-1).view(np.uint8))
    return array.T if turned else array


def _filled(pipe: IO[bytes], buffer: Any) -> Any:
    """Fill the buffer from the pipe, and return it."""
    rest = memoryview(buffer)
    while len(rest):
        count = pipe.readinto(rest)  # type: ignore[attr-defined]
        if not count:
            raise EOFError("the other process has ended.")
        rest = rest[count:]
    return buffer
