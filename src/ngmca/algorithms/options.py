"""How to separate: the one table of options and their defaults, and which method heeds which."""

from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace

from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca.algorithms.constraint_arrays import FREE, Constraints
from ngmca.algorithms.schedule import BANDS, Schedule, schedule

DOMAINS = ("auto", "direct", "wavelet")
METHODS = ("soft", "hard", "naive", "anls")
SOLVERS = ("pivot", "fista")
NEUTRAL = ("method", "noise", "known", "domain", "sample_shape", "warm")  # data, or true of every method
# What a method would not heed. `max_sub_iter` is also without meaning where `pivot` solves all steps.
UNHEEDED = {
    "soft": (),
    "hard": ("bounded",),
    "naive": ("tol", "solver", "bounded", "max_sub_iter"),
    "anls": ("tau", "refinement", "bounded"),
}


@dataclass(frozen=True)
class Options:
    """How to separate; `separate` says what each option means. The defaults of the library are these."""

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
    noise: NDArray | None = None  # (m,), or None to estimate it
    known: Constraints = field(default=FREE, compare=False)
    warm: bool = False  # the threshold is down from the beginning: A comes from a part of the data

    def __post_init__(self) -> None:
        arguments.check_choice(self.method, "method", METHODS)
        if arguments.check_number(self.tau, "tau") > 1e6:
            raise ValueError(
                f"tau must be at most 1e6, got {self.tau!r}: nothing is left of any source."
            )
        if self.n_iter != "auto":
            arguments.check_count(self.n_iter, "n_iter")
        arguments.check_number(self.refinement, "refinement", high=1.0)
        arguments.check_switch(self.bounded, "bounded")
        arguments.check_choice(self.solver, "solver", SOLVERS)
        arguments.check_count(self.max_sub_iter, "max_sub_iter")
        if self.tol is not None:
            arguments.check_number(self.tol, "tol")
        arguments.check_choice(self.domain, "domain", DOMAINS)
        if self.domain == "wavelet" and (self.method != "soft" or self.tau == 0):
            raise ValueError("domain='wavelet' has a meaning for method='soft' with tau above 0 only.")
        if self.sample_shape is not None and self.method != "soft":
            refuse(self.method, ["sample_shape"], "only method='soft' knows images")
        unheeded = UNHEEDED[self.method]
        if self.method in ("soft", "anls") and self.solver == "pivot":
            unheeded = (*unheeded, "max_sub_iter")
        refuse(self.method, self.changed() & set(unheeded), "other methods have this option")
        for name in ("tau", "refinement", "tol"):  # a number of NumPy would make single precision double
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else float(value))

    def in_channels(self) -> "Options":
        """The same for sources that have no order, as rows of A have none that is known."""
        if self.domain == "wavelet":
            raise ValueError("penalised='A' and domain='wavelet' do not go together.")
        return replace(self, domain="direct", sample_shape=None)

    def without_closure(self) -> "Options":
        """The same for thresholds that shrink sources."""
        if self.known.totals is None or self.method == "anls":
            return self
        return replace(self, known=replace(self.known, totals=None))

    def changed(self) -> set[str]:
        """Names of the options that differ from their defaults; `noise` is data, and not among them."""
        named = (part for part in fields(self) if part.name not in NEUTRAL)
        return {part.name for part in named if getattr(self, part.name) != part.default}

    @property
    def transformed(self) -> bool:
        """Whether there is a transformed domain to think of."""
        return self.method == "soft" and self.tau > 0

    @property
    def most(self) -> int:
        """How many iterations there can be, those in a transformed domain included."""
        n_iter = self.schedule.n_iter
        return n_iter + min(n_iter, BANDS) if self.transformed and self.domain != "direct" else n_iter

    @property
    def schedule(self) -> Schedule:
        """How many iterations there are, and how the threshold and A move between them."""
        found = schedule(self.method, self.tau, self.n_iter, self.refinement, self.tol)
        if not self.warm:
            return found
        return replace(found, n_decrease=1)


def refuse(method: str, names: Collection[str], why: str) -> None:
    """An error about options that a method would not heed."""
    for name in sorted(names):
        extra = " with solver='pivot'" if name == "max_sub_iter" and method in ("soft", "anls") else ""
        raise ValueError(f"{name} has no meaning for method={method!r}{extra}: leave it out; {why}.")


DEFAULTS = Options()
