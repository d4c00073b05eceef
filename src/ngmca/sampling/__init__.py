"""Error bars: sampling around a separation."""

from ngmca.sampling.held_entries import check_known
from ngmca.sampling.sampler import posterior

__all__ = ["check_known", "posterior"]
