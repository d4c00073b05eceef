"""How a run separates, in the form that the algorithms use."""

from dataclasses import dataclass, field, replace

from numpy.typing import NDArray

from ngmca.algorithms.constraint_arrays import FREE, Constraints
from ngmca.algorithms.schedule import BANDS, Schedule, schedule


@dataclass(frozen=True)
class Options:
    """How to separate. The records of `ngmca.task` document each option and check its value.

    Attributes
    ----------
    method : {"soft", "hard", "naive", "anls"}
        The algorithm.
    tau, n_iter, refinement, bounded, solver, max_sub_iter, tol
        Options of the method; those that it does not have keep their default.
    domain : {"auto", "direct", "wavelet"}
        Where sources are sparse.
    sample_shape : (int, int) or None
        Height and width of sources that are images.
    borders : tuple of int
        First channels of the second and later techniques, where the axis begins anew.
    noise : (m,) array or None
        Known noise level of each measurement, in units of the engine; None estimates it.
    known : Constraints
        Constraints as arrays.
    warm : bool
        The start comes from a part of the data, so the threshold is low from the beginning.
    noiseless : float
        Precision of data without noise: the threshold falls to it. It is 0 for data with noise.
    """

    method: str = "soft"
    tau: float = 1.0
    n_iter: int | str = "auto"
    refinement: float = 0.2
    bounded: bool = True
    solver: str = "pivot"
    max_sub_iter: int = 80
    tol: float | None = None
    domain: str = "auto"
    sample_shape: tuple[int, int] | None = None
    borders: tuple[int, ...] = ()
    noise: NDArray | None = None
    known: Constraints = field(default=FREE, compare=False)
    warm: bool = False
    noiseless: float = 0.0

    def without_closure(self) -> "Options":
        """Return the same without a closure, for steps whose thresholds shrink the sources."""
        if self.method == "anls":
            return self
        return replace(self, known=self.known.without_closure())

    @property
    def transformed(self) -> bool:
        """Whether sources may be sparse in a wavelet basis."""
        return self.method == "soft" and self.tau > 0

    @property
    def most(self) -> int:
        """Largest possible number of iterations, those in wavelets included."""
        n_iter = self.schedule.n_iter
        return n_iter + self.most_in_wavelets if self.transformed and self.domain != "direct" else n_iter

    @property
    def most_in_wavelets(self) -> int:
        """Largest possible number of iterations in wavelets."""
        n_iter = self.schedule.n_iter
        return min(n_iter, BANDS) if self.n_iter == "auto" else n_iter

    @property
    def schedule(self) -> Schedule:
        """How many iterations there are, and how the threshold and A move between them."""
        given = (self.method, self.tau, self.n_iter, self.refinement, self.tol)
        found = schedule(*given, noiseless=self.noiseless)
        return replace(found, n_decrease=1) if self.warm else found
