"""Checkpoints: a state on the way and the history up to it, in one file to go on from."""

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.momentum import Momentum
from ngmca.io import ReadError
from ngmca.result import Background, Domain, History, Separation, State, line, recorded
from ngmca.saving.result_folder import CHECKPOINT
from ngmca.saving.whole_files import write_whole

Line = tuple[float, NDArray, float, float, float]
ARRAYS = ("A", "S", "lam", "noise")
NUMBERS = ("cost", "active", "violation", "mixing_violation")
COLUMNS = tuple(part.name for part in fields(History))


@dataclass
class Checkpoint:
    """The last state, and a line of history for each so far; `add` is called with every next one."""

    state: State | None = None
    lines: list[Line] = field(default_factory=list)

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


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of a run into its folder."""
    state = checkpoint.state
    assert state is not None
    values: dict[str, Any] = {name: getattr(state, name) for name in (*ARRAYS, *NUMBERS)}
    values |= {"k": state.k, "settled": state.settled, "domain": json.dumps(asdict(state.domain))}
    if state.background is not None:
        values["background_weights"] = state.background.weights
        values["background_basis"] = state.background.basis
    values |= {} if state.outliers is None else {"outliers": state.outliers}
    momentum = state.momentum
    if momentum is not None:
        values |= {"momentum_t": momentum.t, "momentum_cost": momentum.cost}
        values |= {} if momentum.last is None else {"momentum_last": momentum.last}
    columns = zip(*checkpoint.lines, strict=True)
    values |= {
        f"history_{name}": np.array(column) for name, column in zip(COLUMNS, columns, strict=True)
    }
    write_whole(folder / CHECKPOINT, lambda file: np.savez(file, **values))


def load(folder: Path) -> Checkpoint:
    """The checkpoint in a folder, empty if there is none; resuming from it loses nothing."""
    path = folder / CHECKPOINT
    if not path.is_file():
        return Checkpoint()
    try:
        with path.open("rb") as file, np.load(file) as stored:
            values = dict(stored)
        columns = (values[f"history_{name}"] for name in COLUMNS)
        lines = [
            (float(c), lam, float(a), float(v), float(w))
            for c, lam, a, v, w in zip(*columns, strict=True)
        ]
        return Checkpoint(_state(values), lines)
    except Exception as error:  # a damaged file makes zip and NumPy raise what comes
        raise ReadError(
            f"{path} is damaged, or no checkpoint of this version of ngmca ({error}): remove its folder "
            "and begin anew."
        ) from error


def _state(values: dict[str, NDArray]) -> State:
    found: dict[str, Any] = {name: values[name] for name in ARRAYS}
    found |= {name: float(values[name]) for name in NUMBERS}
    return State(
        k=int(values["k"]),
        settled=bool(values["settled"]),
        momentum=_momentum(values),
        domain=Domain(**json.loads(str(values["domain"]))),
        background=_background(values),
        outliers=values.get("outliers"),
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
