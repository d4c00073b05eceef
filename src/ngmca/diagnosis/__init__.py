"""What a separation leaves unexplained: in numbers, in words, and how many sources there might be."""

from ngmca.diagnosis.numbers import Diagnostics, diagnose, negative_share, signal_to_noise
from ngmca.diagnosis.rank import Spectrum, noise_before, noise_edge, singular_values, spectrum
from ngmca.diagnosis.words import Finding, findings, percent, summary

__all__ = [
    "Diagnostics",
    "Finding",
    "Spectrum",
    "diagnose",
    "findings",
    "negative_share",
    "noise_before",
    "noise_edge",
    "percent",
    "signal_to_noise",
    "singular_values",
    "spectrum",
    "summary",
]
