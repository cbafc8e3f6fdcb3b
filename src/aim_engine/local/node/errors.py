"""What a node reports of a pod it cannot run yet.

LocalError
└── PodError            nothing runs until what it names is there; the text is what a kubelet would say
    ├── ConfigurationError   a container cannot be created: CreateContainerConfigError
    └── MountError           a volume cannot be made: FailedMount
"""

from aim_engine.local.errors import LocalError


class PodError(LocalError):
    """Something a pod needs is not there or not right."""


class ConfigurationError(PodError):
    """A container's settings name something that is not there or is not offered."""


class MountError(PodError):
    """A volume cannot be made ready."""
