"""Where sources are sparse: frames, and the sub-problems whose penalty lives there; backgrounds."""

from ngmca.domains import analysis, backgrounds
from ngmca.domains.frame import Frame, analyse, frame, synthesise

__all__ = [
    "Frame",
    "analyse",
    "analysis",
    "backgrounds",
    "frame",
    "frame_of",
    "synthesise",
]

LEVELS = 5
IMAGE_WAVELET, IMAGE_LEVELS = "cubic", 2  # a third level has half as much again, and gains nothing


def frame_of(n: int, shape: tuple[int, int] | None = None) -> Frame:
    """The frame for sources of n channels, or for those that are images of a shape."""
    if shape is None:
        return frame(n, "sym4", LEVELS)
    return frame(n, IMAGE_WAVELET, IMAGE_LEVELS, (int(shape[0]), int(shape[1])))
