"""Why one way to get a program does not work here."""

from aim_engine.local.errors import LocalError


class Unavailable(LocalError):
    """This way does not work on this machine; the text says what it lacks, to stand inside a sentence."""
