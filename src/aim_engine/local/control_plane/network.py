"""A part of the loopback network for one cluster alone, as long as a process of it lives."""

import errno
import ipaddress
import socket
import zlib

from aim_engine.local.errors import LocalError

FIRST, LAST = 16, 254


class Network:
    """A /16 of 127.0.0.0/8 that no other local cluster uses.

    The claim is an abstract Unix socket: the kernel scopes it to the network namespace, as it does the loopback
    addresses themselves, and drops it with the process.
    """

    def __init__(self, name: str) -> None:
        """Claim one. The same `name` gets the same one again unless it is taken, so that copied kubeconfigs last."""
        count = LAST - FIRST + 1
        for offset in range(count):
            number = FIRST + (zlib.crc32(name.encode()) + offset) % count
            claim = _claim(number)
            if claim:
                self._claim, self.block = claim, ipaddress.IPv4Network(f"127.{number}.0.0/16")
                return
        raise LocalError(f"All networks from 127.{FIRST}.0.0/16 to 127.{LAST}.0.0/16 are in use; stop a local cluster.")

    @property
    def address(self) -> str:
        """Where the control plane listens."""
        return str(self.block[1])

    def close(self) -> None:
        self._claim.close()

    def free_port(self, wanted: int, *, exact: bool = False) -> int:
        """A port at `address` that is free: `wanted`, or the next ones unless it has to be exactly that."""
        for port in range(wanted, wanted + 1 if exact else 65536):
            if is_free(self.address, port):
                return port
        raise LocalError(f"Port {wanted} is in use on {self.address}; name another one, or none.")


def is_free(address: str, port: int) -> bool:
    """Whether this process may listen at a port, and nobody else does."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as failure:
            if failure.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise
            return False
    return True


def _claim(number: int) -> socket.socket | None:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0aim-engine/127.{number}.0.0/16")
    except OSError:
        claim.close()
        return None
    return claim
