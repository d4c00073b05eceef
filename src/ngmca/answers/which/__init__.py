"""Which substance each source is: found spectra compared with a reference library."""
