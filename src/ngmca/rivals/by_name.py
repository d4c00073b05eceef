"""The rivals by name: a new method is added to `METHODS`."""

from collections.abc import Callable
from inspect import signature

from ngmca.rivals._als import als
from ngmca.rivals._gmca import gmca
from ngmca.rivals._hals import hals
from ngmca.rivals._hoyer import hoyer
from ngmca.rivals._kim_park import kim_park
from ngmca.rivals._minvol import minvol
from ngmca.rivals._multiplicative import multiplicative
from ngmca.rivals._nenmf import nenmf
from ngmca.rivals._nonnegative_ica import nonnegative_ica
from ngmca.rivals._projected_gradient import projected_gradient
from ngmca.rivals._spa import spa
from ngmca.rivals._sparse_hals import sparse_hals
from ngmca.rivals._vca import vca
from ngmca.rivals._zdunek_cichocki import zdunek_cichocki
from ngmca.rivals.alternation import Factors

METHODS: dict[str, Callable[..., Factors]] = {
    method.__name__: method
    for method in (
        multiplicative,
        als,
        hals,
        sparse_hals,
        hoyer,
        kim_park,
        projected_gradient,
        nenmf,
        zdunek_cichocki,
        gmca,
        minvol,
        spa,
        vca,
        nonnegative_ica,
    )
}
SIGNED = ("gmca",)  # methods whose factors may be negative
DIRECT = tuple(name for name, method in METHODS.items() if "start" not in signature(method).parameters)
