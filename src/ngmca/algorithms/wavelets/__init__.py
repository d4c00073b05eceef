"""Sources in wavelets: when they are used, and the iterations."""
