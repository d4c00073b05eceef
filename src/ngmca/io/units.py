"""What headings, names of variables and units say about an axis: one table for all readers."""

import re

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
    "1/cm": WAVENUMBER,
    "raman shift": ("Raman shift", "cm-1"),
    "wavelength": ("wavelength", ""),
    "wavelengths": ("wavelength", ""),
    "nm": NANOMETRES,
    "nanometers": NANOMETRES,
    "nanometres": NANOMETRES,
    "um": MICROMETRES,
    "µm": MICROMETRES,
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
        return meaning(text) or (text or NO_AXIS, "")
    name, unit = match[1], match[2]
    known = meaning(unit or name)
    return name or (known[0] if known else NO_AXIS), known[1] if known else unit


def from_unit(unit: str, otherwise: str = "x") -> tuple[str, str]:
    """Name and unit of an axis of which a file gives the unit alone."""
    match = BRACKETS.match(unit)  # wavelength (nm)
    return meaning(match[2] if match else unit) or (otherwise, unit)
