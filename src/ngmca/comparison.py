"""`separate` with the name of a rival: its factors as a `Separation`."""

from dataclasses import dataclass, fields, replace
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import baselines, inputs, metrics
from ngmca.engine import InMemory
from ngmca.progress import progress_bar
from ngmca.records import History, Options, Restart, Separation
from ngmca.start import generator, revive, unit_columns


@dataclass(frozen=True)
class Rival:
    """A baseline and the options of `separate` that it takes."""

    method: str
    options: dict[str, Any]

    @classmethod
    def of(cls, method: str, given: Options) -> "Rival":
        """The rival, or an error about an option that means nothing to it."""
        taken = signature(baselines.METHODS[method]).parameters
        options = {}
        for field in fields(Options):
            value = getattr(given, field.name)
            if value == field.default:
                continue  # a rival has defaults of its own
            if field.name not in taken:
                raise ValueError(
                    f"{field.name} has no meaning for method={method!r}: leave it out. "
                    f"ngmca.baselines.{method} has all the options of this method."
                )
            options[field.name] = value
        return cls(method, options)

    @property
    def n_iter(self) -> int:
        """Number of iterations, at most."""
        default = signature(baselines.METHODS[self.method]).parameters["n_iter"].default
        return int(self.options.get("n_iter", default))

    def separate(
        self,
        Y: ArrayLike,
        r: int,
        *,
        noise: ArrayLike | None,
        start: Any,
        n_init: int,
        seed: Any,
        progress: bool,
    ) -> Separation:
        """The factors with the lowest cost out of n_init runs."""
        data = inputs.check_data(Y)
        levels = inputs.check_noise(noise, len(data))
        rng = generator(seed)  # every run takes the next of its children
        with progress_bar(n_init, show=progress) as shown:
            runs = [self._run(data, r, start, rng) for _ in shown(range(n_init))]
        best = min(runs, key=lambda run: run.cost[-1])
        separation = self._separation(data, best, levels)
        if n_init == 1:
            return separation
        agreement = [metrics.evaluate(best.S, run.S).mean_sdr for run in runs]
        restarts = zip([float(run.cost[-1]) for run in runs], agreement, strict=True)
        return replace(separation, restarts=tuple(Restart(*restart) for restart in restarts))

    def _run(self, Y: NDArray, r: int, start: Any, rng: np.random.Generator) -> baselines.Factors:
        method = baselines.METHODS[self.method]
        return method(Y, r, start=start, seed=rng, **self.options)

    def _separation(self, Y: NDArray, found: baselines.Factors, noise: NDArray | None) -> Separation:
        """Unit columns in A; NaN where a rival has no threshold, no certificate, or keeps no record."""
        unit = Y.dtype.type(inputs.unit_of(Y))
        engine = InMemory(Y if unit == 1 else Y / unit)
        A, S = unit_columns(found.A, found.S / unit)
        A, S = revive(engine, A, S)  # a silent source gets a direction too
        k, r = len(found.cost), A.shape[1]
        active = np.full(k, np.nan)
        active[-1] = np.count_nonzero(S) / S.size
        return Separation(
            A=A,
            S=S * unit,
            lam=np.full(r, np.nan),
            noise=engine.noise(A, S, final=True) * float(unit) if noise is None else noise,
            n_iter=k,
            stopped="settled" if k < self.n_iter else "iterations",
            violation=np.nan,
            history=History(found.cost, np.full((k, r), np.nan), active, np.full(k, np.nan)),
        )
