"""How many sources are in the data: three criteria, and one sentence of advice."""
