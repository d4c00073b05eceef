"""What a case may end with."""

REFUSED = "refused"  # with an error that says what is wrong
GUARDED = "guarded"  # likewise, but a reader crashed, hung or ate memory in its own process first
ACCEPTED = "accepted"
OUTCOMES = (REFUSED, GUARDED, ACCEPTED)
OWN_FAULT = ("its reader crashed", "its reader took longer", "needs more memory")
LONGEST = 1100  # characters of a message


class Finding(Exception):  # noqa: N818
    """What should not have been."""


def refusal(text, name):
    """The outcome for the text of a `ReadError`, which is one line that names the file."""
    expect(len(text.splitlines()) == 1, f"the message has several lines: {text[:300]!r}")
    expect(len(text) <= LONGEST, f"the message has {len(text)} characters")
    expect(name in text, f"the message does not name the file: {text[:300]!r}")
    return GUARDED if any(words in text for words in OWN_FAULT) else REFUSED


def expect(condition, text):
    """Raise a finding unless the condition holds."""
    if not condition:
        raise Finding(text)
