"""What comes out: states on the way, the separation, and its error bars."""

from ngmca.result.ambiguity import Ambiguity, relative_width
from ngmca.result.error_bars import Marginals, Posterior
from ngmca.result.factorisation import Others, Restart, Separation, recorded
from ngmca.result.rates import Rates
from ngmca.result.states import DIRECT, Background, Domain, HasFactors, History, State, line

__all__ = [
    "DIRECT",
    "Ambiguity",
    "Background",
    "Domain",
    "HasFactors",
    "History",
    "Marginals",
    "Others",
    "Posterior",
    "Rates",
    "Restart",
    "Separation",
    "State",
    "line",
    "recorded",
    "relative_width",
]
