"""What a separation leaves unexplained: in numbers, in words, and how many sources there might be."""

from ngmca.diagnosis.defects import Defect, defects
from ngmca.diagnosis.finding import Finding, percent
from ngmca.diagnosis.numbers import Diagnostics, diagnose, negative_share, signal_to_noise
from ngmca.diagnosis.peaks import peaks
from ngmca.diagnosis.rank import Spectrum, noise_before, noise_edge, singular_values, spectrum
from ngmca.diagnosis.starts import agreement
from ngmca.diagnosis.words import findings, leftover_share, summary

__all__ = [
    "Defect",
    "Diagnostics",
    "Finding",
    "Spectrum",
    "agreement",
    "defects",
    "diagnose",
    "findings",
    "leftover_share",
    "negative_share",
    "noise_before",
    "noise_edge",
    "peaks",
    "percent",
    "signal_to_noise",
    "singular_values",
    "spectrum",
    "summary",
]
