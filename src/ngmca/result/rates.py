"""Rate constants with their error bars."""

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ngmca.plotting import answer_plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BY_MEASUREMENT = ("times", "profiles", "amounts")  # fields with one row for each measurement
CLEARLY_WORSE = 0.001  # probability of a difference by chance, below which free profiles fit better


@dataclass(frozen=True, eq=False, repr=False)
class Rates:
    """Parameters of a rate law, fitted to the data.

    They are those of the best fit without thresholds. The profiles in A follow parameters that may
    differ from them by a part of the standard deviations, because thresholds make sources smaller.

    Attributes
    ----------
    names : tuple of str
        The step that each rate constant belongs to, such as "A -> B".
    values, sd : (p,) arrays
        The rate constants and their standard deviations.
    low, high : (p,) arrays
        Ends of the intervals that hold the rate constants with a probability of 90 %.
    widened : float
        Factor of the standard deviations, because the residual is not white noise; 1 if it is.
    free_fit : float
        Probability that free profiles would fit better than the law by as much as they do, if the law
        were true: from an F-test. NaN where they were not compared.
    exchangeable : bool
        Whether another order of the rate constants fits as well.
    columns : tuple of int
        The sources that follow the law.
    times : (m,) array
        Time of each measurement.
    profiles, amounts : (m, q) arrays
        Amounts by the law, and those that fit best to each measurement alone, for the same spectra.
    """

    names: tuple[str, ...]
    values: NDArray
    sd: NDArray
    low: NDArray
    high: NDArray
    widened: float = 1.0
    free_fit: float = np.nan
    exchangeable: bool = False
    columns: tuple[int, ...] = ()
    times: NDArray = field(default_factory=lambda: np.zeros(0))
    profiles: NDArray = field(default_factory=lambda: np.zeros((0, 0)))
    amounts: NDArray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def facts(self) -> dict[str, Any]:
        """All fields as plain values."""
        found = {part.name: getattr(self, part.name) for part in fields(self)}
        return {
            name: value.tolist() if isinstance(value, np.ndarray) else value
            for name, value in found.items()
        }

    @property
    def summary(self) -> dict[str, Any]:
        """The fields that do not grow with the number of measurements, as plain values."""
        return {name: value for name, value in self.facts.items() if name not in BY_MEASUREMENT}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> "Rates":
        """Return the record that `facts` came from."""
        known = ("values", "sd", "low", "high", *BY_MEASUREMENT)
        arrays = {name: np.array(facts[name], dtype=float) for name in known if name in facts}
        names = {"names": tuple(facts["names"]), "columns": tuple(facts.get("columns", ()))}
        return cls(**facts | arrays | names)

    def plot(self) -> "Figure":
        """Return a matplotlib figure: amounts against time, and the profiles of the law over them."""
        return answer_plots.rates_picture(self)

    def words(self) -> list[str]:
        """Return what the fit says, one sentence for each rate constant and for each caution."""
        found = [
            f"{name}: {value:.4g} ± {sd:.2g} (90 % interval {low:.4g} to {high:.4g})."
            for name, value, sd, low, high in zip(
                self.names, self.values, self.sd, self.low, self.high, strict=True
            )
        ]
        if self.free_fit < CLEARLY_WORSE:
            found.append(
                "Free profiles fit clearly better than the rate law: the reaction has other steps, or "
                "the data have a part that the law does not describe."
            )
        elif not np.isnan(self.free_fit):
            found.append("Free profiles do not fit clearly better than the rate law.")
        if self.exchangeable:
            found.append(
                "Another order of the rate constants fits as well: give a known spectrum to tell them "
                "apart."
            )
        if self.widened > 1:
            found.append(
                f"The intervals are {self.widened:.2g} times as wide as for white noise, because the "
                "residual has structure."
            )
        return found

    def __repr__(self) -> str:
        return "Rates: " + ", ".join(
            f"{name} {value:.4g} ± {sd:.2g}"
            for name, value, sd in zip(self.names, self.values, self.sd, strict=True)
        )
