"""The scikit-learn face: X is Y, `components_` is S, `fit_transform` returns A."""

from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_n_features, check_array, check_is_fitted, validate_data

from ngmca._support.arguments import as_array, check_number, check_rank
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms import DEFAULTS
from ngmca.algorithms.mixing_for_sources import weights_of, weights_of_any_sign
from ngmca.algorithms.on_card import check_on_card
from ngmca.algorithms.streaming import Stream
from ngmca.answers.how_many.choose_rank import choose_rank
from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.engines import Counts, InMemory, Levels, in_own_units, is_elsewhere, open_data, open_whole
from ngmca.rivals import SIGNED
from ngmca.separation import separate
from ngmca.task.known import NOTHING, Known

WITH_GAPS = ("soft", "anls")  # methods that do without missing entries
# what changes what there is to count, and is not heeded there
UNCOUNTED = ("baseline", "known_sources", "known_mixing", "zero_sources", "zero_mixing")


class NGMCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Sparse non-negative blind source separation as a scikit-learn transformer.

    X (n_samples, n_features) holds one measured spectrum a row. It is explained as `W @ components_`
    with non-negative spectra in `components_` and non-negative weights W, which `fit_transform` and
    `transform` return. Negative entries of X are normal: they are noise. NaN are missing: every row is
    fitted to what was observed of it, and nothing is filled in.

    Parameters
    ----------
    n_components : int or "auto"
        Number of sources; "auto" asks `ngmca.choose_rank`, and `rank_choice_` has what it says.
    method, tau, refinement, bounded, solver, max_sub_iter, tol, domain, sample_shape, n_init
        As in `ngmca.separate`.
    noise, robust, known_sources, known_mixing, known_scale, zero_sources, zero_mixing, closure,
    profiles, baseline, penalised
        As in `ngmca.separate`, too. `transform` weighs by the levels of channels ("poisson" and
        `ngmca.Counts` too), gives no weight to outliers if `robust`, fits a background with a `baseline`
        and drops it, and keeps to a `closure`. Levels of entries, and of measurements, belong to
        the X they were given for, and to others with as many rows. What is known of the mixing
        (known_mixing, zero_mixing, profiles) holds for `separation_.A`, not for `transform`.
    posterior : bool
        Sample around the separation; `components_` are then the posterior means of the sources. Of
        lines and bands (`separation_.domain` is "wavelet") they stay the separation's, and there are
        intervals besides; they stay so too where the data refute the model (`posterior_.refuted`).
    max_iter : int or "auto"
        Number of iterations, at most: `n_iter` of `ngmca.separate`.
    forgetting : float
        How much `partial_fit` lets what came before count at every next batch, up to 1: as much as ever.
    random_state : int, RandomState or None
        Seed of the first guess.
    device : "cpu" or "cuda"
        Where `fit` calculates, as in `ngmca.separate`; X, and all that is returned, is in memory.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    components_ : (n_components, n_features)
        The sources.
    n_components_ : int
        Number of sources.
    rank_choice_ : ngmca.RankChoice or None
        How it was chosen, if it was: the sentence of `rank_choice_.advice`, and what witnesses say.
    separation_ : ngmca.Separation
        All that was found, with its certificate and history. Its A has columns of norm 1, and S is
        shrunk by the threshold; `transform` fits the weights to the data without either.
    posterior_ : ngmca.Posterior or None
        If it was asked for: spreads, intervals and activities of sources and weights, and `warnings`.
    noise_ : (n_samples,)
        Standard deviation of the noise in each measurement.
    reconstruction_err_ : float
        Frobenius norm of `X - transform(X) @ components_`, less a background if there is a baseline,
        over what was observed.
    n_iter_ : int
        Number of iterations done.
    """

    stream_: Stream  # from the first `partial_fit` to the next `fit`

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        method: str = DEFAULTS.method,
        tau: float = DEFAULTS.tau,
        max_iter: int | str = DEFAULTS.n_iter,
        refinement: float = DEFAULTS.refinement,
        bounded: bool = DEFAULTS.bounded,
        solver: str = DEFAULTS.solver,
        max_sub_iter: int = DEFAULTS.max_sub_iter,
        noise: Any = None,
        robust: bool = False,
        known_sources: ArrayLike | None = None,
        known_mixing: ArrayLike | None = None,
        known_scale: str = NOTHING.known_scale,
        zero_sources: ArrayLike | None = None,
        zero_mixing: ArrayLike | None = None,
        closure: Any = None,
        profiles: str | Sequence[str | None] | None = None,
        baseline: str | ArrayLike | None = None,
        penalised: str = NOTHING.penalised,
        tol: float | None = DEFAULTS.tol,
        domain: str = DEFAULTS.domain,
        sample_shape: tuple[int, int] | None = DEFAULTS.sample_shape,
        n_init: int = 1,
        posterior: bool = False,
        forgetting: float = 1.0,
        random_state: Any = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.tau = tau
        self.max_iter = max_iter
        self.refinement = refinement
        self.bounded = bounded
        self.solver = solver
        self.max_sub_iter = max_sub_iter
        self.noise = noise
        self.robust = robust
        self.known_sources = known_sources
        self.known_mixing = known_mixing
        self.known_scale = known_scale
        self.zero_sources = zero_sources
        self.zero_mixing = zero_mixing
        self.closure = closure
        self.profiles = profiles
        self.baseline = baseline
        self.penalised = penalised
        self.tol = tol
        self.domain = domain
        self.sample_shape = sample_shape
        self.n_init = n_init
        self.posterior = posterior
        self.forgetting = forgetting
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> "NGMCA":
        """Learn the sources of X."""
        self.fit_transform(X)
        return self

    @one_blas_thread
    def fit_transform(self, X: Any, y: None = None) -> NDArray:
        """Learn the sources of X and return its weights (n_samples, n_components)."""
        engine = self._opened(X, reset=True, device=self.device)
        if hasattr(self, "stream_"):
            del self.stream_  # its sums belong to other sources
        auto = isinstance(self.n_components, str)
        check_on_card(engine, "soft", NOTHING, None, robust=False, auto=auto)
        self.rank_choice_ = self._choice(engine)
        chosen = self.rank_choice_.rank if self.rank_choice_ else self.n_components
        self.n_components_ = check_rank(chosen, engine.shape, "n_components", warn=False)
        self.separation_ = separate(
            engine,
            self.n_components_,
            method=self.method,
            tau=self.tau,
            n_iter=self.max_iter,
            refinement=self.refinement,
            bounded=self.bounded,
            solver=self.solver,
            max_sub_iter=self.max_sub_iter,
            noise=self.noise,
            robust=self.robust,
            known_sources=self.known_sources,
            known_mixing=self.known_mixing,
            known_scale=self.known_scale,
            zero_sources=self.zero_sources,
            zero_mixing=self.zero_mixing,
            closure=self.closure,
            profiles=self.profiles,
            baseline=self.baseline,
            penalised=self.penalised,
            tol=self.tol,
            domain=self.domain,
            sample_shape=self.sample_shape,
            n_init=self.n_init,
            posterior=bool(self.posterior),
            seed=_seed(self.random_state),
            progress=bool(self.verbose),
        )
        self.components_ = np.ascontiguousarray(self.separation_.answer[1], dtype=engine.dtype)
        self.posterior_ = self.separation_.posterior
        self.noise_ = self.separation_.noise
        self.n_iter_ = self.separation_.n_iter
        S, unit = self._explaining()
        W = self._weights(engine, S, unit)
        self.reconstruction_err_ = engine.unit * engine.residual_energy(W, S) ** 0.5
        return self._told(W, unit, engine)

    @available_if(lambda self: self.method in WITH_GAPS)
    @one_blas_thread
    def partial_fit(self, X: Any, y: None = None) -> "NGMCA":
        """Learn from one more batch of rows of a stream, of which nothing is kept but sums.

        The first batch is separated as by `fit`, and must have as many rows as there are components at
        least; more make a better start. A `fit` ends the stream, and the next batch begins another. Rows
        of `components_` have norm 1. It is for `soft` in channels and `anls`, without anything that is
        known beforehand, and for batches without missing entries.
        """
        self._check_streaming()
        begun = hasattr(self, "stream_")
        X = self._checked(X, reset=not begun)
        if not begun:
            self._begin(X)
        engine = open_whole(X / X.dtype.type(self._unit))
        if engine.unit != 1.0:
            raise ValueError("this batch is beyond all comparison with the first in size: scale it.")
        tau = self.tau if self.method == "soft" else 0.0
        self.stream_ = self.stream_.after(engine, tau, self.forgetting)
        self.components_ = self.stream_.S.astype(X.dtype)
        self.noise_ = np.full(len(X), self.stream_.noise * self._unit)
        self.n_iter_ += 1
        return self

    def _begin(self, X: NDArray) -> None:
        """Begin a stream with its first batch."""
        unit, r = open_whole(X).unit, self.n_components
        if not isinstance(r, str) and len(X) < check_rank(r, X.shape, "n_components", warn=False):
            raise ValueError(
                f"the first batch has {len(X)} rows for {r} components: begin with as many at least."
            )
        first = clone(self).set_params(domain="direct" if self.method == "soft" else "auto").fit(X)
        if not first.separation_.S.any():
            raise ValueError("the first batch has nothing in it to learn from: begin with another.")
        self.separation_, self.posterior_, self.n_iter_ = first.separation_, None, 0
        self.n_components_, self.rank_choice_ = first.n_components_, first.rank_choice_
        self._unit, self.stream_ = unit, Stream.begun(first.separation_.S / unit)

    def _check_streaming(self) -> None:
        """Refuse options that a stream would not heed."""
        if self.domain == "wavelet":
            raise ValueError("partial_fit goes channel by channel: leave domain='wavelet' out.")
        names = ("noise", "known_sources", "known_mixing", "zero_sources", "zero_mixing", "closure")
        given = [name for name in (*names, "profiles", "baseline") if getattr(self, name) is not None]
        given += [name for name in ("robust", "posterior") if getattr(self, name)]
        given += ["device"] if self.device != "cpu" else []
        given += ["penalised"] if self.penalised != NOTHING.penalised else []
        if given:
            raise ValueError(f"partial_fit would not heed {given[0]}: leave it out.")
        if check_number(self.forgetting, "forgetting", high=1.0) == 0:
            raise ValueError("forgetting must be above 0: at 0 nothing is kept of what came before.")
        counted = self.n_components == "auto" and getattr(self, "rank_choice_", None) is not None
        if hasattr(self, "stream_") and self.n_components != self.n_components_ and not counted:
            raise ValueError(
                f"the stream has {self.n_components_} components, and n_components is "
                f"{self.n_components!r} now: go on with as many, or begin another stream with a clone."
            )

    def transform_blocks(self, batches: Iterable[Any]) -> Iterator[NDArray]:
        """`transform` of one batch of rows after the other, of a stream without end."""
        for batch in batches:
            yield self.transform(batch)

    @one_blas_thread
    def transform(self, X: Any) -> NDArray:
        """argmin_{W >= 0} |X - W components_|, exactly, for every row of X; W of any sign for `gmca`.

        Each row counts where it was observed. One of which nothing was has weights of 0.
        """
        check_is_fitted(self)
        engine = self._opened(X, reset=False)
        S, unit = self._explaining()
        return self._told(self._weights(engine, S, unit), unit, engine)

    @one_blas_thread
    def inverse_transform(self, X: Any) -> NDArray:
        """The measurements that weights X (n_samples, n_components) stand for."""
        check_is_fitted(self)
        as_array(X, "X")
        X = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {X.shape[1]} columns, but there are {len(self.components_)} components: "
                "pass weights as `transform` returns them."
            )
        return X @ self.components_

    def _opened(self, X: Any, *, reset: bool, device: str = "cpu") -> InMemory:
        """The engine of X; what is too large for the memory, or on a cluster, stays where it is."""
        if not is_elsewhere(X):
            return open_data(self._checked(X, reset=reset), device=device)
        engine = open_data(X, device=device)
        _check_n_features(self, np.empty((0, engine.shape[1])), reset=reset)
        return engine

    def _choice(self, engine: InMemory) -> RankChoice | None:
        """How many sources there are, if that is to be found out."""
        if not isinstance(self.n_components, str):
            return None
        if self.n_components != "auto":
            told = "n_components must be a number of sources or 'auto'"
            raise ValueError(f"{told}, got {self.n_components!r}.")
        self._check_countable()
        engine.check_whole('n_components="auto"')
        seed = _seed(self.random_state)
        choice = choose_rank(engine, noise=self.noise, seed=seed, progress=bool(self.verbose))
        if not choice.rank:
            raise ValueError(
                f'n_components="auto" finds no source in X ({choice.advice.rstrip(".")}): '
                "give a number if there is one."
            )
        return choice

    def _check_countable(self) -> None:
        """Refuse to count sources where something was given that belongs to a number of them."""
        given = [name for name in UNCOUNTED if getattr(self, name) is not None]
        if self.profiles is not None and not isinstance(self.profiles, str):
            given.append("profiles")  # one for each source
        if given:
            raise ValueError(
                f'n_components="auto" counts the sources as if {given[0]} were not there: '
                "give a number instead."
            )

    def _checked(self, X: Any, *, reset: bool) -> NDArray:
        """Rows of numbers, NaN where they are missing; infinity is refused."""
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.result_type(X, np.float32)), np.nan)
        as_array(X, "X")  # scikit-learn would take numbers in text
        finite = "allow-nan" if self.method in WITH_GAPS else True
        kinds = [np.float64, np.float32]
        return validate_data(self, X, dtype=kinds, reset=reset, ensure_all_finite=finite)

    def _explaining(self) -> tuple[NDArray, float]:
        """Sources, in a unit whose squares neither overflow nor vanish; rows of a background; unit."""
        S, unit = in_own_units(self.components_.astype(np.float64))
        background = self.separation_.background
        return (S if background is None else np.vstack([S, background.basis])), unit

    def _weights(self, engine: InMemory, S: NDArray, unit: float) -> NDArray:
        """Weights of sources and background, in units of the engine and of S."""
        if self.method in SIGNED:
            return weights_of_any_sign(engine, S)
        r = len(self.components_)
        levels = Levels.of(self._noise_of(engine.shape[0]), engine)
        totals = Known(closure=self.closure).constraints(engine, r, levels).totals
        if totals is not None:
            totals = totals * (unit / engine.unit)
        robust = bool(self.robust)
        return weights_of(engine, S, levels, totals, background=len(S) - r, robust=robust)

    def _noise_of(self, m: int) -> Any:
        """What is known of the noise of m measurements: that of channels, or if as many were fitted."""
        if self.noise is None or isinstance(self.noise, str | Counts):
            return self.noise
        levels, fitted = np.asarray(self.noise), len(self.noise_)
        if levels.shape == (self.n_features_in_,) != (fitted,):
            return levels[None]
        return None if levels.shape[:1] == (fitted,) and m != fitted else levels

    def _told(self, W: NDArray, unit: float, engine: InMemory) -> NDArray:
        """Weights of the sources in the units of X, without those of a background."""
        return (W[:, : len(self.components_)] * (engine.unit / unit)).astype(engine.dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.method in WITH_GAPS
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _seed(random_state: Any) -> int | None:
    """A seed for NumPy's generators out of any form of random_state."""
    if random_state is None:
        return None
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
