"""What the user knows beforehand, checked and brought to the units of the engine."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca.algorithms.constraint_arrays import Constraints
from ngmca.domains import backgrounds
from ngmca.engines import Engine, Levels
from ngmca.nnqp.profile_shapes import SHAPES

PENALISED = ("S", "A", "both")
SCALES = ("fixed", "free")
# Pairs that do not go together, and why.
REFUSED = {
    ("closure", "profiles"): "a sum over sources and a shape along measurements have no common solver",
    ("closure", "penalised"): "under a closure the sum of A is given, and cannot be made smaller",
    ("profiles", "zero_mixing"): "profiles with zeros inside have no single shape",
}
TRANSPOSABLE = ("known_sources", "known_mixing", "zero_sources", "zero_mixing")


@dataclass(frozen=True, eq=False)
class Known:
    """What is known beforehand; `separate` says what each means."""

    known_sources: ArrayLike | None = None
    known_mixing: ArrayLike | None = None
    known_scale: str = "fixed"
    zero_sources: ArrayLike | None = None
    zero_mixing: ArrayLike | None = None
    closure: Any = None
    profiles: str | Sequence[str | None] | None = None
    baseline: str | ArrayLike | None = None
    penalised: str = "S"

    def __post_init__(self) -> None:
        arguments.check_choice(self.penalised, "penalised", PENALISED)
        arguments.check_choice(self.known_scale, "known_scale", SCALES)
        given = self.given
        for (one, other), why in REFUSED.items():
            if one in given and other in given:
                raise ValueError(f"{one} and {other} do not go together: {why}.")
        if self.penalised == "A":
            for name in sorted(given - {"penalised", *TRANSPOSABLE}):
                raise ValueError(f"penalised='A' and {name} do not go together: use penalised='both'.")

    @property
    def given(self) -> set[str]:
        """Names of what is known."""
        values = {part.name: (getattr(self, part.name), part.default) for part in fields(self)}
        return {
            name
            for name, (value, default) in values.items()
            if not (value is None or value is False or (isinstance(value, str) and value == default))
        }

    def transposed(self) -> "Known":
        """The same for the transposed data, whose sources are rows of A'."""

        def turned(values: ArrayLike | None) -> NDArray | None:
            return None if values is None else np.asarray(values).T

        return Known(
            known_sources=turned(self.known_mixing),
            known_mixing=turned(self.known_sources),
            zero_sources=turned(self.zero_mixing),
            zero_mixing=turned(self.zero_sources),
        )

    def sized(self, r: int) -> NDArray:
        """(r,) whose columns of A have the size that was given, not norm 1."""
        found = np.zeros(r, dtype=bool)
        if self.known_mixing is not None:
            columns = np.asarray(self.known_mixing, dtype=np.float64)
            found[: columns.shape[1]] |= ~np.isnan(columns).all(axis=0)
        if self.known_sources is not None and self.known_scale == "fixed":
            rows = np.asarray(self.known_sources, dtype=np.float64)
            found[: len(rows)] |= ~np.isnan(rows).all(axis=1)
        return found

    def constraints(
        self, engine: Engine, r: int, levels: Levels, parts: tuple[slice, ...] = (slice(None),)
    ) -> Constraints:
        """The constraints on r sources of an engine's data, in units of their noise."""
        if not self.given:
            return Constraints(r)
        rows, columns = levels.units(engine.shape)
        sources = self._sources(engine, r, columns)
        total = r if sources is None else len(sources)
        mixing, sizes = self._mixing(engine.shape[0], r, total, rows)
        zero_mixing = _flags(self.zero_mixing, "zero_mixing", (engine.shape[0], r))
        if zero_mixing is not None:
            zero_mixing = np.pad(zero_mixing, ((0, 0), (0, total - r)))
        zero_sources = _flags(self.zero_sources, "zero_sources", (r, engine.shape[1]))
        if zero_sources is not None:
            zero_sources = np.pad(zero_sources, ((0, total - r), (0, 0)))
        made = Constraints(
            r=r,
            sources=sources,
            mixing=mixing,
            sizes=sizes,
            rigid=self.known_scale == "fixed",
            zero_sources=zero_sources,
            zero_mixing=zero_mixing,
            totals=self._totals(engine.shape[0], rows),
            profiles=self._profiles(r, total),
            parts=parts,
            rows=levels.rows,
            both=self.penalised == "both",
        )
        _check_together(made)
        return made

    def _sources(self, engine: Engine, r: int, columns: NDArray) -> NDArray | None:
        """(R, n) known sources and the baseline, NaN where a source is free."""
        n = engine.shape[1]
        basis = backgrounds.basis(self.baseline, n)
        if self.known_sources is None and basis is None:
            return None
        found = np.full((r, n), np.nan)
        if self.known_sources is not None:
            given = _profile(self.known_sources, "known_sources", n, r)
            found[: len(given)] = given / engine.unit
        if basis is not None:
            found = np.vstack([found, basis])
        return np.asarray(found / columns)

    def _mixing(
        self, m: int, r: int, total: int, rows: NDArray
    ) -> tuple[NDArray | None, NDArray | None]:
        """(m, R) known columns of norm 1, NaN where a column is free, and their norms."""
        if self.known_mixing is None:
            return None, None
        given = _profile(np.asarray(self.known_mixing).T, "known_mixing", m, r).T / rows[:, None]
        found, sizes = np.full((m, total), np.nan), np.full(total, np.nan)
        norm = np.linalg.norm(given, axis=0)
        found[:, : given.shape[1]], sizes[: given.shape[1]] = given / norm, norm
        return found, sizes

    def _totals(self, m: int, rows: NDArray) -> NDArray | None:
        """(m,) sums of the rows of A."""
        if self.closure is None or self.closure is False:
            return None
        totals = arguments.as_array(1.0 if self.closure is True else self.closure, "closure")
        totals = totals.astype(np.float64)
        if totals.ndim > 1 or totals.size not in (1, m):
            raise ValueError(
                f"closure must be True, a total or one total a measurement ({m}), got shape "
                f"{totals.shape}."
            )
        if not np.isfinite(totals).all() or (totals <= 0).any():
            raise ValueError("closure must be totals above 0: leave out measurements of nothing.")
        return np.asarray(np.broadcast_to(totals, (m,)) / rows)

    def _profiles(self, r: int, total: int) -> tuple[str, ...] | None:
        """(R,) shapes of the columns of A."""
        if self.profiles is None:
            return None
        words = [self.profiles] * r if isinstance(self.profiles, str) else list(self.profiles)
        if len(words) != r:
            raise ValueError(f"profiles must be one word, or one for each source ({r}), got {words!r}.")
        shapes = ["free" if word is None else word for word in words]
        for shape in shapes:
            arguments.check_choice(shape, "profiles", tuple(SHAPES))
        return (*shapes, *["free"] * (total - r))


NOTHING = Known()


def _profile(values: ArrayLike, name: str, length: int, r: int) -> NDArray:
    """Known sources (k, n), or columns of A transposed; rows of NaN are not known."""
    found = arguments.as_array(values, name).astype(np.float64)
    wide = name == "known_sources"
    wanted = f"(k, {length})" if wide else f"({length}, k)"
    if found.ndim != 2 or found.shape[1] != length or not 1 <= len(found) <= r:
        shape = found.shape if wide else found.shape[::-1]
        raise ValueError(f"{name} must have shape {wanted} with k at most {r}, got {shape}.")
    free = np.isnan(found).all(axis=1)
    rest = found[~free]
    if not np.isfinite(rest).all():
        raise ValueError(f"{name} has NaN or infinity in a profile: give it whole, or all of it as NaN.")
    if (rest < 0).any():
        raise ValueError(f"{name} has negative entries: use np.maximum({name}, 0).")
    if not rest.any(axis=1).all():
        raise ValueError(f"{name} has a profile of zeros: leave it out.")
    return found


def _flags(values: ArrayLike | None, name: str, shape: tuple[int, int]) -> NDArray | None:
    """Booleans of a shape, not all of which are true in a row or column that a source needs."""
    if values is None:
        return None
    flags = np.asarray(values)
    if flags.dtype != bool or flags.shape != shape:
        raise ValueError(f"{name} must be booleans of shape {shape}, got {flags.dtype} {flags.shape}.")
    if flags.all(axis=1 if name == "zero_sources" else 0).any():
        raise ValueError(f"{name} leaves nothing of a source: use fewer sources instead.")
    return flags


def _check_together(made: Constraints) -> None:
    """Refuse what contradicts itself."""
    if (made.given & made.held).any():
        k = int(np.flatnonzero(made.given & made.held)[0])
        raise ValueError(
            f"known_sources and known_mixing both have source {k}: put NaN into one of them, since the "
            "other follows from it."
        )
    for values, zero, names in (
        (made.sources, made.zero_sources, ("known_sources", "zero_sources")),
        (made.mixing, made.zero_mixing, ("known_mixing", "zero_mixing")),
    ):
        if values is not None and zero is not None and (np.nan_to_num(values)[zero] > 0).any():
            raise ValueError(f"{names[0]} is above 0 where {names[1]} says that it is 0.")
    if made.totals is None:
        return
    if made.mixing is not None and made.sizes is not None:
        held = made.held
        if (made.mixing[:, held] @ made.sizes[held] > made.totals * (1 + 1e-9)).any():
            raise ValueError("known_mixing has more than the closure in one of its rows.")
    if made.zero_mixing is not None and made.zero_mixing[:, : made.r].all(axis=1).any():
        raise ValueError("zero_mixing leaves nothing of a measurement, whose closure is above 0.")
    if made.zero_mixing is not None and made.held.any():
        raise ValueError("closure, known_mixing and zero_mixing do not go together.")
