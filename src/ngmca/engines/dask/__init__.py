"""Data on a Dask cluster, or in any Dask array."""
