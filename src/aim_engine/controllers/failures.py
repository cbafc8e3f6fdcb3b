"""Errors of the runtime in the words of the core."""

import re

from aim_engine.kube.errors import KubeError

OWN_PORT = re.compile(r"(?<=:)[0-9]{1,5}(?=->)")
"""The port a connection happened to be made from, as in `read tcp 10.0.0.1:40312->10.0.0.2:443`."""


class PassFailed(KubeError):
    """The pass could not do all it should; the next one follows after a growing pause."""


def told(error: KubeError) -> str:
    """The error as part of a condition's message, the same whenever the same thing fails.

    A message that is another one in every try would be written, and wake the object, in every try.
    """
    return OWN_PORT.sub("*", error.message)
