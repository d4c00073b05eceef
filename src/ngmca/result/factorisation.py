"""The separation: sources, mixing, and what is known about them."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.html_cards import card, curves
from ngmca.io.technique import Technique
from ngmca.plotting import labelled_arrays, notebook_view, sources_plot
from ngmca.result.ambiguity import Ambiguity
from ngmca.result.error_bars import Posterior
from ngmca.result.large_sources import in_memory
from ngmca.result.rates import Rates
from ngmca.result.states import DIRECT, Background, Domain, History, Line, State, squared
from ngmca.result.technique_parts import part_of


@dataclass(frozen=True)
class Restart:
    """One of several starts, as `separate` with `n_init` compares them.

    Attributes
    ----------
    cost : float
        Penalised cost of its mixing directions, at one threshold for all starts.
    agreement : float
        Mean SDR in dB of its sources, as estimates of the chosen ones.
    sources : tuple of float
        The SDR of each source; empty where it is not known.
    equal : bool
        Whether it fits as well as the chosen start.
    """

    cost: float
    agreement: float
    sources: tuple[float, ...] = ()
    equal: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Others:
    """The range of answers that fit as well as the chosen one, which is included.

    Sources are matched to the chosen ones and have their norm, unless their scale is known. Sources that
    differ by less than 1 % count as the same.

    Attributes
    ----------
    count : int
        Number of starts whose answer fits as well and differs.
    S_low, S_high : (r, n) arrays
        Lowest and highest value of the sources.
    A_low, A_high : (m, r) arrays
        Lowest and highest value of the mixing.
    """

    count: int
    S_low: NDArray = field(repr=False)
    S_high: NDArray = field(repr=False)
    A_low: NDArray = field(repr=False)
    A_high: NDArray = field(repr=False)

    @property
    def differs(self) -> NDArray:
        """Which sources differ somewhere (r,)."""
        return np.asarray((self.S_low < self.S_high).any(axis=1))

    def scaled(self, unit: float) -> "Others":
        """Return the same for data that are `unit` times as large."""
        own = self.S_low.dtype.type(unit)
        return replace(self, S_low=self.S_low * own, S_high=self.S_high * own)

    def __repr__(self) -> str:
        return f"Others: {self.count} that fit as well, {np.sum(self.differs)} sources differ"


@dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """The result of `separate`: Y ~ A S with non-negative A (m, r) and S (r, n).

    Columns of A have norm 1, unless a constraint fixes their size. For `Soft` with a given number of
    iterations, S is the exact minimiser of 1/2 |Y - A S|^2 + sum_i lam_i |S_i|_1 over S >= 0, and
    `violation` certifies it (see `ngmca.nnqp.violation`). With ``n_iter="auto"`` entries of S that are
    clearly present have lower thresholds than lam, and measurements may count by their noise levels:
    `violation` certifies that problem. In the wavelet domain, S minimises
    1/2 |Y - A S|^2 + sum |Lam * (S W')| for weights Lam that depend on S, and `violation` is the duality
    gap divided by the objective. `Naive` and the rivals solve no such problem: it is NaN, as are
    thresholds of a rival. Factors of the rival `gmca` may be negative.

    Attributes
    ----------
    A : (m, r) array
        The mixing: how much of each source is in every measurement.
    S : (r, n) array
        The sources.
    lam : (r,) array
        Final threshold of each source where it is 0.
    noise : (m,) array
        Standard deviation of the noise in each measurement.
    n_iter : int
        Number of iterations.
    stopped : {"settled", "iterations"}
        Whether nothing moved any more, or the largest number of iterations was reached.
    violation : float
        Certificate of the last step on S.
    history : History
        One entry for each iteration.
    restarts : tuple of Restart
        One for each start, if there were several.
    posterior : Posterior or None
        Error bars, if they were asked for.
    domain : Domain
        Where the sources are sparse.
    background : Background or None
        The background, with a `Baseline`.
    outliers : (k, 2) array or None
        Measurement and channel of every spike, with ``robust=True``.
    parts : tuple of slice
        Measurements of each of several data sets.
    others : Others or None
        The range of answers that fit as well and differ.
    ambiguity : Ambiguity or None
        The range of factorisations that the data allow, from `ngmca.ambiguity`.
    rates : Rates or None
        Rate constants with their error bars, with `Kinetics`.
    noise_model : {"measurements", "entries", "counts"}
        Noise levels differ between measurements only, were given for channels or entries, or follow
        from the signal as those of counts.
    joined : tuple of Technique
        Channels and units of several techniques with a common A. S holds their sources one after the
        other, each in units of the noise of its technique; `techniques` has them in their own units.
    """

    A: NDArray = field(repr=False)
    S: NDArray | Any = field(repr=False)  # or sources that are not in memory
    lam: NDArray = field(repr=False)
    noise: NDArray = field(repr=False)
    n_iter: int
    stopped: str
    violation: float
    history: History = field(repr=False)
    restarts: tuple[Restart, ...] = ()
    posterior: Posterior | None = field(default=None, repr=False)
    domain: Domain = DIRECT
    background: Background | None = field(default=None, repr=False)
    outliers: NDArray | None = field(default=None, repr=False)
    parts: tuple[slice, ...] = (slice(None),)
    others: Others | None = field(default=None, repr=False)
    ambiguity: Ambiguity | None = field(default=None, repr=False)
    rates: Rates | None = field(default=None, repr=False)
    noise_model: str = "measurements"
    joined: tuple[Technique, ...] = ()

    @property
    def techniques(self) -> "tuple[Separation, ...]":
        """The separation of each of several techniques, with the same A; of one technique only itself.

        S, its error bars and its background are on the axis and in the unit of the technique.
        """
        return tuple(part_of(self, one) for one in self.joined) if len(self.joined) > 1 else (self,)

    @property
    def answer(self) -> tuple[NDArray, NDArray]:
        """A and S as reports show them: the posterior mean of the model "sparse", if it is not refuted.

        The mean is not shrunk by a threshold and lies inside its error bars. Otherwise A and S of the
        separation.
        """
        found = self.posterior
        if found is None or found.refuted or found.around_answer:
            return self.A, self.S
        return found.A.mean, found.S.mean

    @property
    def checksum(self) -> str:
        """SHA-256 of A, S and the means and spreads of a posterior: equal only to the bit."""
        parts = [self.A, self.in_memory().S]
        if self.posterior is not None:
            for one in (self.posterior.A, self.posterior.S):
                parts += [one.mean, one.sd]
        digest = hashlib.sha256()
        for part in parts:
            digest.update(f"{part.dtype.str} {part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    @property
    def shares(self) -> NDArray:
        """Share of each source in the signal of every measurement (m, r), summed over the channels.

        Unlike columns of A, shares can be compared between sources. Rows sum to 1, or to 0 where there
        is no signal.
        """
        A, S = (np.abs(part) for part in self.in_memory().answer)
        signal = A * (S / (S.max(initial=0) or 1)).sum(axis=1)
        total = signal.sum(axis=1, keepdims=True)
        return np.divide(signal, total, out=np.zeros(signal.shape), where=total > 0)

    @property
    def _spectra(self) -> list[tuple[str, NDArray]]:
        """Name and sources of each technique."""
        return [(one.joined[0].name if one.joined else "", one.answer[1]) for one in self.techniques]

    def plot(self, data: Any = None) -> Any:
        """Return a matplotlib figure: each source along the axis, and its share in every measurement.

        Parameters
        ----------
        data : Dataset, DataFrame or DataArray, optional
            The data that were separated, for the axis and the names; several techniques joined by
            `ngmca.join_techniques`.
        """
        found = self.in_memory()
        return sources_plot.picture(found._spectra, found.shares, data)

    def to_pandas(self, data: Any = None) -> tuple[Any, Any]:
        """Return two pandas DataFrames: sources by channel, and mixing by measurement.

        The mixing has the columns of A ("source 1") and the shares in percent ("source 1 share (%)").

        Parameters
        ----------
        data : Dataset, DataFrame or DataArray, optional
            The data that were separated, for the axis and the names; several techniques joined by
            `ngmca.join_techniques`.
        """
        found = self.in_memory()
        return sources_plot.tables(found.answer[0], found._spectra, found.shares, data)

    def to_xarray(self, data: Any = None) -> Any:
        """Return an xarray Dataset: mixing, sources, shares, noise, background and error bars, labelled.

        With a DataArray, all have its dimensions and coordinates: the mixing of a map is folded back,
        and sources lie along its spectral dimension. ``to_netcdf`` writes them to a file. Of several
        techniques, take each of `techniques` with its own data.

        Parameters
        ----------
        data : DataArray, Dataset or DataFrame, optional
            The data that were separated, for dimensions, coordinates and names.

        Examples
        --------
        >>> import ngmca
        >>> import xarray as xr
        >>> Y = ngmca.simulate.spectra(m=6, n=100, r=2, snr=20, seed=0).Y
        >>> map_ = xr.DataArray(Y.reshape(2, 3, 100), dims=("y", "x", "energy"))
        >>> ngmca.separate(map_, 2).to_xarray(map_).A.sizes
        Frozen({'y': 2, 'x': 3, 'source': 2})
        """
        return labelled_arrays.labelled(self.in_memory(), data)

    def explore(self, data: Any) -> Any:
        """Return a view for notebooks: sources, amounts or maps, and the fit of one measurement.

        A click on an amount or a pixel shows the fit and the residual of this measurement; a click on a
        source highlights it everywhere. The fit is A S, with the background if there is one. At most
        two million values of the data are sent to the browser: a note says which measurements are
        shown, and whether neighbouring channels were averaged. Needs ``pip install 'ngmca[notebook]'``.

        Parameters
        ----------
        data : array, Dataset, DataFrame or DataArray
            The data that were separated. Of several techniques, take each of `techniques` with its own.

        Returns
        -------
        anywidget.AnyWidget
            The last line of a cell shows it in Jupyter, VS Code and marimo. Its `measurement` and
            `source` are the chosen ones, counted from 0, and can be set.
        """
        return notebook_view.view(self.in_memory(), data)

    def in_memory(self) -> "Separation":
        """Return the same with S as an array, where it lies on disk or on a cluster.

        Raises a `MemoryError` if S is too large for the memory.
        """
        S = in_memory(self.S)
        return self if S is self.S else replace(self, S=S)

    def with_sources(self, S: Any) -> "Separation":
        """Return the same with its sources in another place."""
        return replace(self, S=S)

    def scaled(self, unit: float) -> "Separation":
        """Return the same for data that are `unit` times as large."""
        if unit == 1.0:
            return self
        return replace(
            self,
            S=self.S * self.S.dtype.type(unit),
            lam=self.lam * unit,
            noise=self.noise * unit,
            history=self.history.scaled(unit),
            restarts=tuple(replace(one, cost=squared(one.cost, unit)) for one in self.restarts),
            others=None if self.others is None else self.others.scaled(unit),
            ambiguity=None if self.ambiguity is None else self.ambiguity.scaled(unit),
            background=None if self.background is None else self.background.scaled(unit),
        )

    def __repr__(self) -> str:
        (m, r), n = self.A.shape, self.S.shape[1]
        bars = ", with posterior" if self.posterior is not None else ""
        end = "settled after" if self.stopped == "settled" else "after"
        sources = f"{r} source{'s' * (r != 1)}"
        iterations = f"{self.n_iter} iteration{'s' * (self.n_iter != 1)}"
        some = f" of {len(self.joined)} techniques" if len(self.joined) > 1 else ""
        return f"Separation: {sources} in {m} x {n} data{some}, {end} {iterations}{bars}"

    def _repr_html_(self) -> str:
        """The sources and their shares, for notebooks; sources that are not in memory are not read."""
        if not isinstance(self.S, np.ndarray):
            return card(repr(self), [], remarks=["The sources are not in memory."])
        shares, rows = self.shares, []
        for i, spectra in enumerate(zip(*(S for _, S in self._spectra), strict=True)):
            drawn = [curves(one, first=i) for one in spectra]
            share = f"{100 * float(shares[:, i].mean()):.1f} %"
            rows.append([str(i + 1), *drawn, curves(shares[:, i], first=i), share])
        names = [name or "spectrum" for name, _ in self._spectra]
        head = ["source", *names, "share in each measurement", "mean share"]
        return card(repr(self), rows, head, self._remarks())

    def _remarks(self) -> list[str]:
        """What a reader should know before using the sources."""
        found = [] if self.rates is None else self.rates.words()
        if self.background is not None:
            found.append("A smooth background was fitted beside the sources.")
        if self.others is not None:
            found.append(f"{self.others.count} other starts found answers that fit as well and differ.")
        if self.posterior is not None and self.posterior.refuted:
            found.append("The data contradict the model of the error bars.")
        return [*found, "ngmca.judge(data, separation) says whether the result can be used."]


def recorded(last: State, lines: list[Line]) -> Separation:
    """Return the separation that ends with a state, with one `line` of history for each iteration."""
    return Separation(
        A=last.A,
        S=last.S,
        lam=last.lam,
        noise=last.noise,
        n_iter=last.k,
        stopped="settled" if last.settled else "iterations",
        violation=last.violation,
        history=History.of(lines),
        domain=last.domain,
        background=last.background,
        outliers=last.outliers,
        rates=last.rates,
    )
