"""The scikit-learn face: X is Y, `components_` is S, `fit_transform` returns A."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ngmca._support.arguments import as_array, check_rank
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms import DEFAULTS
from ngmca.data import InMemory, in_own_units, open_data
from ngmca.nnqp.pivoting import solve_rows
from ngmca.rivals import SIGNED
from ngmca.separation import separate


class NGMCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Sparse non-negative blind source separation as a scikit-learn transformer.

    X (n_samples, n_features) holds one measured spectrum a row. It is explained as `W @ components_`
    with non-negative spectra in `components_` and non-negative weights W, which `fit_transform` and
    `transform` return. Negative entries of X are normal: they are noise.

    Parameters
    ----------
    n_components : int
        Number of sources.
    method, tau, refinement, bounded, solver, max_sub_iter, noise, tol, domain, sample_shape, n_init
        As in `ngmca.separate`.
    posterior : bool
        Sample around the separation; `components_` are then the posterior means of the sources. Of
        lines and bands (`separation_.domain` is "wavelet") they stay the separation's, and there are
        intervals besides; they stay so too where the data refute the model (`posterior_.refuted`).
    max_iter : int or "auto"
        Number of iterations, at most: `n_iter` of `ngmca.separate`.
    random_state : int, RandomState or None
        Seed of the first guess.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    components_ : (n_components, n_features)
        The sources.
    separation_ : ngmca.Separation
        All that was found, with its certificate and history. Its A has columns of norm 1, and S is
        shrunk by the threshold; `transform` fits the weights to the data without either.
    posterior_ : ngmca.Posterior or None
        If it was asked for: spreads, intervals and activities of sources and weights, and `warnings`.
    noise_ : (n_samples,)
        Standard deviation of the noise in each measurement.
    reconstruction_err_ : float
        Frobenius norm of `X - transform(X) @ components_`.
    n_iter_ : int
        Number of iterations done.
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        method: str = DEFAULTS.method,
        tau: float = DEFAULTS.tau,
        max_iter: int | str = DEFAULTS.n_iter,
        refinement: float = DEFAULTS.refinement,
        bounded: bool = DEFAULTS.bounded,
        solver: str = DEFAULTS.solver,
        max_sub_iter: int = DEFAULTS.max_sub_iter,
        noise: ArrayLike | None = None,
        tol: float | None = DEFAULTS.tol,
        domain: str = DEFAULTS.domain,
        sample_shape: tuple[int, int] | None = DEFAULTS.sample_shape,
        n_init: int = 1,
        posterior: bool = False,
        random_state: Any = None,
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
        self.tol = tol
        self.domain = domain
        self.sample_shape = sample_shape
        self.n_init = n_init
        self.posterior = posterior
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> "NGMCA":
        """Learn the sources of X."""
        self.fit_transform(X)
        return self

    @one_blas_thread
    def fit_transform(self, X: Any, y: None = None) -> NDArray:
        """Learn the sources of X and return its weights (n_samples, n_components)."""
        as_array(X, "X")  # scikit-learn would take masked entries, and numbers in text
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        check_rank(self.n_components, X.shape, "n_components", warn=False)
        engine = open_data(X)
        self.separation_ = separate(
            engine,
            self.n_components,
            method=self.method,
            tau=self.tau,
            n_iter=self.max_iter,
            refinement=self.refinement,
            bounded=self.bounded,
            solver=self.solver,
            max_sub_iter=self.max_sub_iter,
            noise=self.noise,
            tol=self.tol,
            domain=self.domain,
            sample_shape=self.sample_shape,
            n_init=self.n_init,
            posterior=bool(self.posterior),
            seed=_seed(self.random_state),
            progress=bool(self.verbose),
        )
        self.components_ = np.ascontiguousarray(self.separation_.answer[1], dtype=X.dtype)
        self.posterior_ = self.separation_.posterior
        self.noise_ = self.separation_.noise
        self.n_iter_ = self.separation_.n_iter
        weights = self._weights(engine)
        components = self.components_ / X.dtype.type(engine.unit)
        self.reconstruction_err_ = engine.unit * engine.residual_energy(weights, components) ** 0.5
        return weights

    @one_blas_thread
    def transform(self, X: Any) -> NDArray:
        """argmin_{W >= 0} |X - W components_|, exactly, for every row of X; W of any sign for `gmca`."""
        check_is_fitted(self)
        as_array(X, "X")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self._weights(open_data(X))

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

    def _weights(self, engine: InMemory) -> NDArray:
        """Solved in units in which squares neither overflow nor vanish."""
        S, unit = in_own_units(self.components_.astype(np.float64))
        if self.method in SIGNED:
            W = engine.times(np.linalg.pinv(S))
        else:
            C = engine.times(S.T)
            W = np.zeros(C.shape)
            solve_rows(S @ S.T, C, W)
        return (W * (engine.unit / unit)).astype(engine.dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _seed(random_state: Any) -> int | None:
    """A seed for NumPy's generators out of any form of random_state."""
    if random_state is None:
        return None
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))
