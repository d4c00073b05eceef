"""Constraint records translated to arrays in the units of an engine."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.algorithms.constraint_arrays import Constraints
from ngmca.constraints.baseline import Baseline
from ngmca.constraints.closure import Closure
from ngmca.constraints.known_values import KnownMixing, KnownSources
from ngmca.constraints.profiles import Monotonic, Unimodal, shapes_of
from ngmca.constraints.zeros import ZeroMixing, ZeroSources
from ngmca.engines import Engine, Levels, by_part
from ngmca.io.technique import borders

Constraint = (
    Baseline | Closure | KnownMixing | KnownSources | Monotonic | Unimodal | ZeroMixing | ZeroSources
)
KINDS = (Baseline, Closure, KnownMixing, KnownSources, Monotonic, Unimodal, ZeroMixing, ZeroSources)
Record = TypeVar("Record")


def as_constraints(given: Constraint | Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Return a tuple of constraints, one record of each class except for shapes of profiles."""
    found = (given,) if isinstance(given, KINDS) else tuple(given)
    for one in found:
        if not isinstance(one, KINDS):
            names = ", ".join(f"{kind.__name__}(...)" for kind in KINDS)
            raise ArgumentTypeError(
                "{} must be a list of {}, got {!r}.", option("constraints"), names, one
            )
    for kind in KINDS:
        count = sum(isinstance(one, kind) for one in found)
        if count > 1 and kind not in (Unimodal, Monotonic):
            raise ArgumentError(
                "{} is given {} times: put it into one record.", option(kind.__name__), count
            )
    return found


def transposed(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Return the constraints for the transposed data, whose sources are the columns of A."""
    found = []
    for one in constraints:
        if not isinstance(one, KnownMixing | KnownSources | ZeroMixing | ZeroSources):
            raise ArgumentTypeError(
                "{} has no counterpart when sources and mixing are exchanged: leave it out.",
                option(type(one).__name__),
            )
        found.append(one.transposed())
    return tuple(found)


def fixes_size(constraints: Sequence[Constraint], shape: tuple[int, int], r: int) -> NDArray:
    """Return (r,) which columns of A have the size that was given, not norm 1."""
    (m, n), found = shape, np.zeros(r, dtype=bool)
    mixing, sources = _first(constraints, KnownMixing), _first(constraints, KnownSources)
    if mixing is not None:
        found |= ~np.isnan(mixing.columns(m, r)).all(axis=0)
    if sources is not None and sources.scale == "fixed":
        found |= ~np.isnan(sources.rows(r, n)).all(axis=1)
    return found


def constraint_arrays(
    constraints: Sequence[Constraint],
    engine: Engine,
    r: int,
    levels: Levels,
    parts: tuple[slice, ...] = (slice(None),),
    *,
    penalise_both: bool = False,
) -> Constraints:
    """Return the constraints on r sources of an engine's data, in units of their noise."""
    if not constraints and not penalise_both:
        return Constraints(r)
    (m, n), (rows, columns) = engine.shape, levels.units(engine.shape)
    sources = _sources(constraints, engine, r, columns)
    extra = 0 if sources is None else len(sources) - r
    mixing, sizes = _mixing(_first(constraints, KnownMixing), m, r, extra, rows)
    zero_sources, zero_mixing = _zeros(constraints, (m, n), r, extra)
    closure, known = _first(constraints, Closure), _first(constraints, KnownSources)
    profiles = [one for one in constraints if isinstance(one, Unimodal | Monotonic)]
    made = Constraints(
        r=r,
        sources=sources,
        mixing=mixing,
        sizes=sizes,
        rigid=known is None or known.scale == "fixed",
        zero_sources=zero_sources,
        zero_mixing=zero_mixing,
        totals=None if closure is None else closure.totals_of(by_part(closure.totals, engine), m) / rows,
        profiles=(*shapes_of(profiles, r), *["free"] * extra) if profiles else None,
        parts=parts,
        rows=levels.rows,
        both=penalise_both,
    )
    _check_consistent(made)
    return made


def _first(constraints: Sequence[Constraint], kind: type[Record]) -> Record | None:
    return next((one for one in constraints if isinstance(one, kind)), None)


def _sources(
    constraints: Sequence[Constraint], engine: Engine, r: int, columns: NDArray
) -> NDArray | None:
    """Return (R, n): known sources, NaN where a source is free, and the curves of a baseline."""
    known, baseline = _first(constraints, KnownSources), _first(constraints, Baseline)
    if known is None and baseline is None:
        return None
    n = engine.shape[1]
    found = np.full((r, n), np.nan) if known is None else known.rows(r, n) / engine.unit
    if baseline is not None:
        found = np.vstack([found, baseline.basis(n, borders(engine.techniques))])
    return np.asarray(found / columns)


def _mixing(
    known: KnownMixing | None, m: int, r: int, extra: int, rows: NDArray
) -> tuple[NDArray | None, NDArray | None]:
    """Return (m, R) known columns of norm 1, NaN where a column is free, and their norms."""
    if known is None:
        return None, None
    given = np.pad(known.columns(m, r), ((0, 0), (0, extra)), constant_values=np.nan)
    given = np.ascontiguousarray(given) / rows[:, None]
    norm = np.linalg.norm(given, axis=0)
    return given / norm, norm


def _zeros(
    constraints: Sequence[Constraint], shape: tuple[int, int], r: int, extra: int
) -> tuple[NDArray | None, NDArray | None]:
    """Return where S (R, n) and A (m, R) are 0."""
    sources, mixing = _first(constraints, ZeroSources), _first(constraints, ZeroMixing)
    return (
        None if sources is None else np.pad(sources.flags(r, shape[1]), ((0, extra), (0, 0))),
        None if mixing is None else np.pad(mixing.flags(shape[0], r), ((0, 0), (0, extra))),
    )


def _check_consistent(made: Constraints) -> None:
    """Raise an error if constraints contradict each other."""
    if (made.given & made.held).any():
        raise ArgumentError(
            "{} and {} both define source {}: put NaN into one of them. The other follows from it.",
            *(
                option("KnownSources"),
                option("KnownMixing"),
                int(np.flatnonzero(made.given & made.held)[0]),
            ),
        )
    for values, zero, names in (
        (made.sources, made.zero_sources, ("KnownSources", "ZeroSources")),
        (made.mixing, made.zero_mixing, ("KnownMixing", "ZeroMixing")),
    ):
        if values is not None and zero is not None and (np.nan_to_num(values)[zero] > 0).any():
            raise ArgumentError("{} is above 0 where {} says 0.", *map(option, names))
    if made.totals is None:
        return
    if made.mixing is not None and made.sizes is not None:
        held = made.held
        if (made.mixing[:, held] @ made.sizes[held] > made.totals * (1 + 1e-9)).any():
            raise ArgumentError(
                "{} exceeds the total of {} in one of its rows.",
                option("KnownMixing"),
                option("Closure"),
            )
    if made.zero_mixing is not None and made.zero_mixing[:, : made.r].all(axis=1).any():
        raise ArgumentError(
            "{} sets a whole measurement to 0, but {} says that its total is above 0.",
            *(option("ZeroMixing"), option("Closure")),
        )
