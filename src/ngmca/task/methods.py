"""The methods of `separate` as records. Each holds only the options that it supports."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from inspect import signature
from types import MappingProxyType
from typing import ClassVar

from ngmca import rivals
from ngmca._support.arguments import check_choice, check_count, check_number, check_switch
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.algorithms import Options

LARGEST_TAU = 1e6


@dataclass(frozen=True)
class Fista:
    """Sub-problems solved by accelerated forward-backward steps, as in the paper's appendix.

    Parameters
    ----------
    max_iter : int
        Largest number of steps for each sub-problem.
    """

    max_iter: int = 80

    def __post_init__(self) -> None:
        check_count(self.max_iter, "max_iter")


@dataclass(frozen=True)
class Soft:
    """nGMCA with soft thresholds (nGMCA^S), the default: exact steps with an l1 penalty.

    Parameters
    ----------
    tau : float
        The threshold falls to `tau` standard deviations of the noise. 1 is a good compromise.
    n_iter : int or "auto"
        Largest number of iterations. In the wavelet domain there are as many again, until A settles;
        with "auto" at most 260. With a number, the threshold falls along a straight line, as in the
        paper. With "auto" the same sources are found in about a sixth of 500 iterations: the threshold
        falls faster at first, A is extrapolated between iterations, and the run ends when A no longer
        moves. If the data have no noise, that is at most r singular values above rounding, "auto" is up
        to 500 iterations in which the threshold falls to rounding. With tau=0, "auto" is 500. Data of
        more than 5e8 entries start on a part of the data.
    refinement : float
        Share of a given number of iterations, at the end, with the threshold at its final value.
    bounded : bool
        Whether the norms of the columns of A stay bounded during the refinement. Otherwise they grow to
        compensate for the shrinkage of S.
    solver : "pivot", "fista" or Fista
        Exact sub-problems, or the paper's iterations for them.
    tol : float, optional
        The run ends once the threshold is final and the columns of A, of norm 1, move by less.
    penalised : {"S", "A", "both"}
        Which factor is sparse: the sources, the mixing instead, or both.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> ngmca.separate(x.Y, 2, method=ngmca.Soft(tau=2, n_iter=50)).n_iter <= 50
    True
    """

    name: ClassVar[str] = "soft"
    tau: float = 1.0
    n_iter: int | str = "auto"
    refinement: float = 0.2
    bounded: bool = True
    solver: str | Fista = "pivot"
    tol: float | None = None
    penalised: str = "S"

    def __post_init__(self) -> None:
        _check_common(self)
        check_switch(self.bounded, "bounded")
        check_choice(self.penalised, "penalised", ("S", "A", "both"))


@dataclass(frozen=True)
class Hard:
    """nGMCA with hard thresholds (nGMCA^H) inside iterative steps.

    Parameters
    ----------
    tau, n_iter, refinement, tol, penalised
        As in `Soft`; "auto" is 500 iterations.
    max_sub_iter : int
        Largest number of forward-backward steps for the sources in each iteration. No finite method
        solves their sub-problem exactly.
    solver : {"pivot", "fista"}
        Steps on A: exact, or the paper's iterations.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> ngmca.separate(x.Y, 2, method=ngmca.Hard(n_iter=50)).n_iter <= 50
    True
    """

    name: ClassVar[str] = "hard"
    tau: float = 1.0
    n_iter: int | str = "auto"
    refinement: float = 0.2
    max_sub_iter: int = 80
    solver: str = "pivot"
    tol: float | None = None
    penalised: str = "S"

    def __post_init__(self) -> None:
        _check_common(self)
        check_count(self.max_sub_iter, "max_sub_iter")
        check_choice(self.penalised, "penalised", ("S", "A", "both"))


@dataclass(frozen=True)
class Naive:
    """nGMCA^naive: projected least squares and hard thresholds.

    Parameters
    ----------
    tau, n_iter, refinement
        As in `Soft`; "auto" is 500 iterations.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> ngmca.separate(x.Y, 2, method=ngmca.Naive(n_iter=50)).n_iter
    50
    """

    name: ClassVar[str] = "naive"
    tau: float = 1.0
    n_iter: int | str = "auto"
    refinement: float = 0.2

    def __post_init__(self) -> None:
        _check_common(self)


@dataclass(frozen=True)
class Anls:
    """Plain non-negative matrix factorisation by exact alternating least squares, without thresholds.

    Parameters
    ----------
    n_iter : int or "auto"
        Largest number of iterations; "auto" is 500.
    solver : "pivot", "fista" or Fista
        Exact sub-problems, or the paper's iterations for them.
    tol : float, optional
        The run ends when the columns of A, of norm 1, move by less.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> ngmca.separate(x.Y, 2, method=ngmca.Anls(tol=1e-4)).stopped
    'settled'
    """

    name: ClassVar[str] = "anls"
    n_iter: int | str = "auto"
    solver: str | Fista = "pivot"
    tol: float | None = None

    def __post_init__(self) -> None:
        _check_common(self)


@dataclass(frozen=True, init=False)
class Rival:
    """A method of `ngmca.rivals` by its name, with its own options.

    Parameters
    ----------
    name : str
        One of `ngmca.rivals.METHODS`.
    **options : object
        Keyword arguments of that method except `start` and `seed`, which `separate` passes on.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> ngmca.separate(x.Y, 2, method=ngmca.Rival("hals", n_iter=50)).n_iter
    50
    """

    name: str
    options: Mapping[str, object] = field(hash=False)

    def __init__(self, name: str, **options: object) -> None:
        check_choice(name, "name", tuple(rivals.METHODS))
        _check_names(name, options, _options_of_rival(name), list_all=True)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", dict(options))

    @property
    def is_signed(self) -> bool:
        """Whether its sources may be negative."""
        return self.name in rivals.SIGNED


Method = Soft | Hard | Naive | Anls | Rival
OWN_METHODS: Mapping[str, type[Soft | Hard | Naive | Anls]] = MappingProxyType(
    {"soft": Soft, "hard": Hard, "naive": Naive, "anls": Anls}
)
METHOD_NAMES = (*OWN_METHODS, *rivals.METHODS)


def as_method(given: "str | Method") -> Method:
    """Return the record of a method; its name stands for the record with its defaults."""
    if isinstance(given, str) or not isinstance(given, Soft | Hard | Naive | Anls | Rival):
        if not isinstance(given, str):
            raise ArgumentTypeError(
                "{} must be a name or a record such as Soft(tau=2), got {!r}.", option("method"), given
            )
        name = check_choice(given, "method", METHOD_NAMES)
        return OWN_METHODS[name]() if name in OWN_METHODS else Rival(name)
    return given


def method_with(name: str, options: Mapping[str, object]) -> Method:
    """Return the record of a named method with some of its options.

    Raises
    ------
    ArgumentError
        If the method has no such option.
    """
    if check_choice(name, "method", METHOD_NAMES) not in OWN_METHODS:
        _check_names(name, options, _options_of_rival(name), list_all=False)
        return Rival(name, **options)
    known = tuple(part.name for part in fields(OWN_METHODS[name]))
    _check_names(name, options, known, list_all=False)
    return OWN_METHODS[name](**options)  # type: ignore[arg-type]


def _options_of_rival(name: str) -> list[str]:
    return sorted(set(signature(rivals.METHODS[name]).parameters) - {"Y", "r", "start", "seed"})


def _check_names(method: str, given: Iterable[str], known: Sequence[str], *, list_all: bool) -> None:
    """Raise an error if a method does not have one of the given options; it may list those it has."""
    has = f" It has {', '.join(known) or 'no options'}." if list_all else ""
    for unknown in sorted(set(given) - set(known)):
        raise ArgumentError(
            "{} has no option {}: leave it out.{}", option("method", method), option(unknown), has
        )


def options_of(method: Soft | Hard | Naive | Anls) -> Options:
    """Return a method in the form that the algorithms use."""
    given = {name: value for name, value in vars(method).items() if name != "penalised"}
    solver = given.get("solver")
    steps = solver.max_iter if isinstance(solver, Fista) else Fista().max_iter
    if isinstance(solver, Fista):
        given["solver"] = "fista"
    return Options(method=method.name, **{"max_sub_iter": steps} | given)


def _check_common(method: Soft | Hard | Naive | Anls) -> None:
    """Check the options that several methods have; numbers become Python's own."""
    if method.n_iter != "auto":
        check_count(method.n_iter, "n_iter")
    for name, high in (("tau", LARGEST_TAU), ("refinement", 1.0), ("tol", float("inf"))):
        value = getattr(method, name, None)
        if value is not None:  # a NumPy number would turn single precision into double
            object.__setattr__(method, name, check_number(value, name, high=high))
    solver = getattr(method, "solver", "pivot")
    if not isinstance(solver, Fista):
        check_choice(solver, "solver", ("pivot", "fista"))
