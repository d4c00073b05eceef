"""The accessor `ngmca` of xarray: ``import ngmca.tools.xarray``, then ``array.ngmca.separate(3)``."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ngmca import separation
from ngmca._support.extras import load_extra
from ngmca._support.messages import ArgumentError, option
from ngmca.io.containers.netcdf_and_xarray import spectral_dimension

if TYPE_CHECKING:
    import xarray as xr
else:
    xr = load_extra("xarray", "ngmca.tools.xarray")


@xr.register_dataarray_accessor("ngmca")
class Separating:
    """Separates spectra along one dimension of a DataArray, whatever the order of its dimensions.

    Examples
    --------
    >>> import ngmca
    >>> import ngmca.tools.xarray
    >>> Y = ngmca.simulate.spectra(m=6, n=100, r=2, snr=20, seed=0).Y
    >>> cube = xr.DataArray(Y.T.reshape(100, 2, 3), dims=("energy", "y", "x"))
    >>> found = cube.ngmca.separate(2)
    >>> found.A.dims, found.S.dims
    (('y', 'x', 'source'), ('source', 'energy'))
    """

    def __init__(self, array: xr.DataArray) -> None:
        self._array = array

    def separate(self, r: int, *, channels: str | None = None, **options: Any) -> xr.Dataset:
        """Return sources S, mixing A, shares and noise, with the coordinates of the array.

        Parameters
        ----------
        r : int
            Number of sources.
        channels : str, optional
            The dimension of the spectra. By default coordinates, units and names of dimensions decide.
        **options
            Those of `ngmca.separate`. `mask` and `noise` may be DataArrays; their dimensions are
            brought to the order of this one.

        Returns
        -------
        xarray.Dataset
            What `Separation.to_xarray` returns for this array.
        """
        last = spectral_dimension(self._array)[0] if channels is None else channels
        if last not in self._array.dims:
            raise ArgumentError(
                "{} is not a dimension of the array, which has {}.",
                *(option("channels", channels), ", ".join(map(str, self._array.dims))),
            )
        others = [dim for dim in self._array.dims if dim != last]
        ordered = self._array.transpose(*others, last)
        # in rows, so that nothing has to be decided again
        flat = np.asarray(ordered.values).reshape(-1, ordered.sizes[last])
        for name in ("mask", "noise"):
            if isinstance(options.get(name), xr.DataArray):
                options[name] = _flat(options[name], self._array, others, last, name)
        return separation.separate(flat, r, **options).to_xarray(ordered)


def _flat(given: xr.DataArray, array: xr.DataArray, others: list[Any], last: Any, name: str) -> Any:
    """Return an array of measurements x channels from one with dimensions of the data."""
    if not set(given.dims) <= set(array.dims):
        raise ArgumentError(
            "{} has the dimensions {}, but the array {}.",
            *(option(name), ", ".join(map(str, given.dims)), ", ".join(map(str, array.dims))),
        )
    full = given.broadcast_like(array).transpose(*others, last)
    return np.asarray(full.values).reshape(-1, full.sizes[last])
