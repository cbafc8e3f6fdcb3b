"""The one tree of errors that talking to an API server raises.

KubeError
"""


class KubeError(Exception):
    """Something between us and the API server went wrong; the text is one sentence for people."""
