"""Tables of Orange: spectra in, and sources, amounts and residuals out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from Orange.data import ContinuousVariable, Domain, StringVariable, Table
from Orange.data.util import SharedComputeValue, get_unique_names
from Orange.preprocess.preprocess import Preprocess

from ngmca.estimator import NGMCA
from ngmca.io import Dataset


def positions(domain: Domain) -> NDArray | None:
    """Return the positions that names of columns are; None if one of them is not a number."""
    try:
        found = np.array([float(one.name) for one in domain.attributes])
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def spectra(table: Table) -> tuple[Dataset, NDArray]:
    """Return the spectra in the order of their positions, and this order."""
    axis = positions(table.domain)
    if axis is None:
        return Dataset(table.X), np.arange(table.X.shape[1])
    order = np.argsort(axis, kind="stable")
    return Dataset(table.X[:, order], axis[order], "position"), order


class Amounts:
    """Amounts of the sources in any table with the same channels."""

    def __init__(self, model: NGMCA, domain: Domain, order: NDArray, *, percent: bool) -> None:
        self.model, self.percent, self._order = model, percent, order
        self._channels = Domain(domain.attributes)

    def __call__(self, table: Table) -> NDArray:
        """Return the amounts (rows, sources); NaN for rows without any value."""
        X = table.transform(self._channels).X[:, self._order]
        found = np.full((len(X), len(self.model.components_)), np.nan)
        some = ~np.isnan(X).all(axis=1)
        if some.any():
            found[some] = self.model.transform(X[some])
        if self.percent:
            found *= np.abs(self.model.components_).sum(axis=1)
            total = found.sum(axis=1, keepdims=True)
            found = 100 * np.divide(found, total, out=np.zeros_like(found), where=total > 0)
        return found

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Amounts)
            and self.percent == other.percent
            and self._channels == other._channels
            and np.array_equal(self.model.components_, other.model.components_)
        )

    def __hash__(self) -> int:
        return hash((self.percent, self._channels, self.model.components_.tobytes()))


class AmountOf(SharedComputeValue):
    """The amount of one source."""

    def __init__(self, shared: Amounts, number: int) -> None:
        super().__init__(shared)
        self.number = number

    def compute(self, _: Table, shared_data: NDArray) -> NDArray:
        """Return the column of this source."""
        return shared_data[:, self.number]

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and self.number == getattr(other, "number", None)

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.number))


class Unmixing(Preprocess):
    """A preprocessor that replaces spectra by the amounts of sources that were found before."""

    def __init__(self, attributes: list[ContinuousVariable]) -> None:
        self.attributes = attributes

    def __call__(self, data: Table) -> Table:
        """Return the amounts, with targets and metas of the data."""
        return data.transform(Domain(self.attributes, data.domain.class_vars, data.domain.metas))


def amounts_of(table: Table, shared: Amounts) -> tuple[Table, Unmixing]:
    """Return the amounts with targets and metas of the table, and the preprocessor that finds them."""
    wanted = [f"source {i + 1}" for i in range(len(shared.model.components_))]
    taken = [one.name for one in (*table.domain.class_vars, *table.domain.metas)]
    found = [
        ContinuousVariable(name, compute_value=AmountOf(shared, i), number_of_decimals=4)
        for i, name in enumerate(get_unique_names(taken, wanted))
    ]
    step = Unmixing(found)
    return step(table), step


def sources_of(table: Table, model: NGMCA, order: NDArray, shares: NDArray) -> Table:
    """Return the sources as spectra, with their numbers and mean shares as metas."""
    metas = [StringVariable("source"), ContinuousVariable("mean share (%)")]
    found = np.empty(model.components_.shape)
    found[:, order] = model.components_
    told: list[list[Any]] = [[f"source {i + 1}", 100 * one] for i, one in enumerate(shares)]
    domain = Domain(table.domain.attributes, metas=metas)
    return Table.from_numpy(domain, found, metas=np.array(told, dtype=object))


def residuals_of(table: Table, rest: NDArray, order: NDArray) -> Table:
    """Return the residuals of the fit as spectra, with targets and metas of the table."""
    found = table.copy()
    with found.unlocked(found.X):
        found.X[:, order] = rest
    return found
