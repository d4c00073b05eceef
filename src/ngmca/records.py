"""What goes into a separation and what comes out of it."""

from dataclasses import dataclass, field, replace

from numpy.typing import NDArray

from ngmca import inputs
from ngmca.uncertainty import Posterior

METHODS = ("soft", "hard", "naive", "anls")
SOLVERS = ("pivot", "fista")


@dataclass(frozen=True)
class Schedule:
    """How many iterations there are, and how A and the threshold move between them."""

    n_iter: int  # at most
    n_decrease: int  # over which the threshold falls, at least 1
    power: float = 1.0  # of the way down, see `thresholds.falling`
    pull: float = 0.0  # extrapolation of A while the threshold falls
    accelerated: bool = False  # Nesterov's extrapolation of A while the threshold stays
    tol: float = 1e-7  # the end, when columns of A move by less


@dataclass(frozen=True)
class Options:
    """How to separate; `separate` says what each option means."""

    method: str = "soft"
    tau: float = 1.0
    n_iter: int | str = "auto"
    refinement: float = 0.2
    bounded: bool = True
    solver: str = "pivot"
    max_sub_iter: int = 80
    tol: float | None = None
    noise: NDArray | None = None  # (m,), or None to estimate it

    def __post_init__(self) -> None:
        inputs.check_choice(self.method, "method", METHODS)
        inputs.check_number(self.tau, "tau")
        if self.n_iter != "auto":
            inputs.check_count(self.n_iter, "n_iter")
        inputs.check_number(self.refinement, "refinement", high=1.0)
        inputs.check_switch(self.bounded, "bounded")
        inputs.check_choice(self.solver, "solver", SOLVERS)
        inputs.check_count(self.max_sub_iter, "max_sub_iter")
        if self.tol is not None:
            inputs.check_number(self.tol, "tol")

    @property
    def schedule(self) -> Schedule:
        """Plain and linear for a given number of iterations, accelerated for "auto" on noisy data."""
        automatic = self.n_iter == "auto"
        n_iter = 500 if automatic else int(self.n_iter)
        if self.method == "anls":
            schedule = Schedule(n_iter, 1, accelerated=True, tol=1e-5)
        elif self.method == "soft" and automatic and self.tau > 0:
            schedule = Schedule(n_iter, 45, power=2.0, pull=0.7, accelerated=True, tol=3e-5)
        else:  # also for soft without a final threshold: on clean data a slow decrease pays
            schedule = Schedule(n_iter, max(1, n_iter - int(self.refinement * n_iter)))
        return schedule if self.tol is None else replace(schedule, tol=self.tol)


@dataclass(frozen=True, eq=False)
class State:
    """One iterate: unit columns in A, and S the answer of the S-step for (A, lam)."""

    k: int  # iteration, from 1
    A: NDArray = field(repr=False)  # (m, r)
    S: NDArray = field(repr=False)  # (r, n)
    lam: NDArray = field(repr=False)  # (r,) threshold of each source
    noise: NDArray = field(repr=False)  # (m,) standard deviation in each measurement
    cost: float  # 1/2 |Y - A S|^2
    active: float  # share of entries of S that are not 0
    violation: float  # relative KKT violation of the S-step
    settled: bool = False  # nothing moves any more: the iterations end here


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """One entry an iteration."""

    cost: NDArray  # (k,) 1/2 |Y - A S|^2
    threshold: NDArray  # (k, r)
    active: NDArray  # (k,) share of entries of S that are not 0
    violation: NDArray  # (k,) relative KKT violation of the S-step


@dataclass(frozen=True)
class Restart:
    """One of several first guesses, as `separate` with `n_init` compares them."""

    cost: float  # penalised cost of its mixing directions at the threshold common to all
    agreement: float  # mean SDR in dB of its sources, taken as estimates of the chosen ones


@dataclass(frozen=True, eq=False)
class Separation:
    """Y ~ A S with A (m, r), S (r, n), both non-negative, and columns of A of norm 1.

    For `soft`, S is the exact minimiser of 1/2 |Y - A S|^2 + sum_i lam_i |S_i|_1 over S >= 0, and
    `violation` certifies it: see `ngmca.nnqp.violation`. `naive` and the rivals of `ngmca.baselines`
    solve no such problem: it is NaN, as are thresholds of a rival. Factors of `gmca` may be negative.
    """

    A: NDArray = field(repr=False)
    S: NDArray = field(repr=False)
    lam: NDArray = field(repr=False)  # (r,) the final threshold of each source
    noise: NDArray = field(repr=False)  # (m,) standard deviation of the noise in each measurement
    n_iter: int
    stopped: str  # "settled": nothing moved any more; "iterations": n_iter was reached
    violation: float
    history: History = field(repr=False)
    restarts: tuple[Restart, ...] = ()  # with n_init > 1, one a first guess
    posterior: Posterior | None = field(default=None, repr=False)  # if it was asked for
