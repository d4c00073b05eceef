"""Reader of projects of Athena (Demeter) and Larch, `.prj`: X-ray absorption, one group a measurement.

A project is a program in Perl, mostly compressed, or JSON. It is never run: a tokenizer knows the few
kinds of tokens that such files have, and anything else is an error.
"""

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ngmca.io.combine import combine, with_common_range
from ngmca.io.dataset import Dataset, monotonic, real_numbers
from ngmca.io.read_error import ReadError, damaged, printable
from ngmca.io.tables.text_reader import decoded

TOKEN = re.compile(
    r"""\s+|\#[^\n]*                                             # space or a comment
    |'(?P<single>[^'\\]*(?:\\.[^'\\]*)*)'|"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)"
    |(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w))
    |(?P<word>[$@%]?[A-Za-z_][\w:]*)
    |(?P<mark>=>|[()\[\]{},;=])""",
    re.X | re.S,
)
CODE = re.compile(r"\\x\{([0-9a-fA-F]{1,6})\}|\\(.)", re.S)
HEADER = b"Athena project file"
OPEN, CLOSE = "([{", ")]}"
WANTED = ("@args", "@x", "@y")
Group = dict[str, Any]


def is_project(head: bytes) -> bool:
    """Return whether a file that begins so is a project; other programs use the suffix too."""
    if head.startswith(b"\x1f\x8b"):
        try:
            head = zlib.decompressobj(wbits=31).decompress(head, 400)
        except zlib.error:
            return False
    return HEADER in head[:400]


def read_athena(path: Path, **_: Any) -> Dataset:
    """Read the groups of a project on a common axis, with their shifts of energy."""
    text = decoded(path)
    groups = _from_json(text, path) if text.lstrip().startswith("{") else _from_perl(text, path)
    if not groups:
        raise ReadError(f"{path} has no group with data.")
    found = [_spectrum(group, path) for group in groups]
    units = Counter(part.axis_unit for part in found)
    unit = max(units, key=lambda one: (units[one], one == "eV"))
    kept = [part for part in found if part.axis_unit == unit]
    parts, names, notes = with_common_range(kept, [part.meta["title"] for part in kept])
    notes += [
        f"left out: {part.meta['title']}, which is against {part.axis_label}."
        for part in found
        if part.axis_unit != unit
    ]
    kinds = sorted({part.meta["intensity"] for part in parts})
    shifts = [part.meta["shift"] for part in parts if part.meta.get("shift")]
    if shifts:
        notes.append(
            f"energies were shifted as in the project (bkg_eshift): {len(shifts)} of {len(parts)}, by "
            f"{min(shifts):g} to {max(shifts):g} eV."
        )
    if unit == "eV" and any("norm" not in kind for kind in kinds):
        notes.append(f"{', '.join(kinds)} as stored: neither normalised nor flattened.")
    data = combine(parts, names)
    meta = {"path": printable(path), "intensity": ", ".join(kinds)}
    return replace(data, row_names=tuple(names), meta=meta).with_notes(*notes)


def _spectrum(group: Group, path: Path) -> Dataset:
    """Return one group as a data set of one measurement."""
    args, name = group["@args"], printable(group["name"])
    label = printable(args.get("label") or name).strip()
    with damaged(f"{path}: x or y of {label} are not numbers"):
        x, y = (np.array([float(one) for one in group[key]]) for key in ("@x", "@y"))
        shift = float(args.get("bkg_eshift") or 0)
    if len(x) != len(y) or not len(x):
        raise ReadError(f"{path}: {label} has {len(x)} energies and {len(y)} values: it is damaged.")
    if not np.isfinite(x).all() or not np.isfinite(shift):
        raise ReadError(f"{path}: {label} has an energy that is not finite: it is damaged.")
    y = real_numbers(y, f"{path}: {label}")
    kind = str(args.get("recordtype") or args.get("datatype") or "mu(E)")
    marks = {mark for mark in ("is_chi", "is_pixel", "is_nor") if str(args.get(mark)) == "1"}
    kind = "norm(E)" if "is_nor" in marks else kind
    meta: dict[str, Any] = {"title": label, "intensity": printable(kind)}
    axis, notes = ("energy", "eV"), []
    if "is_chi" in marks or kind.startswith("chi"):
        axis = ("k", "Å⁻¹")
    elif "is_pixel" in marks:
        axis = ("pixel", "")
    else:
        x += shift
        meta["shift"] = shift
    if len(x) > 1 and not monotonic(x):
        x, places, counts = np.unique(x, return_inverse=True, return_counts=True)
        y = np.bincount(places, y) / counts
        notes.append(f"{label}: energies were sorted, and values at equal energies averaged.")
    return Dataset(y[None], x, *axis, (), None, meta, tuple(notes))


def _from_json(text: str, path: Path) -> list[Group]:
    """Return the groups of a project that Larch or Athena wrote as JSON."""
    with damaged(f"{path} is not complete JSON"):
        content = json.loads(text)
    order = content.get("_____order", list(content))
    groups = []
    for name in order if isinstance(order, list) else ():
        one = content.get(name) if isinstance(name, str) else None
        if isinstance(one, dict) and {"args", "x", "y"} <= set(one):
            lists = isinstance(one["x"], list) and isinstance(one["y"], list)
            if not lists or not isinstance(one["args"], dict):
                raise ReadError(f"{path}: {name} has no list of x and y: it is damaged.")
            groups.append({"name": name, "@args": one["args"], "@x": one["x"], "@y": one["y"]})
    return groups


def _from_perl(text: str, path: Path) -> list[Group]:
    """Return the groups of a project in Perl: arguments, x and y, up to each `[record]`."""
    groups: list[Group] = []
    current: Group = {}
    for name, values in _statements(text, path):
        if name == "$old_group":
            current = {"name": "".join(values)}
        elif name in WANTED:
            current[name] = values
        elif name == "[record]":
            missing = [one for one in WANTED if one not in current]
            if missing:
                raise ReadError(f"{path}: a group has no {' and '.join(missing)}: it is damaged.")
            args = current["@args"]
            if len(args) % 2:
                raise ReadError(f"{path}: a group has an argument without a value: it is damaged.")
            pairs = dict(zip(args[::2], args[1::2], strict=True))
            groups.append({"name": f"group {len(groups) + 1}"} | current | {"@args": pairs})
            current = {}
    if any(name in current for name in WANTED):
        raise ReadError(f"{path} ends within a group: it is truncated.")
    return groups


def _statements(text: str, path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the values of each statement; values inside a value are left out."""
    name, values, depth = "", [], 0
    for kind, token in _tokens(text, path):
        if kind == "mark" and token in OPEN:
            depth += 1
            if depth == 2:
                values.append("")  # in the place of a list
        elif kind == "mark" and token in CLOSE:
            depth -= 1
            if not name and not depth and values == ["record"]:
                yield "[record]", []
                values = []
        elif token == ";" and kind == "mark" and not depth:
            yield name, values
            name, values = "", []
        elif kind == "word" and not depth and not name:
            name = token
        elif kind != "mark" and depth <= 1:
            values.append("" if token == "undef" and kind == "word" else token)
    if name or depth:
        raise ReadError(f"{path} ends within {printable(name) or 'a list'}: it is truncated.")


def _tokens(text: str, path: Path) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each token; strings have their escapes undone."""
    place = 0
    while place < len(text):
        found = TOKEN.match(text, place)
        if found is None:
            line = text.count("\n", 0, place) + 1
            raise ReadError(f"{path}, line {line}: this is not what Athena writes. It is damaged.")
        place = found.end()
        kind = found.lastgroup
        if kind in ("single", "double"):
            yield "text", CODE.sub(_character, found[kind]) if "\\" in found[kind] else found[kind]
        elif kind:
            yield kind, found[0]


def _character(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return escape[2]
    code = int(escape[1], 16)
    return chr(code) if code <= 0x10FFFF else "?"
