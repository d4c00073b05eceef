"""How much of each substance is in every measurement."""
