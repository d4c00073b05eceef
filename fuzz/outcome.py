"""The possible outcomes of a case."""

ERROR = "error"  # an error that says what is wrong
ISOLATED = "isolated"  # the same, after a reader crashed, hung or used too much memory
ACCEPTED = "accepted"
OUTCOMES = (ERROR, ISOLATED, ACCEPTED)
MESSAGES_OF_ISOLATED = ("its reader crashed", "its reader took longer", "needs more memory")
MAX_MESSAGE_LENGTH = 1100


class Failure(Exception):  # noqa: N818
    """A wrong outcome."""


def read_error(text, name):
    """Return the outcome for the text of a `ReadError`, which must be one line that names the file."""
    expect(len(text.splitlines()) == 1, f"the message has several lines: {text[:300]!r}")
    expect(len(text) <= MAX_MESSAGE_LENGTH, f"the message has {len(text)} characters")
    expect(name in text, f"the message does not name the file: {text[:300]!r}")
    return ISOLATED if any(words in text for words in MESSAGES_OF_ISOLATED) else ERROR


def expect(condition, text):
    """Raise a failure unless the condition holds."""
    if not condition:
        raise Failure(text)
