"""Which substance is each source: the sources are compared with a reference library."""
