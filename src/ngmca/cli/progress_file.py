"""How far a run is, in a file that other programs read while it runs."""

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.schedule import end_in_wavelets
from ngmca.answers.wording import percent
from ngmca.result import Separation, State
from ngmca.task.driver import Prepared, Watcher

SECONDS = 0.3  # between two states that are written
MAX_POINTS = 400  # of a source


class ProgressFile(Watcher):
    """Writes one JSON object: the stage, iterations, threshold, residual, time left and sources.

    The file is replaced as a whole, so a reader never sees a part of it. A disk that is full does not
    stop the run.
    """

    def __init__(self, path: Path | None) -> None:
        self._facts: dict[str, Any] = {"begun": time.time(), "compiling": False}
        self._path, self._written, self._lock = path, 0.0, Lock()
        self.axis: NDArray | None = None

    def stage(self, name: str) -> None:
        """Say what is being done now."""
        self._facts |= {"stage": name, "stage_begun": time.time(), "compiling": False}
        self._write()

    def compiles(self) -> None:
        """Say that code is compiled, which happens once on a machine."""
        self._facts["compiling"] = True
        self._write()

    @property
    def line(self) -> str:
        """What is being done now, in a line for people; empty before the first stage."""
        facts = dict(self._facts)
        words = [facts.get("stage", "")]
        if facts.get("compiling"):
            words.append("compiling")
        elif words[0] == "separating" and "iteration" in facts:
            words.append(f"iteration {facts['iteration']} of at most {facts['iterations']}")
            words.append(f"residual {percent(facts['residual'])}")
        elif words[0] == "trying other starts":
            words.append(f"{facts['other_iterations']} iterations")
        return ", ".join(words)

    def separates(self, prepared: Prepared) -> None:
        """Say that the iterations begin."""
        self._unit, self._size = prepared.engine.unit, float(np.sqrt(prepared.engine.energy))
        self.stage("separating")

    def begins(self, iterations: int, starts: int) -> None:
        """Note the number of iterations."""
        self._most = iterations
        self._facts |= {"iterations": iterations, "starts": starts, "other_iterations": 0}

    def sees(self, state: State, start: int) -> None:
        """Write a state now and then; of other starts only their number."""
        if start:
            self._facts["other_iterations"] += 1
        due = time.monotonic() - self._written > SECONDS
        if not due:
            return
        if not start:
            begun = state.domain.begun  # from then on the number of iterations is known
            residual = np.sqrt(2 * state.cost) / self._size if self._size > 0 else 0.0
            self._facts |= {
                "iteration": state.k,
                "iterations": end_in_wavelets(begun, self._most) if begun else self._most,
                "threshold": float(np.max(state.lam)) * self._unit,
                "residual": float(residual),
                "compiling": False,
            }
            self._facts |= self._sources(state.S)
        self._write()

    def first_start_ends(self, found: Separation) -> None:
        """Say that other starts begin."""
        if self._facts.get("starts", 1) > 1:
            self.stage("trying other starts")

    def _sources(self, S: object) -> dict[str, Any]:
        """Return the sources, thinned by their highest values."""
        if not isinstance(S, np.ndarray) or not S.size:
            return {}
        n = S.shape[1]
        edges = np.unique(np.linspace(0, n, min(n, MAX_POINTS) + 1).astype(int))[:-1]
        tops = np.maximum.reduceat(S, edges, axis=1)
        tops = tops / np.maximum(tops.max(axis=1, keepdims=True), np.finfo(float).tiny)
        x = edges if self.axis is None else self.axis[edges]
        return {"axis": np.asarray(x, dtype=float).tolist(), "sources": tops.round(4).tolist()}

    def _write(self) -> None:
        if self._path is None:
            return
        self._written = time.monotonic()
        part = self._path.with_name(f"{self._path.name}.part")
        with self._lock, suppress(OSError):
            part.write_text(json.dumps(self._facts), encoding="utf-8")
            os.replace(part, self._path)
