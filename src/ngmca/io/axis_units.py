"""What headings, names of variables and units say about an axis: one table for all readers."""

import re

UNIT_LAST = (
    re.compile(r"^(.*\S)\s*/\s*(\S+)$"),
    re.compile(r"^(.*[^\s,_])[\s,_]+(\S+?)\.?$"),
)  # name/unit, name unit
REPEATED = re.compile(r"\.\d+$")  # a second `wavelength` that pandas made `wavelength.1`
BRACKETS = re.compile(r"^(.*?)\s*[\[(]\s*([^\])]*?)\s*[\])]$")  # name [unit], name (unit)
NO_AXIS = "channel"  # what the points of an axis are called where nothing is known of it

SHIFT = ("chemical shift", "ppm")
WAVENUMBER = ("wavenumber", "cm-1")
NANOMETRES = ("wavelength", "nm")
MICROMETRES = ("wavelength", "um")
MASS = ("m/z", "")

MEANINGS = {  # words in small letters, with spaces, to name and unit
    "ppm": SHIFT,
    "chemical shift": SHIFT,
    "chemical shifts": SHIFT,
    "wavenumber": WAVENUMBER,
    "wavenumbers": WAVENUMBER,
    "cm-1": WAVENUMBER,
    "cm^-1": WAVENUMBER,
    "cm⁻¹": WAVENUMBER,
    "cm-¹": WAVENUMBER,
    "cm\u22121": WAVENUMBER,
    "1/cm": WAVENUMBER,
    "wave number": WAVENUMBER,
    "wave numbers": WAVENUMBER,
    "raman shift": ("Raman shift", "cm-1"),
    "raman shifts": ("Raman shift", "cm-1"),
    "wave": ("wave", ""),
    "wn": WAVENUMBER,
    "wavelength": ("wavelength", ""),
    "wavelengths": ("wavelength", ""),
    "wl": ("wavelength", ""),
    "lambda": ("wavelength", ""),
    "λ": ("wavelength", ""),
    "wellenlänge": ("Wellenlänge", ""),
    "wellenzahl": ("Wellenzahl", "cm-1"),
    "nm": NANOMETRES,
    "nanometer": NANOMETRES,
    "nanometers": NANOMETRES,
    "nanometres": NANOMETRES,
    "um": MICROMETRES,
    "µm": MICROMETRES,
    "micron": MICROMETRES,
    "microns": MICROMETRES,
    "micrometer": MICROMETRES,
    "micrometers": MICROMETRES,
    "micrometres": MICROMETRES,
    "energy": ("energy", ""),
    "ev": ("energy", "eV"),
    "kev": ("energy", "keV"),
    "frequency": ("frequency", ""),
    "hz": ("frequency", "Hz"),
    "m/z": MASS,
    "mz": MASS,
    "seconds": ("time", "s"),
}

TIMES = {"time", "times", "t", "s", "sec", "second", "seconds", "ms", "us", "ns", "ps", "fs", "min",
         "minute", "minutes", "h", "hour", "hours", "delay"}  # fmt: skip
COUNTING = {"sample", "samples", "spectrum", "spectra", "index", "idx", "id", "no", "nr", "number",
            "tube", "scan", "run", "frame", "file", "name", "measurement", "row", "temperature", "temp",
            "concentration", "conc", "ph", "dose", "depth", "position", "thickness", "size", "distance",
            "potential", "voltage", "pressure", "specimen"}  # fmt: skip
PLACES = {"x", "y", "z", "x position", "y position", "z position"}
CHANNELS = {"channel", "channels", "pixel", "pixels", "point", "points"}
MEASURED = {"au", "a.u.", "a.u", "abs", "absorbance", "counts", "cts", "cnt", "intensity", "int.",
            "%", "%t", "mdeg", "v", "mv", "arb. units", "c", "degc", "°c", "k", "m", "mm", "um", "µm",
            "cps"}  # fmt: skip


def meaning(word: str) -> tuple[str, str] | None:
    """Name and unit of the axis that a word such as `ppm`, `chemical_shift` or `nm` stands for."""
    return MEANINGS.get(" ".join(word.lower().replace("_", " ").split()))


def is_spectral(word: str) -> bool:
    """Whether a word stands for the axis of a spectrum; time may well count the measurements."""
    found = meaning(word)
    return found is not None and found[0] != "time"


def known_unit(unit: str) -> str:
    """A unit as it is written everywhere here, or as it stands where it is not known."""
    found = meaning(unit)
    return unit if found is None else found[1]


def heading(text: str) -> tuple[str, str]:
    """Name and unit out of a heading such as `ppm`, `wavelength [nm]` or `Energy (keV)`."""
    match = BRACKETS.match(text)
    if match is None:
        return meaning(text) or _unit_last(text) or (text or NO_AXIS, "")
    name, unit = match[1], match[2]
    known = meaning(unit or name)
    return name or (known[0] if known else NO_AXIS), known[1] if known else unit


def _unit_last(text: str) -> tuple[str, str] | None:
    """Name and unit out of `Raman shift/cm-1`, `wavelength_nm`."""
    found = (pattern.match(text) for pattern in UNIT_LAST)
    return next(((one[1], known_unit(one[2])) for one in found if one and meaning(one[2])), None)


def from_unit(unit: str, otherwise: str = "x") -> tuple[str, str]:
    """Name and unit of an axis of which a file gives the unit alone."""
    match = BRACKETS.match(unit)  # wavelength (nm)
    return meaning(match[2] if match else unit) or (otherwise, unit)


def role(text: str) -> str:
    """What a heading stands for: `spectral`, `channel`, `time`, `counting`, or nothing known."""
    name, unit = heading(REPEATED.sub("", text.strip()))
    if (
        not text.strip() or is_place(name) or name[:1].isdigit()
    ):  # 400 nm is a place on an axis, not its name
        return ""
    quantity = " ".join(name.lower().replace("_", " ").split())
    if is_spectral(name) or (is_spectral(unit) and quantity not in COUNTING):  # a depth in um is none
        return "spectral"
    words = {quantity, unit.lower()}
    if words & TIMES or "time" in name.lower().split():
        return "time"
    if words & CHANNELS:
        return "channel"
    return "counting" if words & COUNTING else ""


def is_place(name: str) -> bool:
    """Whether a heading is that of a coordinate: x, y or z."""
    return heading(name)[0].strip().lower() in PLACES


def is_known(text: str) -> bool:
    """Whether a heading says what a column holds."""
    return bool(role(text)) or is_place(text) or text.strip().lower() in MEASURED


def is_unit(text: str) -> bool:
    """Whether a word is a unit and no quantity."""
    word = text.strip().lower()
    found = meaning(word)
    return (
        word in MEASURED or word in TIMES or (found is not None and known_unit(word) == found[1] != "")
    )
