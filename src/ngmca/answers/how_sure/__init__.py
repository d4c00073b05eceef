"""How sure is the answer: the residual and the quality of the data, in numbers and in words."""

from ngmca.answers.how_sure.defects import Defect, defects
from ngmca.answers.how_sure.diagnostics import Diagnostics, diagnose, negative_share, signal_to_noise
from ngmca.answers.how_sure.doubtful_sources import agreement
from ngmca.answers.how_sure.findings import findings
from ngmca.answers.how_sure.summary import summary
from ngmca.answers.wording import Finding

__all__ = [
    "Defect",
    "Diagnostics",
    "Finding",
    "agreement",
    "defects",
    "diagnose",
    "findings",
    "negative_share",
    "signal_to_noise",
    "summary",
]
