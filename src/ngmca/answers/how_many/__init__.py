"""How many sources there are: three criteria, and one sentence about them."""
