"""The meaning of headings, names of variables and units: one table for all readers.

Only absorbances of substances add up in a mixture, so transmittance becomes absorbance.
"""

import re

import numpy as np
from numpy.typing import NDArray

UNIT_LAST = (
    re.compile(r"^(.*\S)\s*/\s*(\S+)$"),  # name/unit
    re.compile(r"^(.*?[^\s,_])(?:[\s,_]+in)?[\s,_]+(\S+?)\.?$"),  # name unit, name in unit
)
PANDAS_SUFFIX = re.compile(r"\.\d+$")  # pandas renames a second `wavelength` to `wavelength.1`
BRACKETS = re.compile(r"^(.*?)\s*[\[(]\s*([^\])]*?)\s*[\])]$")  # name [unit], name (unit)
ENDS_IN_POSITION = re.compile(r"[a-zA-Z@_. ]\d{2,}(\.\d+)?$")
NO_AXIS = "channel"  # the name of an unknown axis

SHIFT = ("chemical shift", "ppm")
WAVENUMBER = ("wavenumber", "cm-1")
MASS = ("m/z", "")

WORDS = {  # in lower case, for each name and unit of an axis
    SHIFT: ("ppm", "chemical shift", "chemical shifts"),
    WAVENUMBER: ("wavenumber", "wavenumbers", "wave number", "wave numbers", "wn", "cm-1", "cm^-1",
                 "cm⁻¹", "cm-¹", "cm\u22121", "1/cm"),
    ("Raman shift", "cm-1"): ("raman shift", "raman shifts", "ramanshift", "rel. 1/cm"),
    ("wave", ""): ("wave",),
    ("wavelength", ""): ("wavelength", "wavelengths", "wavel.", "wl", "lambda", "λ"),
    ("Wellenlänge", ""): ("wellenlänge",),
    ("Wellenzahl", "cm-1"): ("wellenzahl",),
    ("longueur d'onde", ""): ("longueur d'onde",),
    ("nombre d'onde", "cm-1"): ("nombre d'onde",),
    ("longitud de onda", ""): ("longitud de onda",),
    ("número de onda", "cm-1"): ("número de onda",),
    ("lunghezza d'onda", ""): ("lunghezza d'onda",),
    ("numero d'onda", "cm-1"): ("numero d'onda",),
    ("波長", ""): ("波長",),
    ("波长", ""): ("波长",),
    ("波数", "cm-1"): ("波数",),
    ("wavelength", "nm"): ("nm", "nanometer", "nanometers", "nanometres", "nanometre"),
    ("wavelength", "um"): ("um", "µm", "micron", "microns", "micrometer", "micrometers", "micrometres"),
    ("energy", ""): ("energy", "photon energy", "energy loss"),
    ("kinetic energy", ""): ("kinetic energy",),
    ("binding energy", ""): ("binding energy",),
    ("energy", "eV"): ("ev",),
    ("energy", "keV"): ("kev",),
    ("frequency", ""): ("frequency",),
    ("frequency", "Hz"): ("hz",),
    MASS: ("m/z", "mz"),
    ("q", ""): ("q", "scattering vector"),
    ("time", "s"): ("seconds",),
}  # fmt: skip
MEANINGS = {word: axis for axis, words in WORDS.items() for word in words}

TIME_UNITS = {"s", "sec", "second", "seconds", "ms", "us", "ns", "ps", "fs", "min", "minute", "minutes",
              "h", "hour", "hours"}  # fmt: skip
TEMPERATURE_UNITS = {"°c", "degc", "k"}
TIMES = {"time", "times", "t", "delay", "rt", "retention"} | TIME_UNITS
COUNTING = {"sample", "samples", "spectrum", "spectra", "index", "idx", "id", "no", "nr", "number",
            "tube", "scan", "run", "frame", "file", "name", "measurement", "row", "column",
            "temperature", "temp",
            "concentration", "conc", "ph", "dose", "depth", "position", "thickness", "size", "distance",
            "potential", "voltage", "pressure", "specimen"}  # fmt: skip
QUANTITIES = {"temperature", "temp", "concentration", "conc", "ph", "dose", "depth", "position",
              "thickness", "size", "distance", "potential", "voltage", "pressure"}  # fmt: skip
PLACES = {"x", "y", "z", "x position", "y position", "z position"}
CHANNELS = {"channel", "channels", "pixel", "pixels", "point", "points"}
MEASURED = {"au", "a.u.", "a.u", "abs", "absorbance", "counts", "cts", "cnt", "intensity", "int.",
            "%", "%t", "mdeg", "v", "mv", "arb. units", "c", "degc", "°c", "k", "m", "mm", "um", "µm",
            "cps", "ccd cts"}  # fmt: skip


def meaning(word: str) -> tuple[str, str] | None:
    """Return name and unit of the axis that a word such as `ppm`, `chemical_shift` or `nm` means."""
    plain = " ".join(word.lower().replace("_", " ").replace("\u2019", "'").split())
    return MEANINGS.get(plain) or MEANINGS.get(plain.replace("-", " "))


def is_spectral(word: str) -> bool:
    """Return whether a word means the axis of a spectrum; time may also number the measurements."""
    found = meaning(word)
    return found is not None and found[0] != "time"


def known_unit(unit: str) -> str:
    """Return a unit in the spelling of this package; an unknown unit stays as it is."""
    found = meaning(unit)
    return unit if found is None else found[1]


def known_name(name: str) -> str:
    """Return the name of an axis in the spelling of this package; an unknown name stays as it is."""
    found = meaning(name)
    return name if found is None else found[0]


def heading(text: str) -> tuple[str, str]:
    """Return name and unit from a heading such as `ppm`, `wavelength [nm]` or `Energy (keV)`."""
    match = BRACKETS.match(text)
    if match is None:
        return meaning(text) or _unit_last(text) or (text or NO_AXIS, "")
    name, unit = match[1], match[2]
    known = meaning(unit or name)
    return known_name(name) or (known[0] if known else NO_AXIS), known[1] if known else unit


def _unit_last(text: str) -> tuple[str, str] | None:
    """Return name and unit from `Raman shift/cm-1`, `wavelength_nm` or `time_min`."""
    found = [(one[1], one[2]) for pattern in UNIT_LAST if (one := pattern.match(text))]
    times = ((name, unit) for name, unit in found if unit.lower() in TIME_UNITS and _is_time(name))
    known = ((known_name(name), known_unit(unit)) for name, unit in found if meaning(unit))
    return next(known, None) or next(times, None)


def _is_time(name: str) -> bool:
    words = name.lower().replace("_", " ").split()
    return bool(words) and words[-1] in ("time", "times", "delay")


def from_unit(unit: str, otherwise: str = "x") -> tuple[str, str]:
    """Return name and unit of an axis if the file gives only its unit."""
    match = BRACKETS.match(unit)  # wavelength (nm)
    return meaning(match[2] if match else unit) or (otherwise, unit)


def role(text: str) -> str:
    """Return the role of a column with this heading: `spectral`, `channel`, `time`, `counting` or ``."""
    name, unit = heading(PANDAS_SUFFIX.sub("", text.strip()))
    if not text.strip() or is_place(name) or name[:1].isdigit():  # 400 nm is a position, not a name
        return ""
    if ENDS_IN_POSITION.search(name):  # Abs@400 nm
        return ""
    quantity = " ".join(name.lower().replace("_", " ").split())
    # a depth in um is not spectral
    if is_spectral(name) or (is_spectral(unit) and quantity not in COUNTING):
        return "spectral"
    words = {quantity, unit.lower()}
    if words & TIMES or "time" in name.lower().split():
        return "time"
    if words & CHANNELS:
        return "channel"
    return "counting" if words & COUNTING else ""


def row_label(text: str) -> str:
    """Return name and unit, as `time [h]`, if a heading is a coordinate of measurements; else ""."""
    name, unit = heading(PANDAS_SUFFIX.sub("", text.strip()))
    if role(text) == "time" or name.strip().lower() in QUANTITIES:
        return f"{name} [{unit}]" if unit else name
    return ""


def quantity_in(unit: str) -> str:
    """Return the label of a coordinate of measurements in a unit, such as `time [s]`; else ""."""
    if unit.lower() in TIME_UNITS:
        return f"time [{unit}]"
    return f"temperature [{unit}]" if unit.lower() in TEMPERATURE_UNITS else ""


def is_place(name: str) -> bool:
    """Return whether a heading is a coordinate: x, y or z."""
    return heading(name)[0].strip().lower() in PLACES


def is_known(text: str) -> bool:
    """Return whether the meaning of a heading is known."""
    return bool(role(text)) or is_place(text) or text.strip().lower() in MEASURED


def is_unit(text: str) -> bool:
    """Return whether a word is a unit, not a quantity."""
    word = text.strip().lower()
    found = meaning(word)
    return (
        word in MEASURED or word in TIMES or (found is not None and known_unit(word) == found[1] != "")
    )


def absorbance(y: NDArray, unit: str) -> tuple[NDArray, str, tuple[str, ...]]:
    """Return intensities, their unit and notes; transmittance is converted to absorbance."""
    if "TRANSMI" not in unit.upper():
        return y, unit, ()
    scale = 100.0 if "%" in unit or "PERCENT" in unit.upper() or y.max() > 2 else 1.0
    converted = -np.log10(np.clip(y / scale, 1e-4, None))
    return converted, "absorbance", ("transmittance was converted to absorbance, -log10 T, at most 4.",)


def intensity_kind(words: str) -> str:
    """Return "absorbance" or "transmittance" if a heading or a unit says so, else ""."""
    name = heading(words.strip())[0].lower().replace(" ", "")  # a sample may be called T, but not %T
    if name in ("%t", "%tr") or name.strip("%") in ("transmittance", "transmission"):
        return "transmittance"
    return "absorbance" if name.rstrip(".") in ("a", "abs", "absorbance") else ""
