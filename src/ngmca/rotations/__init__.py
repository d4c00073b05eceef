"""Which other factors fit the data as well, and how far sources can be exchanged."""

from ngmca.rotations.rotational_ambiguity import ambiguity

__all__ = ["ambiguity"]
