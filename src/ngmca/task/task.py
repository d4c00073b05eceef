"""A task: what to do, as one frozen value that is checked once."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca import rules
from ngmca._support.arguments import check_choice, check_count, check_switch
from ngmca._support.messages import ArgumentTypeError, Option, option
from ngmca._support.seeds import Seed, generator
from ngmca.constraints import Baseline, Constraint, KnownMixing, KnownSources, as_constraints
from ngmca.engines import DEVICES, Counts
from ngmca.task.methods import Fista, Method, Rival, Soft, as_method

DOMAINS = ("auto", "direct", "wavelet")
AUTOMATIC_STARTS = 5
AUTOMATIC_BASELINE = (Baseline("auto"),)  # the default of all doors
CHEAP_SIZE = 1_000_000  # measurements x channels x sources up to which several starts cost little

NoiseModel = float | ArrayLike | str | Counts | None


class Factors(Protocol):
    """Anything with a mixing A (m, r) and sources S (r, n)."""

    A: NDArray
    S: NDArray


@dataclass(frozen=True)
class Sampling:
    """How error bars are sampled; `ngmca.posterior` documents the options.

    Parameters
    ----------
    n_samples, burn : int or "auto"
        Samples of each chain, and sweeps before them.
    n_chains : int
        Number of chains, at least 2.
    """

    n_samples: int | str = "auto"
    burn: int | str = "auto"
    n_chains: int = 2

    def __post_init__(self) -> None:
        if self.n_samples != "auto":
            check_count(self.n_samples, "n_samples", low=4)
        if self.burn != "auto":
            check_count(self.burn, "burn", low=0)
        check_count(self.n_chains, "n_chains", low=2)


@dataclass(frozen=True, eq=False)
class Task:
    """What `separate` does with data: a method, a domain, a noise model, constraints, starts.

    A task is checked when it is made. Errors name the argument and say what to do.

    Parameters
    ----------
    r : int
        Number of sources.
    method : Method or str
        A record such as `Soft(tau=2)`, or the name of a method with its defaults.
    domain, sample_shape, noise, robust, constraints, start, n_init, posterior, seed, device
        As in `ngmca.separate`.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=20, n=80, r=2, snr=30, seed=0)
    >>> task = ngmca.Task(2, method=ngmca.Soft(n_iter=30), domain="direct")
    >>> [state.k for state in ngmca.iterate(x.Y, task)][-1]
    30
    """

    r: int
    method: Method = field(default_factory=Soft)
    domain: str = "auto"
    sample_shape: tuple[int, int] | None = None
    noise: NoiseModel = None
    robust: bool = False
    constraints: tuple[Constraint, ...] = AUTOMATIC_BASELINE
    start: Factors | tuple[ArrayLike, ArrayLike] | None = None
    n_init: int | str = "auto"
    posterior: Sampling | None = None
    seed: Seed = 0
    device: str = "cpu"

    def __post_init__(self) -> None:
        check_count(self.r, "r")
        self._set("method", as_method(self.method))
        check_choice(self.domain, "domain", DOMAINS)
        self._set("robust", check_switch(self.robust, "robust"))
        if isinstance(self.noise, str):
            check_choice(self.noise, "noise", ("poisson",))
        self._set("constraints", as_constraints(self.constraints))
        if self.n_init != "auto":
            check_count(self.n_init, "n_init")
        self._set("posterior", _sampling(self.posterior))
        generator(self.seed)
        check_choice(self.device, "device", DEVICES)
        rules.check(self.features)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @property
    def features(self) -> dict[str, Option | str]:
        """Names of what the task asks for, as `ngmca.rules` uses them, and how each is written."""
        return {
            **_features_of_method(self.method),
            **rules.written(self._asked()),
            **rules.written(_features_of_constraints(self.constraints)),
            **_features_of_noise(self.noise),
        }

    def _asked(self) -> Iterable[str]:
        wavelet, sampled = self.domain == "wavelet", self.posterior is not None
        asked = {
            "wavelet": wavelet,
            "sample_shape": self.sample_shape is not None,
            "robust": self.robust,
            "start": self.start is not None,
            "n_init": self.n_init not in ("auto", 1),
            "gpu": self.device == "cuda",
            "posterior": sampled,
            "posterior in wavelets": sampled and wavelet,
        }
        return [name for name, wanted in asked.items() if wanted]

    def starts(self, shape: tuple[int, int]) -> int:
        """Return how many first guesses to try for data of a shape: several where they cost little."""
        if isinstance(self.n_init, int):
            return self.n_init
        cheap = shape[0] * shape[1] * self.r <= CHEAP_SIZE
        single = isinstance(self.method, Rival) or self.start is not None
        return AUTOMATIC_STARTS if cheap and not single else 1


def as_task(given: "Task | int") -> Task:
    """Return a task; a number of sources stands for the task with all defaults."""
    return given if isinstance(given, Task) else Task(given)


def _sampling(given: object) -> Sampling | None:
    """Return how error bars are sampled, or None where they are not asked for."""
    if isinstance(given, Sampling) or given is None:
        return given
    if not isinstance(given, bool | np.bool_):
        raise ArgumentTypeError(
            "{} must be True, False or Sampling(...), got {!r}.", option("posterior"), given
        )
    return Sampling() if given else None


def _features_of_method(method: Method) -> dict[str, Option | str]:
    """Return the features of a method."""
    if isinstance(method, Rival):
        shown: Option | str = option("method", method.name)
        return {"rival": shown} | ({"gmca": shown} if method.is_signed else {})
    names = [method.name]
    solver = getattr(method, "solver", "pivot")
    names += ["fista"] if isinstance(solver, Fista) or solver == "fista" else []
    names += ["tau=0"] if getattr(method, "tau", 1.0) == 0 else []
    penalised = getattr(method, "penalised", "S")
    names += [f"penalised {penalised}"] if penalised != "S" else []
    return rules.written(names)


def _features_of_constraints(constraints: tuple[Constraint, ...]) -> Iterable[str]:
    """Return the features of the constraints, some of which stand for two of them.

    An automatic baseline is none: where it cannot be combined, there is no baseline.
    """
    decided = (one for one in constraints if not isinstance(one, Baseline) or one.is_decided)
    kinds = {type(one).__name__: one for one in decided}
    yield from kinds
    baseline = kinds.get("Baseline")
    if isinstance(baseline, Baseline) and not isinstance(baseline.kind, str):
        yield "curves of a baseline"
    known, mixing = kinds.get("KnownSources"), kinds.get("KnownMixing")
    if isinstance(known, KnownSources):
        if known.in_windows:
            yield "known channels"
        if known.scale == "free":
            yield "known shape"
        if known.scale == "fixed" and "Closure" in kinds:
            yield "Closure with KnownSources"
    if isinstance(mixing, KnownMixing) and mixing.sd is not None:
        yield "uncertain mixing"


def _features_of_noise(noise: NoiseModel) -> dict[str, Option | str]:
    """Return the features of a noise model that are known without the data."""
    if noise is None:
        return {}
    return rules.written(["noise", "counts"] if isinstance(noise, str | Counts) else ["noise"])
