"""Files that hold named arrays: NumPy, MATLAB, HDF5, Zarr and NetCDF."""
