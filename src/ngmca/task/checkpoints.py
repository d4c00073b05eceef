"""Checkpoints: a snapshot of a run and its history so far, in one file to continue from."""

import hashlib
import time
from dataclasses import dataclass, field, fields, is_dataclass, replace
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca._support.arguments import check_count, check_number, check_switch
from ngmca._support.atomic_files import check_free, write_atomically
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca._support.records import read_record, write_record
from ngmca.algorithms.snapshot import Snapshot
from ngmca.engines import Engine
from ngmca.io import ReadError
from ngmca.nnqp.gram import Gram
from ngmca.result import History, Separation, State, line, recorded
from ngmca.task.task import Task

Line = tuple[float, NDArray, float, float, float]


@dataclass(frozen=True)
class Checkpoint:
    """A file for the state of a run, written atomically, from which the run can continue.

    A resumed run gives the same bits as one without a stop. Iterations in wavelets, and those without
    thresholds under a closure, are repeated. With several starts the first one is kept, the others are
    repeated.

    Parameters
    ----------
    path : path
        The file. It is replaced by each later checkpoint.
    every : int, optional
        Write a checkpoint at every so many iterations.
    minutes : float
        Write a checkpoint whenever so many minutes have passed.
    resume : bool
        Continue from the file, with the same data and the same task.

    Examples
    --------
    >>> import tempfile, numpy as np, ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = ngmca.separate(x.Y, 2, checkpoint=f"{folder}/run.npz")
    ...     again = ngmca.separate(x.Y, 2, checkpoint=ngmca.Checkpoint(f"{folder}/run.npz", resume=True))
    >>> bool(np.array_equal(first.S, again.S))
    True
    """

    path: str | PathLike[str]
    every: int | None = None
    minutes: float = 1.0
    resume: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | PathLike):
            raise ArgumentTypeError("{} must be a path, got {!r}.", option("checkpoint"), self.path)
        if self.every is not None:
            check_count(self.every, "every")
        check_number(self.minutes, "minutes")
        check_switch(self.resume, "resume")


def as_checkpoint(given: "str | PathLike[str] | Checkpoint | None") -> Checkpoint | None:
    """Return the record; a path stands for a checkpoint with its defaults."""
    return given if given is None or isinstance(given, Checkpoint) else Checkpoint(given)


@dataclass
class Recording:
    """What is kept of a run on its way: one line of history for each state, and the last state."""

    lines: list[Line] = field(default_factory=list)
    last: State | None = None

    def add(self, state: State) -> None:
        """Add the next state, or the same one again, as the first one after a stop may be."""
        del self.lines[state.k - 1 :]
        self.lines.append(line(state))
        self.last = state

    def separation(self) -> Separation:
        """Return the result, once all states are added."""
        assert self.last is not None
        return recorded(self.last, self.lines)


@dataclass(frozen=True)
class SavedRun:
    """What a checkpoint file holds.

    Attributes
    ----------
    snapshot : Snapshot
        The state to continue from, in units of the engine.
    lines : list
        One line of history for each iteration so far.
    facts : dict
        What the run belongs to: its data and its task.
    """

    snapshot: Snapshot
    lines: list[Line]
    facts: dict[str, str]


class Keeper:
    """Writes a checkpoint whenever it is due."""

    def __init__(self, checkpoint: Checkpoint, facts: dict[str, str]) -> None:
        self._path = Path(checkpoint.path)
        check_free(self._path, force=True)  # a wrong place is an error before anything is computed
        self._checkpoint, self._facts = checkpoint, facts
        self._written = time.monotonic()
        self._pending: SavedRun | None = None

    def keep(self, snapshot: Snapshot, lines: list[Line], *, last: bool) -> None:
        """Take a snapshot, and write it if it is due or the last one before another stage."""
        self._pending = SavedRun(snapshot, lines, self._facts)
        every, late = self._checkpoint.every, time.monotonic() - self._written
        if last or late >= 60 * self._checkpoint.minutes or (every and snapshot.k % every == 0):
            self.write()

    def write(self) -> None:
        """Write the last snapshot, unless it is written already."""
        if self._pending is not None:
            write(self._path, self._pending)
            self._pending, self._written = None, time.monotonic()


@dataclass(frozen=True)
class _Stored:
    """A saved run as its file holds it: the history as arrays, and sums without the class `Gram`."""

    snapshot: Snapshot
    history: History
    facts: dict[str, str]


def write(path: Path, saved: SavedRun) -> None:
    """Write a checkpoint atomically."""
    state, sums = saved.snapshot, saved.snapshot.sums
    kept = None if sums is None or not sums[0].shared else (sums[0].matrix, *sums[1:])
    arrays = {name: np.asarray(getattr(state, name)) for name in ("A", "S", "lam", "noise")}
    plain = replace(state, **arrays, background=None, sums=kept)  # type: ignore[arg-type]
    stored = _Stored(plain, History.of(saved.lines), saved.facts)
    write_atomically(path, lambda file: write_record(file, stored))


def read(path: Path) -> SavedRun:
    """Read a checkpoint; raise a `ReadError` if the file is missing or damaged."""
    try:
        with path.open("rb") as file:
            stored = read_record(_Stored, file)
        state, sums = stored.snapshot, stored.snapshot.sums
        if sums is not None:
            state = replace(state, sums=(Gram(sums[0]), *sums[1:]))
        columns = vars(stored.history).values()
        lines = [
            (float(c), lam, float(a), float(v), float(w))
            for c, lam, a, v, w in zip(*columns, strict=True)
        ]
        return SavedRun(state, lines, stored.facts)
    except IsADirectoryError:
        raise ReadError(f"{path} is a folder: name the file that a checkpoint was written to.") from None
    except FileNotFoundError:
        raise ReadError(f"{path} does not exist: there is no checkpoint to resume from.") from None
    except Exception as error:  # damaged files raise many kinds of errors
        raise ReadError(
            f"{path} is damaged, or not a checkpoint of this version of ngmca ({error}): remove it and "
            "start again."
        ) from error


def resumed(path: Path, facts: dict[str, str]) -> SavedRun:
    """Read the checkpoint to resume from; raise an error if it belongs to other data or options."""
    found = read(path)
    for name, value in facts.items():
        before = found.facts.get(name, "nothing")
        if before != value:
            raise ArgumentError(
                "{} is a checkpoint of another run: its {} was {} and is {} now. Use the same data and "
                "options, or start again without resume.",
                *(path, name, before, value),
            )
    return found


def facts_of(engine: Engine, task: Task) -> dict[str, str]:
    """Return what a run is recognised by: its data and its task, in words that can be shown."""
    size = " x ".join(map(str, engine.shape))
    facts = {"data": f"{size} of {engine.dtype}", "numbers in the data": engine.fingerprint()}
    kept = (part.name for part in fields(task) if part.name not in ("n_init", "posterior", "seed"))
    facts |= {name: _described(getattr(task, name)) for name in kept}
    seed = task.seed
    return facts | {"seed": repr(seed) if seed is None or isinstance(seed, int) else type(seed).__name__}


def _described(value: object) -> str:
    """Return a value in words; large arrays by a digest."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float):
        return repr(value)
    if hasattr(value, "A") and hasattr(value, "S"):
        value = (value.A, value.S)
    if is_dataclass(value):
        parts = (f"{part.name}={_described(getattr(value, part.name))}" for part in fields(value))
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, list | tuple) and not all(isinstance(one, int | float) for one in value):
        return f"[{', '.join(map(_described, value))}]"
    try:
        array = np.ascontiguousarray(value)
    except (TypeError, ValueError):
        return repr(value)
    if array.dtype.kind not in "biufU":
        return repr(value)
    if array.size <= 4:
        return repr(array.tolist())
    digest = hashlib.sha256(str(array.shape).encode() + array.tobytes()).hexdigest()
    return f"an array with digest {digest[:12]}"
