"""Error bars: sampling around a separation."""

from ngmca.sampling.run import posterior

__all__ = ["posterior"]
