"""What can go wrong with a cluster on one machine."""


class LocalError(Exception):
    """An expected failure of a local part; the text is one sentence for people, with what to do."""
