"""How many sources are in the data: a number, a range, and the reasons."""
