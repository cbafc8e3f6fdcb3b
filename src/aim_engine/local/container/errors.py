"""What can go wrong with containers as processes.

LocalError
├── BookError      an image book can't be used
├── StartError     the container could not be started: its program is missing, a mount is impossible
└── ContainerGone  the container has ended, so nothing can be executed in it
"""

from aim_engine.local.errors import LocalError


class BookError(LocalError):
    """An image book can't be used; the text names the file, the entry and the field."""


class StartError(LocalError):
    """A container could not be started; Kubernetes shows it as terminated with reason StartError and code 128."""


class ContainerGone(LocalError):
    """The container has ended."""
