"""A technique: some neighbouring channels of data that several techniques share."""

from dataclasses import dataclass

from ngmca.io.axis_units import NO_AXIS

MAX_TECHNIQUES = 9


@dataclass(frozen=True)
class Technique:
    """One of several techniques, such as infrared and Raman, that measured the same samples.

    The channels of all techniques follow each other in the joined data. Each technique is divided by
    the level of its noise there.

    Attributes
    ----------
    name : str
        Its name, from the file or the mapping that it came from.
    first, end : int
        Its channels in the joined data: from the first one to the one before the end.
    unit : float
        Value of its data that is 1 in the joined data: the level of its noise.
    axis_name, axis_unit : str
        Name and unit of its axis.
    """

    name: str
    first: int
    end: int
    unit: float = 1.0
    axis_name: str = NO_AXIS
    axis_unit: str = ""

    @property
    def channels(self) -> slice:
        """Its channels in the joined data."""
        return slice(self.first, self.end)


def borders(techniques: tuple[Technique, ...]) -> tuple[int, ...]:
    """Return the first channels of the second and later techniques, where an axis begins anew."""
    return tuple(one.first for one in techniques[1:])
