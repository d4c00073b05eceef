"""Error bars: sampling around a separation."""

from ngmca.sampling.sampler import posterior

__all__ = ["posterior"]
