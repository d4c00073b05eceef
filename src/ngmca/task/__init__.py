"""What to do, as frozen records that are checked once, and the driver that runs them."""
