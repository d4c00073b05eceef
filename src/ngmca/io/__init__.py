"""Read spectra from files: `read(path)` returns measurements x channels with their axis."""

from ngmca.io.conversion import as_dataset
from ngmca.io.csv_writing import write_table
from ngmca.io.dataset import Dataset
from ngmca.io.read_error import ReadError
from ngmca.io.reading import fingerprint, read

__all__ = ["Dataset", "ReadError", "as_dataset", "fingerprint", "read", "write_table"]
