"""ngmca inside the programs of others: one module for each, which imports its program."""
