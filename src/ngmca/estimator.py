"""The scikit-learn face: X is Y, `components_` is S, `fit_transform` returns A."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from ngmca import engines, rules
from ngmca._support.arguments import as_array, check_number, check_observed, check_rank
from ngmca._support.messages import ArgumentError, option
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms.mixing_for_sources import weights_of, weights_of_any_sign
from ngmca.algorithms.streaming import Stream
from ngmca.answers.how_many.choose_rank import with_counted_sources
from ngmca.answers.how_many.held_out_blocks import channel_folds
from ngmca.answers.how_many.rank_choice import RankChoice
from ngmca.constraints import Closure, Constraint, constraint_arrays
from ngmca.io.conversion import check_orientation
from ngmca.task import driver
from ngmca.task.methods import Method, Rival, Soft, as_method, options_of
from ngmca.task.problem import features_of_data
from ngmca.task.task import AUTOMATIC_BASELINE, NoiseModel, Sampling, Task


class NGMCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Sparse non-negative blind source separation as a scikit-learn transformer.

    X (n_samples, n_features) holds one measured spectrum in each row. It is explained as
    `W @ components_` with non-negative spectra in `components_` and non-negative weights W, which
    `fit_transform` and `transform` return. Negative entries of X are normal: they are noise. NaN is
    missing: every row is fitted to its observed entries, and nothing is filled in.

    Parameters
    ----------
    n_components : int or "auto"
        Number of sources; "auto" asks `ngmca.choose_rank`, and `rank_choice_` holds its answer.
    method, domain, sample_shape, n_init
        As in `ngmca.separate`.
    noise, robust, constraints
        As in `ngmca.separate`. `transform` uses noise levels of channels and counts, gives no weight to
        spikes if `robust`, fits a background with a `Baseline` and leaves it out, and keeps to a
        `Closure`. Noise levels of entries and of measurements belong to the X they were given for, and
        to others with as many rows. Constraints on the mixing hold for `separation_.A`, not for
        `transform`.
    posterior : bool or Sampling
        Sample error bars; `components_` are then the posterior means of the sources. In the wavelet
        domain, and where the data contradict the model (`posterior_.refuted`), they stay those of the
        separation.
    forgetting : float
        Weight of earlier batches at every `partial_fit`, above 0 and up to 1: all batches count alike.
    random_state : int, RandomState or None
        Seed of the first guesses.
    device : {"cpu", "cuda"}
        Where `fit` computes, as in `ngmca.separate`.
    verbose : bool
        Show a progress bar.

    Notes
    -----
    `fit`, `fit_transform`, `transform` and `score` take two arrays (n_samples, n_features) that belong
    to their X: `noise`, the standard deviation of every entry, which replaces the parameter of that name
    and weighs the fit, and `mask`, True where an entry is missing. With scikit-learn's metadata routing
    they follow the rows of X through pipelines and cross-validation, for example
    ``NGMCA(3).set_fit_request(mask=True).set_score_request(mask=True)``.

    Attributes
    ----------
    components_ : (n_components, n_features) array
        The sources.
    n_components_ : int
        Number of sources.
    rank_choice_ : ngmca.RankChoice or None
        How the number of sources was chosen, if it was.
    separation_ : ngmca.Separation
        The whole result, with its certificate and history. Its A has columns of norm 1, and S is shrunk
        by the threshold; `transform` fits the weights to the data without either.
    posterior_ : ngmca.Posterior or None
        Error bars, if they were asked for.
    noise_ : (n_samples,) array
        Standard deviation of the noise in each measurement.
    reconstruction_err_ : float
        Frobenius norm of `X - transform(X) @ components_` over the observed entries, without a
        background.
    n_iter_ : int
        Number of iterations.

    Examples
    --------
    >>> import ngmca
    >>> x = ngmca.simulate.sparse(m=30, n=100, r=3, snr=20, seed=0)
    >>> model = ngmca.NGMCA(3)
    >>> model.fit_transform(x.Y).shape
    (30, 3)
    >>> model.components_.shape
    (3, 100)
    """

    stream_: Stream  # from the first `partial_fit` to the next `fit`

    def __init__(
        self,
        n_components: int | str = 2,
        *,
        method: str | Method = "soft",
        domain: str = "auto",
        sample_shape: tuple[int, int] | None = None,
        noise: NoiseModel = None,
        robust: bool = False,
        constraints: Iterable[Constraint] = AUTOMATIC_BASELINE,
        n_init: int | str = "auto",
        posterior: bool | Sampling = False,
        forgetting: float = 1.0,
        random_state: Any = 0,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.domain = domain
        self.sample_shape = sample_shape
        self.noise = noise
        self.robust = robust
        self.constraints = constraints
        self.n_init = n_init
        self.posterior = posterior
        self.forgetting = forgetting
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def _task(self, r: int, noise: Any = None) -> Task:
        """Return the task for r sources; `noise` replaces the parameter of that name."""
        given = self.get_params(deep=False) | ({} if noise is None else {"noise": noise})
        own = ("n_components", "forgetting", "random_state", "verbose")
        of_task = {name: value for name, value in given.items() if name not in own}
        return Task(r=r, seed=_seed(self.random_state), **of_task)

    def _shown_progress(self) -> AbstractContextManager[list[driver.Watcher]]:
        """Return the watchers of a fit; programs with their own windows replace it."""
        return driver.shown_progress(bool(self.verbose))

    @property
    def _method_feature(self) -> str:
        """The name of the method in the table of rules."""
        method = as_method(self.method)
        return "rival" if isinstance(method, Rival) else method.name

    @property
    def _allows_missing(self) -> bool:
        """Whether the method supports missing entries."""
        return rules.reason_against(self._method_feature, "missing entries") is None

    def fit(self, X: Any, y: None = None, *, noise: Any = None, mask: Any = None) -> "NGMCA":
        """Learn the sources of X."""
        self.fit_transform(X, noise=noise, mask=mask)
        return self

    @one_blas_thread
    def fit_transform(self, X: Any, y: None = None, *, noise: Any = None, mask: Any = None) -> NDArray:
        """Learn the sources of X and return its weights (n_samples, n_components)."""
        engine = self._opened(X, reset=True, device=self.device, mask=mask)
        if hasattr(self, "stream_"):
            del self.stream_  # its sums belong to other data
        task, self.rank_choice_ = self._counted(engine, noise)
        self.n_components_ = check_rank(task.r, engine.shape, "n_components", warn=False)
        prepared = driver.Prepared(task, engine)
        with self._shown_progress() as watchers:
            found = engines.returned(engine, prepared.find(watchers=watchers))
        self.separation_ = prepared.with_error_bars(found, progress=bool(self.verbose))
        self.components_ = np.ascontiguousarray(self.separation_.answer[1], dtype=engine.dtype)
        self.posterior_ = self.separation_.posterior
        self.noise_ = self.separation_.noise
        self.n_iter_ = self.separation_.n_iter
        S, unit = self._explaining()
        W = self._weights(engine, S, unit, noise)
        self.reconstruction_err_ = engine.unit * engines.residual_energy(engine, W, S) ** 0.5
        return self._in_units_of_data(W, unit, engine)

    @available_if(lambda self: self._streams())
    @one_blas_thread
    def partial_fit(self, X: Any, y: None = None) -> "NGMCA":
        """Learn from one more batch of rows of a stream, of which only some sums of rows are kept.

        The first batch is separated as by `fit`, and needs at least as many rows as there are
        components; more rows make a better start. A `fit` ends the stream. Rows of `components_` have
        norm 1. The memory does not grow with the stream: it takes 30 sums of rows for each component,
        and at least 100 in all. Only `Soft` in the direct domain and `Anls` support streams, without
        constraints and without missing entries.
        """
        self._check_streaming()
        begun = hasattr(self, "stream_")
        X = self._checked(X, reset=not begun)
        if np.isnan(X).any():
            rules.check(rules.written(["partial_fit", "missing entries"]))
        if not begun:
            self._begin(X)
        engine = engines.open_whole(X / X.dtype.type(self._unit))
        if engine.unit != 1.0:
            raise ArgumentError(
                "{} has values far larger or smaller than the first batch: scale all batches alike.",
                option("X"),
            )
        method = as_method(self.method)
        assert not isinstance(method, Rival)
        self.stream_ = self.stream_.after(engine, options_of(method), self.forgetting)
        self.components_ = self.stream_.S.astype(X.dtype)
        self.noise_ = np.full(len(X), self.stream_.noise * self._unit)
        self.n_iter_ += 1
        return self

    def _streams(self) -> bool:
        """Return True; raise an AttributeError with the reason if the method has no streams."""
        shown = option("method", as_method(self.method).name)
        try:
            rules.check({self._method_feature: shown} | rules.written(["partial_fit"]))
        except ArgumentError as error:
            raise AttributeError(str(error)) from error
        return True

    def _begin(self, X: NDArray) -> None:
        """Begin a stream with its first batch."""
        unit, r = engines.open_whole(X).unit, self.n_components
        if not isinstance(r, str) and len(X) < check_rank(r, X.shape, "n_components", warn=False):
            raise ArgumentError(
                "the first batch has {} rows for {} components: it needs at least as many rows as there "
                "are components.",
                *(len(X), r),
            )
        soft = isinstance(as_method(self.method), Soft)
        first = clone(self).set_params(domain="direct" if soft else "auto", constraints=()).fit(X)
        if not first.separation_.S.any():
            raise ArgumentError("the first batch contains no signal: begin with another.")
        self.separation_, self.posterior_, self.n_iter_ = first.separation_, None, 0
        self.n_components_, self.rank_choice_ = first.n_components_, first.rank_choice_
        self._unit, self.stream_ = unit, Stream.begun(first.separation_.S / unit)

    def _check_streaming(self) -> None:
        """Raise an error if an option is not supported in a stream."""
        rules.check(self._task(1).features | rules.written(["partial_fit"]))
        if check_number(self.forgetting, "forgetting", high=1.0) == 0:
            raise ArgumentError(
                "{} must be above 0: at 0 nothing is kept of earlier batches.", option("forgetting")
            )
        counted = self.n_components == "auto" and getattr(self, "rank_choice_", None) is not None
        if hasattr(self, "stream_") and self.n_components != self.n_components_ and not counted:
            raise ArgumentError(
                "the stream has {} components, but {} now: keep the number, or begin another stream "
                "with a clone.",
                *(self.n_components_, option("n_components", self.n_components)),
            )

    def transform_blocks(self, batches: Iterable[Any]) -> Iterator[NDArray]:
        """Yield the `transform` of one batch of rows after the other."""
        for batch in batches:
            yield self.transform(batch)

    @one_blas_thread
    def transform(self, X: Any, *, noise: Any = None, mask: Any = None) -> NDArray:
        """Return the non-negative weights that fit each row of X best, for the learnt spectra: exactly.

        Every row is fitted to its observed entries; rows without observed entries get zero weights.
        Weights of the method `gmca` may be negative.
        """
        check_is_fitted(self)
        engine = self._opened(X, reset=False, mask=mask)
        S, unit = self._explaining()
        return self._in_units_of_data(self._weights(engine, S, unit, noise), unit, engine)

    @one_blas_thread
    def score(
        self,
        X: Any,
        y: None = None,
        sample_weight: Any = None,
        *,
        noise: Any = None,
        mask: Any = None,
    ) -> float:
        """Return the share of held-out entries of X that the learnt sources predict, at most 1.

        A fifth of the channels is held out at a time, in stretches; of fewer than ten, one. Every row is
        fitted to its other channels, and the fit predicts the stretches; channels beside them are left
        out, because noise of neighbours may be correlated. The score is
        ``1 - |X - predicted|^2 / |X|^2`` over all observed entries, weighted by `noise` if it is known,
        and by `sample_weight` (n_samples,) if it is given.

        A source that only follows noise predicts nothing, so on rows that were not fitted the score
        does not rise with more sources than there are. `GridSearchCV` chooses `n_components` by it. The
        score of the rows of `fit` itself says little.
        """
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        if X.shape[1] < 2:
            raise ArgumentError("{} has one channel: a score needs two or more.", option("X"))
        X, missing = check_observed(X, mask)
        X = X if missing is None else np.where(missing, np.nan, X)
        size = float(np.nanmax(np.abs(X), initial=0)) or 1.0
        noise = self._noise_of(len(X)) if noise is None else noise
        weights = np.broadcast_to(_precision(noise, X.shape, size), X.shape)
        weights = weights * _check_sample_weight(sample_weight, X, ensure_non_negative=True)[:, None]
        missed = total = 0.0
        for hidden, guarded in channel_folds(X.shape[1]):
            target, weight = X[:, hidden] / size, weights[:, hidden]
            rest = target - self._predicted(X, noise, hidden, guarded) / size
            missed += float(np.nansum(weight * rest**2))
            total += float(np.nansum(weight * target**2))
        return 1.0 - missed / total if total > 0 else 0.0

    def _predicted(self, X: NDArray, noise: Any, hidden: NDArray, guarded: NDArray) -> NDArray:
        """Return the hidden channels of X, predicted from all but the guarded ones."""
        used = np.delete(np.arange(X.shape[1]), guarded)
        if np.ndim(noise) and np.shape(noise)[-1] == X.shape[1] and np.shape(noise) != (len(X),):
            noise = np.asarray(noise)[..., used]
        S, unit = self._explaining()
        engine = engines.open_data(X[:, used])
        return np.asarray(engine.unit * (self._weights(engine, S[:, used], unit, noise) @ S[:, hidden]))

    @one_blas_thread
    def inverse_transform(self, X: Any) -> NDArray:
        """Return the measurements that weights X (n_samples, n_components) describe."""
        check_is_fitted(self)
        _refuse_missing(as_array(X, "X"), "`inverse_transform`")
        X = check_array(X, dtype=[np.float64, np.float32], input_name="X")
        if X.shape[1] != len(self.components_):
            raise ArgumentError(
                "{} has {} columns, but there are {} components: pass what `transform` returns.",
                *(option("X"), X.shape[1], len(self.components_)),
            )
        return X @ self.components_

    def _opened(self, X: Any, *, reset: bool, device: str = "cpu", mask: Any = None) -> engines.Engine:
        """Return the engine of X; large data and Dask arrays stay where they are."""
        if not engines.is_elsewhere(X):
            return engines.open_data(self._checked(X, reset=reset), device=device, mask=mask)
        engine = engines.open_data(X, device=device, mask=mask)
        _check_n_features(self, np.empty((0, engine.shape[1])), reset=reset)
        return engine

    def _counted(self, engine: engines.Engine, noise: Any) -> tuple[Task, RankChoice | None]:
        """Return the task, and how many sources there are if that is asked for."""
        if not isinstance(self.n_components, str):
            r = check_rank(self.n_components, engine.shape, "n_components", warn=False)
            return self._task(r, noise), None
        if self.n_components != "auto":
            raise ArgumentError(
                "{} must be a number of sources or 'auto', got {!r}.",
                *(option("n_components"), self.n_components),
            )
        task = self._task(1, noise)
        features = task.features | features_of_data(engine)
        if any(getattr(one, "sources", None) is not None for one in self.constraints):
            features |= rules.written(["shapes of some sources"])
        rules.check(features | {"auto rank": option("n_components", "auto")})
        task, choice = with_counted_sources(task, engine)
        if not choice.rank:
            raise ArgumentError(
                "{} finds no source in X ({}): give a number to separate anyway.",
                *(option("n_components", "auto"), choice.advice.rstrip(".")),
            )
        return task, choice

    def _checked(self, X: Any, *, reset: bool) -> NDArray:
        """Return rows of finite numbers, NaN where entries are missing."""
        if isinstance(X, np.ma.MaskedArray):
            X = np.ma.filled(X.astype(np.result_type(X, np.float32)), np.nan)
        check_orientation(X, "X")
        array = as_array(X, "X")  # scikit-learn would take numbers in text
        if not self._allows_missing:
            _refuse_missing(array, f"the method {self.method!r}")
        finite = "allow-nan" if self._allows_missing else True
        kinds = [np.float64, np.float32]
        return validate_data(self, X, dtype=kinds, reset=reset, ensure_all_finite=finite)

    def _explaining(self) -> tuple[NDArray, float]:
        """Return the sources in a safe unit, with the curves of a background, and the unit."""
        S, unit = engines.in_own_units(self.components_.astype(np.float64))
        background = self.separation_.background
        return (S if background is None else np.vstack([S, background.basis])), unit

    def _weights(self, engine: engines.Engine, S: NDArray, unit: float, noise: Any) -> NDArray:
        """Return weights of sources and background, in units of the engine and of S."""
        method = as_method(self.method)
        if isinstance(method, Rival) and method.is_signed:
            return weights_of_any_sign(engine, S)
        r = len(self.components_)
        noise = self._noise_of(engine.shape[0]) if noise is None else noise
        levels = engines.Levels.of(noise, engine)
        closure = [one for one in self.constraints if isinstance(one, Closure)]
        totals = constraint_arrays(closure, engine, r, levels).totals
        if totals is not None:
            totals = totals * (unit / engine.unit)
        robust = bool(self.robust)
        return weights_of(engine, S, levels, totals, background=len(S) - r, robust=robust)

    def _noise_of(self, m: int) -> Any:
        """Return the known noise of m measurements: levels of channels, or those of as many rows."""
        if self.noise is None or isinstance(self.noise, str | engines.Counts):
            return self.noise
        levels, fitted = np.asarray(self.noise), len(self.noise_)
        if levels.shape == (self.n_features_in_,) != (fitted,):
            return levels[None]
        return None if levels.shape[:1] == (fitted,) and m != fitted else levels

    def _in_units_of_data(self, W: NDArray, unit: float, engine: engines.Engine) -> NDArray:
        """Return weights of the sources in the units of X, without those of a background."""
        return (W[:, : len(self.components_)] * (engine.unit / unit)).astype(engine.dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_missing
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _precision(noise: Any, shape: tuple[int, int], size: float) -> NDArray:
    """Return weights of the entries, 1 / noise^2 in units of `size`; 1 if the noise is not known."""
    if noise is None or isinstance(noise, str | engines.Counts):
        return np.ones(1)
    levels = np.asarray(noise, dtype=float) / size
    return 1 / (levels[:, None] if levels.shape == shape[:1] else levels) ** 2


def _refuse_missing(X: NDArray, what: str) -> None:
    """Raise an error for missing entries that names them; scikit-learn would recommend other methods."""
    if X.dtype.kind == "f" and np.isnan(X).any():
        raise ArgumentError(
            "{} contains NaN in {} of its entries, and {} does not support missing entries. Leave out "
            "these rows, or take {}.",
            *(option("X"), int(np.isnan(X).sum()), what, option("method", "soft")),
        )


def _seed(random_state: Any) -> int | None:
    """Return a seed for NumPy's generators from any form of random_state."""
    if random_state is None:
        return None
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
