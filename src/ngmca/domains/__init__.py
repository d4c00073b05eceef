"""Wavelet frames, the sub-problem with a penalty on wavelet coefficients, and backgrounds."""

from ngmca.domains import analysis, backgrounds
from ngmca.domains.frame import Frame, analyse, frame, noise_under, synthesise

__all__ = [
    "Frame",
    "analyse",
    "analysis",
    "backgrounds",
    "frame",
    "frame_of",
    "noise_under",
    "synthesise",
]


def frame_of(n: int, shape: tuple[int, int] | None = None, borders: tuple[int, ...] = ()) -> Frame:
    """Return the frame for sources of n channels in blocks, or for images of this shape."""
    if shape is None:
        return frame(n, "sym4", 5, None, borders)
    # a third level needs half as much memory again, and improves nothing
    return frame(n, "cubic", 2, (int(shape[0]), int(shape[1])))
