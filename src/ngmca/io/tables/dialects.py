"""Extra content that programs write to tables: types, second axes, pairs of columns, units."""

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support.messages import message, option
from ngmca.io.axis_units import from_unit, heading, intensity_kind, is_unit, role
from ngmca.io.dataset import monotonic
from ngmca.io.read_error import ReadError
from ngmca.io.tables.axis_evidence import SHORTEST_AXIS, is_counter, is_even
from ngmca.io.tables.column_labels import axis_above
from ngmca.io.tables.computed import without_computed, without_legend, without_summaries
from ngmca.io.tables.orange import unmarked
from ngmca.io.tables.text_maps import says_long
from ngmca.io.tables.text_tables import Table

AUXILIARY_COLUMN = re.compile(
    r"^(dark|dunkel|reference|referenz|raw data|%tr|absorbance|irradiance)\b", re.I
)
SPREAD = r"(sd|std|stdev|err|error|sem|rsd|cv|variance|var|unc|uncertainty|sigma)"
NOT_A_MEASUREMENT = re.compile(
    r"^((dark|dunkel|reference|referenz|background|hintergrund|baseline|mean|average|avg|median"
    rf"|mittelwert|i0|monitor|{SPREAD})(?![a-zA-Z])|t°|temperature)"
    rf"|[ _.(-](mean|avg|median|{SPREAD})\)?$",
    re.I,
)
DERIVED = {"nbkg", "flat", "fbkg", "nder", "nsec", "bkg", "pre_edge", "post_edge", "der",
           "sec"}  # by Athena  # fmt: skip
RAW_COUNTER = re.compile(
    r"^(i_?0|i_?1|it|if|i_?trans|i_?ref|irefer|ifluor|monitor|mon|clock|ring[ _]?current|seconds)$", re.I
)
ABSORPTION = re.compile(r"(x?mu(trans|fluor)?|norm(trans|fluor)?)$", re.I)  # as XDI calls it
PARAMETER = re.compile(  # a condition of a scan, not an intensity
    r"^(retention[ _]?time|rt|r\.t\.|time|elapsed( time)?|date|temp(erature)?|t_sample|pressure|voltage|"
    r"potential|current|power|flow|humidity|ph|speed|motor|theta|2theta|phi|chi|omega|energy|field|"
    r"angle|direction|row|column|run|depth|z|"
    r"gain|exposure|integration[ _]?time|dwell|count[ _]?time|live[ _]?time)\b(?!.*\d)",
    re.I,
)
ENDS = re.compile(
    r"(-?[\d.]+?)\s*([a-zA-Z/^1-]*)\.?\s+RIGHT\s*=\s*(-?[\d.]*\d)"
)  # 12.0 ppm. RIGHT = -2.0
UNIT_AT_END = re.compile(r"[\d\W](nm|um|µm)\W*$")
NO_NAMES = ("x-axis", "x axis", "x")
COUNT = re.compile(r"\d+")
ORIGIN_NAME = re.compile(r"^(.*?)\s*\(([XY])\d*\)$")  # A(X1), B(Y1)
CORRECTED = re.compile(r"^dark subtracted", re.I)


def tidied(table: Table) -> Table:
    """Return the table without additions of programs: types, numbers of pixels, a second axis."""
    plain = _without_index(unmarked(_of_origin(without_summaries(without_legend(table)))))
    bare = without_computed(_without_parameters(_one_axis(_without_pixels(plain))))
    tidy = _with_kind_remarks(bare)
    dropped = [
        (table.names[k] if table.names else "") or f"column {j + 1}"
        for k, j in enumerate(table.columns)
        if j not in tidy.columns
    ]
    return tidy.with_remarks(f"columns that were left out: {', '.join(dropped)}." if dropped else "")


def is_no_measurement(name: str) -> bool:
    """Return whether a name is that of errors, dark spectra, a counter or a condition of a scan."""
    return any(form.search(name) for form in (NOT_A_MEASUREMENT, RAW_COUNTER, PARAMETER))


def _of_origin(table: Table) -> Table:
    """Return the table without the marks in names of Origin, A(X1) and B(Y1), and names of axes."""
    found = [ORIGIN_NAME.match(name) for name in table.names]
    marks = [one for one in found if one]
    if not found or len(marks) < len(found) or marks[0][2] != "X":
        return table
    return replace(table, names=tuple(one[1] if one[2] == "Y" else "" for one in marks))


def _without_index(table: Table) -> Table:
    """Return the table without the row and column numbers of pandas."""
    width = table.values.shape[1]
    index = width > 1 and table.names and 0 not in table.words and is_counter(table.values[:, 0])
    if not index:
        return table
    if table.names[0]:
        counts = role(table.names[0]) in ("counting", "channel")
        return table.take(range(1, width)) if counts and _alone_is_axis(table.values[:, 1:]) else table
    if table.names[1:] == tuple(str(j) for j in range(width - 1)) and table.values[0, 0] == 0:
        return replace(table.take(range(1, width)), names=())
    spectral = [role(name) == "spectral" for name in table.names]
    return table.take(range(1, width)) if any(spectral[2:]) else table


def _alone_is_axis(values: NDArray) -> bool:
    """Return whether the first column is an axis in even steps, and no other one is sorted."""
    first, *others = values.T
    alone = len(others) > 0 and not any(map(monotonic, others))
    return len(first) >= SHORTEST_AXIS and is_even(first) and alone and not is_counter(first)


def _with_kind_remarks(table: Table) -> Table:
    """Return the table with remarks on transmittance, dark spectra and errors among its columns."""
    words = [*table.names[1:], *table.units[1:], table.facts.get("yunits", "")]
    kinds = {intensity_kind(word) for word in words if len(word) > 1}  # a sample may be called A
    in_pairs = len(table.names) > 2 and role(table.names[2]) == "spectral"
    if {"absorbance", "transmittance"} <= kinds and not in_pairs:
        raise _different(table)
    remark = ""
    if "transmittance" in kinds:
        remark = "the data are transmittance, which does not add up in mixtures: convert to -log10 T."
    others = [
        f"{table.columns[j] + 1} {name}"
        for j, name in enumerate(table.names)
        if j and NOT_A_MEASUREMENT.search(name) and not CORRECTED.match(name)
    ]
    if 1 < len(others) == len(table.names) - 1:  # means of all samples
        others = []
    warning = message(
        "columns that may not be measurements: {}. Select the others with {}.",
        *(", ".join(others), option("columns")),
    )
    return table.with_remarks(remark, warning if others else "")


def _without_parameters(table: Table) -> Table:
    """Return the table without times beside an axis of spectra; raise an error for a log."""
    found = [j for j, name in enumerate(table.names) if PARAMETER.match(name.strip())]
    if not table.names or axis_above(table) is not None or 0 in table.words:
        return table
    others = [j for j in found if j and j not in table.words]
    if role(table.names[0]) == "spectral" and 2 * len(others) <= len(table.names) - 1:
        counters = [j for j, name in enumerate(table.names) if j and RAW_COUNTER.match(name.strip())]
        found_mu = [j for j, name in enumerate(table.names) if ABSORPTION.match(name.strip())]
        derived = [j for j, name in enumerate(table.names) if name.strip().lower() in DERIVED]
        if len([*counters, *derived]) > 1 and len(found_mu) == 1:  # a scan at a beamline
            return table.take([0, *found_mu])
        if len(counters) > 1:
            raise _different(table)
        left = [j for j in found if j and _is_condition(table.names[j])]
        kept = [j for j in range(len(table.names)) if j not in left]
        in_order = monotonic(table.values[:, 0])  # if not, there is one point in each line
        return table.take(kept) if len(kept) > 1 and in_order else table
    if len(others) > 1 and not says_long(table):
        raise ReadError(
            "{} looks like a log, not like spectra: its columns are {}. Say which columns are data, for "
            "example {}.",
            *(table.where, ", ".join(filter(None, table.names[:12])), option("columns", "3-5")),
        )
    return table


def _is_condition(name: str) -> bool:
    """Return whether a heading beside wavelengths is the time or the temperature of each reading."""
    return len(name) > 1 and (role(name) == "time" or name.lower().startswith("temp"))


def _different(table: Table) -> ReadError:
    columns = ", ".join(f"{table.columns[j] + 1} {name}" for j, name in enumerate(table.names))
    return _choose_columns(table, columns)


def _choose_columns(table: Table, kinds: str) -> ReadError:
    return ReadError(
        "{} has columns of different kinds: {}. Say which to read, for example {}.",
        *(table.where, kinds, option("columns", "2")),
    )


def _without_pixels(table: Table) -> Table:
    """Return the table without columns that count, before a column named like an axis."""
    roles = [role(name) for name in table.names]
    if "spectral" not in roles or roles[0] == "spectral":
        return table
    first = roles.index("spectral")
    count = [
        j in table.words or is_counter(table.values[:, j]) or table.names[j].lower() == "pixel"
        for j in range(first)
    ]
    # one point in each line, beside the name of a sample
    named = any(j in table.words for j in range(first))
    if all(count) and not (named and not monotonic(table.values[:, first])):
        return table.take(range(first, len(roles)))
    last = len(roles) - 1  # intensity, wavelength
    swapped = first == last == 1 and monotonic(table.values[:, 1])
    return table.take([1, 0]) if swapped else table


def _one_axis(table: Table) -> Table:
    """Return the table with one of several axes, and with corrected instead of raw columns."""
    roles = [role(name) for name in table.names]
    axes = [j for j, one in enumerate(roles) if one == "spectral" and j not in table.words]
    kinds = {heading(table.names[j])[0].lower() for j in axes}
    leading = axes == list(range(len(axes)))
    if len(axes) > 1 and leading and len(kinds) == len(axes):
        shifts = [j for j in axes if "shift" in table.names[j].lower()]
        axes, others = shifts[:1] or axes[:1], range(len(axes), len(roles))
        table = table.take([*axes, *others])
    corrected = [j for j, name in enumerate(table.names) if CORRECTED.match(name)]
    if corrected:
        table = table.take([0, *corrected])
        return table.rows(np.isfinite(table.values).all(axis=1))
    found = (AUXILIARY_COLUMN.match(name) for name in table.names[1:])
    if len({one[1].lower() for one in found if one}) > 1:
        raise _different(table)
    return table


def check_first(table: Table) -> None:
    """Raise an error if a column other than the first is named like an axis."""
    axes = [j for j, name in enumerate(table.names) if role(name) == "spectral" and j not in table.words]
    if axes and axes != [0]:
        j = next(j for j in axes if j > 0)
        raise ReadError(
            "{}: column {} is called {!r}, but other columns stand before it. Say which columns are "
            "data, for example {}, or give {}.",
            *(table.where, table.columns[j] + 1, table.names[j]),
            *(option("columns", "3-5"), option("axis")),
        )


def pairs_of(table: Table) -> list[Table]:
    """Return tables of two columns each if position and intensity alternate, else an empty list."""
    count = table.values.shape[1] // 2
    if count < 2 or table.values.shape[1] % 2 or table.words or len(table.values) < SHORTEST_AXIS:
        return []
    x = table.values[:, 0::2]
    headings = {name.lower() for name in table.names[0::2]}
    alike = (x == x[:, :1]).all() and monotonic(x[:, 0])
    spectral = [role(unit) == "spectral" for unit in table.units[0::2]]
    if len({re.sub(r"[\d.]+$", "", name) for name in headings}) > 1 and not (alike and any(spectral)):
        return []
    named = bool(table.names) and {role(n) for n in table.names[0::2]} == {"spectral"}
    twice = named and len({heading(h.rsplit(".", 1)[0])[0] for h in headings}) == 1
    if not (alike or twice or _bare_pairs(table)):
        return []
    return [_pair(table, k) for k in range(count)]


def _bare_pairs(table: Table) -> bool:
    """Return whether every second column, and no other, rises or falls all the way to its end."""
    if len(table.values) < 10:
        return False
    columns = [column[np.isfinite(column)] for column in table.values.T]
    axes = columns[0::2]
    if not all(map(monotonic, axes)) or any(monotonic(c) for c in columns[1::2]):
        return False
    steps = [np.abs(np.diff(c)) for c in axes]
    if any(some.max() > 20 * np.median(some) for some in steps):  # decays below a first row of names
        return False
    overlap = [min(max(axes[0]), max(c)) - max(min(axes[0]), min(c)) for c in axes]
    near = all(2 * some >= np.ptp(axes[0]) for some in overlap)
    return near and len({(bool(c[0] < c[-1]), is_even(c)) for c in axes}) == 1


def _pair(table: Table, k: int) -> Table:
    one = table.take([2 * k, 2 * k + 1])
    if one.units and role(one.units[0]) == "spectral" and role(one.names[0]) != "spectral":
        one = replace(one, names=(one.units[0], one.names[0] or one.names[1]), units=())
    missing = np.isnan(one.values).all(axis=1)
    if missing.any() and not np.diff(missing.astype(int)).min() < 0:  # a shorter column ends earlier
        return one.rows(~missing)
    return one


def name_of(table: Table, title: str) -> str:
    """Return the name of the only spectrum in a table, from the lines above it."""
    above = [cell for cell in table.above if cell]
    return above[0] if above else title or (table.names[1] if len(table.names) > 1 else "")


def axis_name_and_unit(table: Table, name: str) -> tuple[str, str]:
    """Return name and unit of an axis, from its heading or from the lines around the table."""
    over = [cells[0] for cells in table.over if not name and cells[0]]
    place = next((i for i, cell in enumerate(over) if role(cell) == "spectral"), len(over))
    if place < len(over):  # the name of the axis, and below it its unit, above the names of the columns
        unit = next((one for one in over[:place][::-1] if is_unit(one)), "")
        name = f"{over[place]} [{unit}]" if unit and not heading(over[place])[1] else over[place]
    quantity, unit = heading(name.split("\\")[0].strip())
    beside = table.units[0].strip("[]() ") if table.units else ""
    beside = beside or _unit_in(table.facts)
    beside = beside or (ENDS.match(table.facts.get("left", "")) or ["", "", ""])[2].strip(" .")
    if unit or not beside:
        return quantity, unit
    known = from_unit(beside, quantity)
    return known if not name or quantity.lower() in NO_NAMES else (quantity, known[1])


def _unit_in(facts: dict[str, str]) -> str:
    """Return the unit of the axis in lines such as XUNITS or AxisUnit."""
    for key, value in facts.items():
        if key.startswith("axistype") and value.lower().startswith("spectr"):
            return facts.get(key.replace("axistype", "axisunit"), "")
    keys = ("xunits", "x units", "x unit", "xdatakind", "spectro in", "range in")
    found = [facts.get(key, "") for key in keys]
    ends = (value for key, value in facts.items() if key.startswith("wavelength"))
    last = (UNIT_AT_END.search(value) for value in ends)  # Wavelength start, 300, nm
    spectral = (key for key in facts if "[" in key and role(key) == "spectral")
    named = (heading(key)[1] for key in spectral)  # wavelengths [nm]: 400, ...
    found += [*(one[1] for one in last if one), *filter(None, named)]
    first = heading(facts.get("column.1", ""))[1]  # energy eV
    if facts.get("xaxis mode", "").lower() == "wavelengths":  # Ocean Optics
        return "nm"
    return next((unit for unit in (*found, first) if from_unit(unit, "")[0]), "")


def axis_of_ends(table: Table) -> NDArray | None:
    """Return the axis of one column of numbers from its ends in the header; None if it has none.

    TopSpin writes `LEFT = 12.0 ppm. RIGHT = -2.0 ppm.`, others FIRSTX and LASTX.
    """
    facts = table.facts
    both = ENDS.match(facts.get("left", "")) or ENDS.match(
        f"{facts.get('firstx', '')} RIGHT = {facts.get('lastx', '')}"
    )
    if both is None or table.values.shape[1] != 1:
        return None
    size = COUNT.match(facts.get("size", ""))
    if size and int(size[0]) != len(table.values):
        raise ReadError(
            f"{table.where} announces {size[0]} points, but holds {len(table.values)}: it is damaged."
        )
    return np.linspace(float(both[1]), float(both[3]), len(table.values))


def check_facts(table: Table, columns: str | None) -> None:
    """Raise an error if the header announces another number of points, or columns of several kinds."""
    announced = table.facts.get("npoints", "").replace(" ", "")
    if announced.isdigit() and int(announced) != len(table.values):
        raise ReadError(
            f"{table.where} announces {announced} points, but holds {len(table.values)}: it is damaged."
        )
    keys = ("yunits", "yunits2", "yunits3", "y2units", "y3units")
    kinds = [table.facts[key] for key in keys if table.facts.get(key)]
    if columns is None and len(kinds) > 1 and table.values.shape[1] == len(kinds) + 1:
        raise _choose_columns(table, ", ".join(kinds))
