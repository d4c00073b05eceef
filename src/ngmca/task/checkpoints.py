"""Checkpoints: a state on the way and the history up to it, in one file to go on from."""

import hashlib
import json
import time
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.arguments import check_count, check_number
from ngmca._support.atomic_files import check_free, write_atomically
from ngmca.algorithms.momentum import Momentum
from ngmca.engines import InMemory, OnGpu
from ngmca.io import ReadError
from ngmca.result import Background, Domain, History, Separation, State, line, recorded

Line = tuple[float, NDArray, float, float, float]
ARRAYS = ("A", "S", "lam", "noise")
NUMBERS = ("cost", "active", "violation", "mixing_violation")
SUMS = ("sums_SS", "sums_YS", "sums_S")
COLUMNS = tuple(part.name for part in fields(History))


@dataclass
class Checkpoint:
    """The last state, and a line of history for each so far; `add` is called with every next one."""

    state: State | None = None
    lines: list[Line] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)  # of the run: its data and options

    def add(self, state: State) -> None:
        """Take in the next state, or the same one again, as the first after a stop may be."""
        del self.lines[state.k - 1 :]
        self.lines.append(line(state))
        self.state = state

    @property
    def done(self) -> int:
        """How many iterations there were."""
        return 0 if self.state is None else self.state.k

    def separation(self) -> Separation:
        """The result, once all states are in."""
        assert self.state is not None
        return recorded(self.state, self.lines)


class Keeper:
    """Writes a checkpoint every so many iterations or minutes, of states that lose nothing on the way.

    `note` is called with the state as the iterations have it, `keep` once its line is in the history.
    """

    def __init__(self, path: Path, facts: dict[str, str], every: int | None, minutes: float) -> None:
        check_free(path, force=True)  # what is wrong with the place is told before anything is computed
        if every is not None:
            check_count(every, "checkpoint_every")
        check_number(minutes, "checkpoint_minutes")
        self._path, self._facts, self._every, self._minutes = path, facts, every, minutes
        self._saved = time.monotonic()
        self._state: State | None = None
        self._last = False

    def note(self, state: State, *, last: bool) -> None:
        """Take in the state to go on from; the last one before iterations of another kind is kept."""
        self._state, self._last = state, last

    def keep(self, lines: list[Line]) -> None:
        """Write the state that was noted, if it is time."""
        state, self._state = self._state, None
        if state is None:
            return
        late = time.monotonic() - self._saved >= 60 * self._minutes
        if self._last or late or (self._every is not None and state.k % self._every == 0):
            write(self._path, Checkpoint(state, lines, self._facts))
            self._saved = time.monotonic()


def write(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint to a file that is whole or not there."""
    state = checkpoint.state
    assert state is not None
    values: dict[str, Any] = {name: np.asarray(getattr(state, name)) for name in ARRAYS}
    values |= {name: getattr(state, name) for name in NUMBERS}
    values |= {"k": state.k, "settled": state.settled, "domain": json.dumps(asdict(state.domain))}
    values["facts"] = json.dumps(checkpoint.facts)
    if state.background is not None:
        values["background_weights"] = state.background.weights
        values["background_basis"] = state.background.basis
    values |= {} if state.outliers is None else {"outliers": state.outliers}
    if state.sums is not None and isinstance(state.sums[0], np.ndarray):
        values |= dict(zip(SUMS, state.sums, strict=True))
    if state.memory is not None:
        values |= {"memory_calls": state.memory[0], "memory_ratio": state.memory[1]}
    momentum = state.momentum
    if momentum is not None:
        values |= {"momentum_t": momentum.t, "momentum_cost": momentum.cost}
        values |= {} if momentum.last is None else {"momentum_last": momentum.last}
    columns = zip(*checkpoint.lines, strict=True)
    values |= {
        f"history_{name}": np.array(column) for name, column in zip(COLUMNS, columns, strict=True)
    }
    write_atomically(path, lambda file: np.savez(file, **values))


def read(path: Path) -> Checkpoint:
    """The checkpoint in a file; an error where it is damaged."""
    try:
        with path.open("rb") as file, np.load(file) as stored:
            values = dict(stored)
        columns = (values[f"history_{name}"] for name in COLUMNS)
        lines = [
            (float(c), lam, float(a), float(v), float(w))
            for c, lam, a, v, w in zip(*columns, strict=True)
        ]
        return Checkpoint(_state(values), lines, json.loads(str(values["facts"])))
    except IsADirectoryError:
        raise ReadError(f"{path} is a folder: name the file that a checkpoint was written to.") from None
    except FileNotFoundError:
        raise ReadError(f"{path} does not exist: there is no checkpoint to go on from.") from None
    except Exception as error:  # a damaged file makes zip and NumPy raise what comes
        raise ReadError(
            f"{path} is damaged, or no checkpoint of this version of ngmca ({error}): remove it and "
            "begin anew."
        ) from error


def resumed(path: Path, facts: dict[str, str]) -> Checkpoint:
    """The checkpoint to go on from; one of other data or options is refused, with the difference."""
    found = read(path)
    for name, value in facts.items():
        before = found.facts.get(name, "nothing")
        if before != value:
            raise ValueError(
                f"{path} is a checkpoint of another run: its {name} was {before}, and is {value} now. "
                "Go on with what it was begun with, or begin anew."
            )
    return found


def facts_of(engine: InMemory, options: dict[str, Any]) -> dict[str, str]:
    """What a run is told apart by: its data and its options, in words that can be shown."""
    size = " x ".join(map(str, engine.shape))
    device = "cuda" if isinstance(engine, OnGpu) else "cpu"  # which round their sums differently
    facts = {
        "device": device,
        "data": f"{size} of {engine.dtype}",
        "numbers in the data": engine.fingerprint(),
    }
    return facts | {name: _told(value) for name, value in options.items()}


def _told(value: Any) -> str:
    """An option in words; of arrays and the like, a digest."""
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, str | bool | int | float):
        return repr(value)
    several = isinstance(value, list | tuple) and len(value) > 0 and np.ndim(value[0]) > 0
    parts = value if several else [value]
    if hasattr(value, "A") and hasattr(value, "S"):
        parts = [value.A, value.S]
    try:
        arrays = [np.ascontiguousarray(part) for part in parts]
        if any(array.dtype.kind not in "biufU" for array in arrays):
            return repr(value)
    except (TypeError, ValueError):
        return repr(value)
    digest = hashlib.sha256(b"".join(str(a.shape).encode() + a.tobytes() for a in arrays)).hexdigest()
    small = sum(a.size for a in arrays) <= 4
    return repr([a.tolist() for a in arrays]) if small else f"an array with digest {digest[:12]}"


def _state(values: dict[str, NDArray]) -> State:
    found: dict[str, Any] = {name: values[name] for name in ARRAYS}
    found |= {name: float(values[name]) for name in NUMBERS}
    sums = tuple(values[name] for name in SUMS) if SUMS[0] in values else None
    memory = (int(values["memory_calls"]), values["memory_ratio"]) if "memory_calls" in values else None
    return State(
        k=int(values["k"]),
        settled=bool(values["settled"]),
        momentum=_momentum(values),
        domain=Domain(**json.loads(str(values["domain"]))),
        background=_background(values),
        outliers=values.get("outliers"),
        sums=sums,
        memory=memory,
        **found,
    )


def _background(values: dict[str, NDArray]) -> Background | None:
    if "background_basis" not in values:
        return None
    return Background(values["background_weights"], values["background_basis"])


def _momentum(values: dict[str, NDArray]) -> Momentum | None:
    if "momentum_t" not in values:
        return None
    return Momentum(
        values.get("momentum_last"), float(values["momentum_t"]), float(values["momentum_cost"])
    )
