"""Constraint records translated to arrays in the units of an engine."""

from collections.abc import Iterable, Sequence
from typing import TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.algorithms.constraint_arrays import Constraints
from ngmca.constraints.baseline import Baseline
from ngmca.constraints.closure import Closure
from ngmca.constraints.kinetics import Kinetics
from ngmca.constraints.known_values import KnownMixing, KnownSources
from ngmca.constraints.law_and_values import beside_rate_law
from ngmca.constraints.profiles import Monotonic, Trilinear, Unimodal, shapes_of
from ngmca.constraints.zeros import ZeroMixing, ZeroSources
from ngmca.engines import Engine, Levels, by_part
from ngmca.io.technique import borders
from ngmca.nnqp.profile_shapes import nearest_in_shape

Constraint = (
    Baseline
    | Closure
    | Kinetics
    | KnownMixing
    | KnownSources
    | Monotonic
    | Trilinear
    | Unimodal
    | ZeroMixing
    | ZeroSources
)
KINDS: tuple[type[Constraint], ...] = get_args(Constraint)
Record = TypeVar("Record")
SAME_VALUE = 1e-9  # relative difference up to which known values do not contradict each other
LARGEST_RATIO = 1e30  # of known sources to the data


def as_constraints(given: Constraint | Iterable[Constraint]) -> tuple[Constraint, ...]:
    """Return a tuple of constraints, one record of each class except for shapes of profiles.

    A baseline of the kind "none" is left out.
    """
    found = (given,) if isinstance(given, Constraint) else tuple(given)
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
    return tuple(one for one in found if not (isinstance(one, Baseline) and one.is_none))


def transposed(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Return the constraints for the transposed data, whose sources are the columns of A."""
    found = []
    for one in constraints:
        if isinstance(one, Baseline) and not one.is_decided:
            continue  # an automatic baseline is none here
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
        found |= (np.nan_to_num(mixing.columns(m, r)) > 0).any(axis=0)
    if sources is not None and sources.scale == "fixed":
        found |= (np.nan_to_num(sources.rows(r, n)) > 0).any(axis=1)
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
    constraints = [one for one in constraints if not isinstance(one, Baseline) or one.is_decided]
    (m, n), (rows, columns) = engine.shape, levels.units(engine.shape)
    sources = _sources(constraints, engine, r, columns)
    extra = 0 if sources is None else len(sources) - r
    mixing, expected, sd = _mixing(_first(constraints, KnownMixing), m, r, extra, rows)
    zero_sources, zero_mixing = _zeros(constraints, (m, n), r, extra, parts)
    closure, known = _first(constraints, Closure), _first(constraints, KnownSources)
    kinetics, common = _first(constraints, Kinetics), _first(constraints, Trilinear)
    profiles = [one for one in constraints if isinstance(one, Unimodal | Monotonic)]
    made = Constraints(
        r=r,
        sources=sources,
        mixing=mixing,
        expected=expected,
        sd=sd,
        rigid=known is None or known.scale == "fixed",
        zero_sources=zero_sources,
        zero_mixing=zero_mixing,
        totals=None if closure is None else closure.totals_of(by_part(closure.totals, engine), m) / rows,
        summed=None if closure is None else closure.summed(r),
        sense="equal" if closure is None else closure.kind,
        profiles=_shapes(profiles, kinetics, r, m, extra) if profiles else None,
        parts=parts,
        rows=levels.rows,
        both=penalise_both,
        kinetics=None if kinetics is None else kinetics.model(m, r, rows),
        trilinear=() if common is None else common.columns(r, parts, m),
    )
    made = made if made.kinetics is None else beside_rate_law(made, made.kinetics)
    _check_consistent(made)
    return made


def _shapes(
    profiles: Sequence[Unimodal | Monotonic], kinetics: Kinetics | None, r: int, m: int, extra: int
) -> tuple[str, ...]:
    """Return the shapes (R,) of profiles; those of a rate law have none besides."""
    shapes = shapes_of(profiles, r)
    if kinetics is not None:
        modelled = kinetics.modelled(m, r)
        named = {k for one in profiles for k in one.sources or () if modelled[k]}
        shapes = tuple("free" if modelled[k] else shape for k, shape in enumerate(shapes))
        if named or set(shapes) == {"free"}:
            raise ArgumentError(
                "{} gives the whole profile of source {}: leave out its shape.",
                *(option("Kinetics"), min(named, default=0)),
            )
    return (*shapes, *["free"] * extra)


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
        curves = baseline.basis(n, borders(engine.techniques))
        if len(curves) >= n:
            raise ArgumentError(
                "{} has {} curves for {} channels: they fit any data, and nothing is left for the "
                "sources. Leave it out.",
                *(option("Baseline"), len(curves), n),
            )
        found = np.vstack([found, curves])
    peak = 0.0 if known is None else float(np.nanmax(known.rows(r, n), initial=0.0))
    if peak and not engine.unit / LARGEST_RATIO < peak < engine.unit * LARGEST_RATIO:
        raise ArgumentError(
            "{} has a largest entry of {:.3g}, too far from the size of the data for floating-point "
            "numbers. Give it in the unit of the data.",
            *(option("KnownSources"), peak),
        )
    return np.asarray(found / columns)


def _mixing(
    known: KnownMixing | None, m: int, r: int, extra: int, rows: NDArray
) -> tuple[NDArray | None, NDArray | None, NDArray | None]:
    """Return (m, R) exact values of A, values with a standard deviation, and that; NaN elsewhere."""
    if known is None:
        return None, None, None
    free, values, sd = np.nan, known.columns(m, r), known.deviations(m, r)
    soft = sd > 0
    parts = np.where(soft, free, values), np.where(soft, values, free), np.where(soft, sd, free)
    found = [np.pad(part / rows[:, None], ((0, 0), (0, extra)), constant_values=free) for part in parts]
    exact = None if np.isnan(found[0]).all() else np.ascontiguousarray(found[0])
    return (exact, found[1], found[2]) if soft.any() else (exact, None, None)


def _zeros(
    constraints: Sequence[Constraint],
    shape: tuple[int, int],
    r: int,
    extra: int,
    parts: Sequence[slice],
) -> tuple[NDArray | None, NDArray | None]:
    """Return where S (R, n) and A (m, R) are 0."""
    sources, mixing = _first(constraints, ZeroSources), _first(constraints, ZeroMixing)
    return (
        None if sources is None else np.pad(sources.flags(r, shape[1]), ((0, extra), (0, 0))),
        None if mixing is None else np.pad(mixing.flags(shape[0], r, parts), ((0, 0), (0, extra))),
    )


def _check_consistent(made: Constraints) -> None:
    """Raise an error if constraints contradict each other."""
    twice = (made.given | made.windows) & made.held
    if twice.any():
        raise ArgumentError(
            "{} and {} both define source {}: put NaN into one of them. The other follows from it.",
            *(option("KnownSources"), option("KnownMixing"), int(twice.argmax())),
        )
    for values, zero, names in (
        (made.sources, made.zero_sources, ("KnownSources", "ZeroSources")),
        (made.mixing, made.zero_mixing, ("KnownMixing", "ZeroMixing")),
    ):
        if values is not None and zero is not None and (np.nan_to_num(values)[zero] > 0).any():
            raise ArgumentError("{} is above 0 where {} says 0.", *map(option, names))
    _check_shapes_of_points(made)
    if made.totals is not None:
        _check_scale_of_sums(made)
        _check_sums_of_points(made, made.totals)


def _check_shapes_of_points(made: Constraints) -> None:
    """Raise an error if known values of A contradict the shape of their profile."""
    if made.profiles is None or made.points is None:
        return
    points = made.points if made.rows is None else made.points * made.rows[:, None]
    for k in np.flatnonzero(~np.isnan(points).all(axis=0)):
        shape = made.profiles[k]
        for part in made.parts:
            known = points[part, k][~np.isnan(points[part, k])]
            nearest = nearest_in_shape(known[:, None], [shape])[:, 0]
            if (np.abs(nearest - known) > SAME_VALUE * known.max(initial=0)).any():
                raise ArgumentError(
                    "known values of source {} are not {}: correct them, give them a standard deviation "
                    "with {}, or leave out the shape.",
                    *(k, shape, option("KnownMixing(..., sd=...)")),
                )
    everywhere = made.in_shape(np.ones(points.shape), np.arange(made.total))
    for k in np.flatnonzero(made.zeros.any(axis=0) & ~everywhere.any(axis=0)):
        raise ArgumentError(
            "known zeros and the shape of its profile, {}, make source {} 0 in all measurements: "
            "correct one of them, or leave the source out.",
            *(made.profiles[k], k),
        )


def _check_scale_of_sums(made: Constraints) -> None:
    """Raise an error if a closure at most, or at least, a total is about a source without a scale."""
    scaled = made.pointed | ((made.given | made.windows) if made.rigid else False)
    unscaled = np.flatnonzero(made.closed & ~scaled)
    if made.sense != "equal" and unscaled.size:
        raise ArgumentError(
            "{} with sums of {} a total needs the scale of all sources in it, but source {} has none: "
            "give one of its values with {}, or its spectrum with {}, or leave it out by sources=.",
            *(option("Closure"), made.sense, int(unscaled[0])),
            *(option("KnownMixing"), option("KnownSources")),
        )


def _check_sums_of_points(made: Constraints, totals: NDArray) -> None:
    """Raise an error if known values of A contradict the total of their measurement."""
    if made.points is None:
        return
    inside = made.points[:, made.closed]
    sums, whole = np.nansum(inside, axis=1), ~np.isnan(inside).any(axis=1)
    above, below = sums > totals * (1 + SAME_VALUE), sums < totals * (1 - SAME_VALUE)
    wrong = {
        "equal": above | (whole & below),
        "at most": above,
        "at least": whole & below,
    }[made.sense]
    if wrong.any():
        row = int(wrong.argmax())
        total = float(np.broadcast_to(totals, sums.shape)[row])
        raise ArgumentError(
            "values that are known by {} or {} contradict the total of {} in measurement {}: "
            "their sum is {:.8g}, the total is {:.8g}. Correct one of them, or leave one value out.",
            *(
                option("KnownMixing"),
                option("ZeroMixing"),
                option("Closure"),
                row,
                float(sums[row]),
                total,
            ),
        )
