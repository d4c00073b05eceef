"""What holds for every test."""

import signal

# A shell starts background jobs with Ctrl-C ignored, and what tests start would inherit it:
# tests of interruption would then wait for an end that never comes.
signal.signal(signal.SIGINT, signal.default_int_handler)
