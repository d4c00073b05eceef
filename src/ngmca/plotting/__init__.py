"""Pictures with matplotlib: sources, criteria for their number, matches, and calibration lines."""
