"""What a separation leaves unexplained: in numbers, in words, and how many sources there might be."""

from ngmca.answers.how_many.singular_values import (
    Spectrum,
    noise_before,
    noise_edge,
    singular_values,
    spectrum,
)
from ngmca.answers.how_sure.defects import Defect, defects
from ngmca.answers.how_sure.diagnostics import Diagnostics, diagnose, negative_share, signal_to_noise
from ngmca.answers.how_sure.finding import Finding, percent
from ngmca.answers.how_sure.findings import findings, leftover_share, summary
from ngmca.answers.how_sure.other_starts import agreement
from ngmca.answers.how_sure.peaks import peaks

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
