"""Signals of HyperSpy in, signals with axes out: ``ngmca.tools.hyperspy.separate(signal, 3)``.

``signal.decomposition(algorithm=ngmca.NGMCA(3))`` needs nothing from here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca import separation
from ngmca._support.messages import ArgumentError, ArgumentTypeError, option
from ngmca.result import Separation


@dataclass(frozen=True, eq=False, repr=False)
class Found:
    """What `separate` found in a signal.

    Attributes
    ----------
    sources : hyperspy.signals.BaseSignal
        The spectra, with the signal axes of the data. The navigation axis is the number of the source.
    amounts : hyperspy.signals.BaseSignal
        The mixing as one map for each source, with the navigation axes of the data.
    separation : Separation
        The whole result. Positions of the signal are its measurements, in the order of `signal.data`.
    """

    sources: Any
    amounts: Any
    separation: Separation

    def __repr__(self) -> str:
        return repr(self.separation)


def separate(signal: Any, r: int, **options: Any) -> Found:
    """Separate the spectra of a signal of HyperSpy, and return signals with its axes.

    Parameters
    ----------
    signal : hyperspy.signals.BaseSignal
        Spectra or images along its signal axes, at the positions of its navigation axes. A lazy signal
        stays on its workers.
    r : int
        Number of sources.
    **options
        Those of `ngmca.separate`. `mask`, and `noise` of every entry, have the shape of ``signal.data``.

    Returns
    -------
    Found
        The sources and the amounts as signals, and the separation.

    Examples
    --------
    >>> import hyperspy.api as hs
    >>> import ngmca
    >>> import ngmca.tools.hyperspy
    >>> Y = ngmca.simulate.spectra(m=6, n=100, r=2, snr=20, seed=0).Y
    >>> found = ngmca.tools.hyperspy.separate(hs.signals.Signal1D(Y.reshape(2, 3, 100)), 2)
    >>> found.sources
    <Signal1D, title: sources, dimensions: (2|100)>
    >>> found.amounts
    <Signal2D, title: amounts, dimensions: (2|3, 2)>
    """
    places, channels = _axes(signal)
    for name in ("mask", "noise"):
        given = options.get(name)
        if given is not None and (name == "mask" or np.ndim(given) == signal.data.ndim > 0):
            options[name] = _matrix(signal, np.asarray(given), name)
    shape = [axis.size for axis in channels]
    if len(shape) == 2:
        options = {"sample_shape": tuple(shape)} | options
    result = separation.separate(_matrix(signal, signal.data, "data"), r, **options).in_memory()
    A, S = result.answer
    sources = _signal(S, channels, signal, "sources")
    return Found(sources, _signal(A.T, places, signal, "amounts"), result)


def _axes(signal: Any) -> tuple[list[Any], list[Any]]:
    """Return the navigation axes and the signal axes in the order of the array."""
    if not hasattr(signal, "axes_manager"):
        raise ArgumentTypeError(
            "{} must be a signal of HyperSpy, got {}.", option("signal"), type(signal).__name__
        )
    manager = signal.axes_manager
    if not manager.signal_axes:
        raise ArgumentError(
            "{} has no signal axis: call signal.as_signal1D(axis) with the axis of the spectra.",
            option("signal"),
        )
    both = (manager.navigation_axes, manager.signal_axes)
    places, channels = (sorted(axes, key=lambda axis: axis.index_in_array) for axes in both)
    return places, channels


def _matrix(signal: Any, values: Any, name: str) -> NDArray:
    """Return an array of the shape of the signal as measurements x channels."""
    if values.shape != signal.data.shape:
        raise ArgumentError(
            "{} has the shape {}, but the signal {}.", option(name), values.shape, signal.data.shape
        )
    places, channels = _axes(signal)
    order = [axis.index_in_array for axis in (*places, *channels)]
    n = int(np.prod([axis.size for axis in channels]))
    return values.transpose(order).reshape(-1, n)


def _signal(values: NDArray, axes: list[Any], like: Any, title: str) -> Any:
    """Return rows of values as a signal with these signal axes; its navigation axis is the source."""
    import hyperspy.api as hs

    number = {"name": "source", "size": len(values), "offset": 1, "navigate": True}
    own = [axis.get_axis_dictionary() | {"navigate": False} for axis in axes]
    shape = (len(values), *(axis.size for axis in axes))
    kinds = {0: hs.signals.BaseSignal, 1: hs.signals.Signal1D, 2: hs.signals.Signal2D}
    kind = kinds.get(len(axes), hs.signals.BaseSignal)
    found = kind(values.reshape(shape), axes=[number, *own], metadata={"General": {"title": title}})
    if title == "sources" and like.metadata.Signal.signal_type:
        found.set_signal_type(like.metadata.Signal.signal_type)
    return found
