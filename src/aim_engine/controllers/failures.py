"""Errors of the runtime in the words of the core."""

from aim_engine.core.problems import Failure, NetworkFault
from aim_engine.kube.errors import KubeError, Timeout, Unreachable


class PassFailed(KubeError):
    """The pass could not do all it should; the next one follows after a growing pause."""


def failure(error: KubeError) -> Failure:
    """What went wrong, told without the library that noticed."""
    if error.code:
        return Failure(text=error.message, status=error.code, reason=error.reason)
    return Failure(text=error.message, network=fault(error), subject=error.message)


def fault(error: KubeError) -> NetworkFault | None:
    """How the connection failed, if it was the connection."""
    if isinstance(error, Timeout):
        return NetworkFault.TIMED_OUT
    return NetworkFault.OTHER if isinstance(error, Unreachable) else None
