"""What holds for every test."""

import signal

# A shell starts background jobs with Ctrl-C ignored, and what tests start would inherit it:
# tests of interruption would then wait for an end that never comes.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    config.addinivalue_line("markers", "draws: the report of every run in the test is drawn")


def pytest_collection_modifyitems(items):
    """The longest file first: begun last, it would keep one of the workers waiting."""
    items.sort(key=lambda item: "test_crashes" not in item.nodeid)
