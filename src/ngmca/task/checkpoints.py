"""Checkpoints: a snapshot of a run and its history so far, in one file to continue from."""

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.arguments import check_count, check_number, check_switch
from ngmca._support.atomic_files import check_free, write_atomically
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.algorithms.momentum import Momentum
from ngmca.algorithms.snapshot import Round, Snapshot
from ngmca.engines import Engine
from ngmca.io import ReadError
from ngmca.nnqp.gram import Gram
from ngmca.result import Domain, History, Separation, State, line, recorded
from ngmca.task.task import Task

Line = tuple[float, NDArray, float, float, float]
_ARRAYS = ("A", "S", "lam", "noise")
_NUMBERS = ("cost", "active", "violation", "mixing_violation")
_SUMS = ("sums_SS", "sums_YS", "sums_S")
_COLUMNS = tuple(part.name for part in fields(History))
_ROUND = tuple(part.name for part in fields(Round))


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


def write(path: Path, saved: SavedRun) -> None:
    """Write a checkpoint atomically."""
    state = saved.snapshot
    values: dict[str, Any] = {name: np.asarray(getattr(state, name)) for name in _ARRAYS}
    values |= {name: getattr(state, name) for name in _NUMBERS}
    values |= {"k": state.k, "settled": state.settled, "domain": json.dumps(asdict(state.domain))}
    values["facts"] = json.dumps(saved.facts)
    values |= {} if state.outliers is None else {"outliers": state.outliers}
    if state.sums is not None and state.sums[0].shared:
        values |= dict(zip(_SUMS, (state.sums[0].matrix, *state.sums[1:]), strict=True))
    if state.memory is not None:
        values |= {"memory_calls": state.memory[0], "memory_ratio": state.memory[1]}
    if state.round is not None:
        values |= {f"round_{name}": getattr(state.round, name) for name in _ROUND}
    momentum = state.momentum
    if momentum is not None:
        values |= {"momentum_t": momentum.t, "momentum_cost": momentum.cost}
        values |= {} if momentum.last is None else {"momentum_last": momentum.last}
    columns = zip(*saved.lines, strict=True)
    values |= {
        f"history_{name}": np.array(column) for name, column in zip(_COLUMNS, columns, strict=True)
    }
    write_atomically(path, lambda file: np.savez(file, **values))


def read(path: Path) -> SavedRun:
    """Read a checkpoint; raise a `ReadError` if the file is missing or damaged."""
    try:
        with path.open("rb") as file, np.load(file) as stored:
            values = dict(stored)
        columns = (values[f"history_{name}"] for name in _COLUMNS)
        lines = [
            (float(c), lam, float(a), float(v), float(w))
            for c, lam, a, v, w in zip(*columns, strict=True)
        ]
        return SavedRun(_snapshot(values), lines, json.loads(str(values["facts"])))
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


def _snapshot(values: dict[str, NDArray]) -> Snapshot:
    parts: dict[str, Any] = {name: values[name] for name in _ARRAYS}
    parts |= {name: float(values[name]) for name in _NUMBERS}
    memory = (int(values["memory_calls"]), values["memory_ratio"]) if "memory_calls" in values else None
    return Snapshot(
        k=int(values["k"]),
        **parts,
        settled=bool(values["settled"]),
        domain=Domain(**json.loads(str(values["domain"]))),
        outliers=values.get("outliers"),
        momentum=_momentum(values),
        sums=_sums(values),
        memory=memory,
        round=_round(values),
    )


def _sums(values: dict[str, NDArray]) -> tuple[Any, ...] | None:
    if _SUMS[0] not in values:
        return None
    return (Gram(values[_SUMS[0]]), *(values[name] for name in _SUMS[1:]))


def _round(values: dict[str, NDArray]) -> Round | None:
    if "round_index" not in values:
        return None
    index, done, *arrays = (values[f"round_{name}"] for name in _ROUND)
    return Round(int(index), int(done), *arrays)


def _momentum(values: dict[str, NDArray]) -> Momentum | None:
    if "momentum_t" not in values:
        return None
    return Momentum(
        values.get("momentum_last"), float(values["momentum_t"]), float(values["momentum_cost"])
    )
