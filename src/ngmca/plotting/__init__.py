"""Pictures with matplotlib, drawn from plain arrays."""
