"""The one tree of errors that reading registries raises; each text is one sentence for people, without credentials.

RegistryError
├── InvalidReference       the image cannot be read as a name
├── InvalidSetting         AIM_REGISTRY_MIRRORS or AIM_REGISTRY_CA_FILE is wrong
├── InvalidCredentials     a pull secret or docker config is not what it should be
├── AccessRefused
│   ├── Unauthorized       401: no credentials, or wrong ones
│   ├── Forbidden          403: known, but not allowed
│   └── MissingCredentials the listing cannot even be asked for without a token
├── NotFound               404
├── RateLimited            429: `retry_after` says for how many seconds
├── Unreachable            another network failure
│   ├── NameNotResolved
│   ├── ConnectionRefused
│   ├── ConnectionLost     reset, or ended in the middle of an answer
│   └── TimedOut
├── InsecureConnection     TLS: the peer does not speak it
│   └── CertificateRefused the certificate is not trusted
├── ServerFailed           any other status
└── MalformedAnswer        the answer makes no sense: JSON, digest, size, kind of manifest
"""


class RegistryError(Exception):
    """Reading a registry failed; `registry` is its name as users write it, `host` the one that was asked."""

    def __init__(self, sentence: str, *, registry: str = "", host: str = "") -> None:
        super().__init__(sentence)
        self.registry = registry
        self.host = host

    def again(self) -> "RegistryError":
        """The same error without the traceback of this one, to raise for the next who asks."""
        return type(self)(str(self), registry=self.registry, host=self.host)


class InvalidReference(RegistryError):
    pass


class InvalidSetting(RegistryError):
    pass


class InvalidCredentials(RegistryError):
    pass


class AccessRefused(RegistryError):
    """The registry does not let this asker read."""


class Unauthorized(AccessRefused):
    pass


class Forbidden(AccessRefused):
    pass


class MissingCredentials(AccessRefused):
    pass


class NotFound(RegistryError):
    pass


class RateLimited(RegistryError):
    """Too many requests; ask again after `retry_after` seconds."""

    def __init__(self, sentence: str, *, registry: str = "", host: str = "", retry_after: float = 0.0) -> None:
        super().__init__(sentence, registry=registry, host=host)
        self.retry_after = retry_after

    def again(self) -> "RateLimited":
        return type(self)(str(self), registry=self.registry, host=self.host, retry_after=self.retry_after)


class Unreachable(RegistryError):
    pass


class NameNotResolved(Unreachable):
    pass


class ConnectionRefused(Unreachable):
    pass


class ConnectionLost(Unreachable):
    pass


class TimedOut(Unreachable):
    pass


class InsecureConnection(RegistryError):
    pass


class CertificateRefused(InsecureConnection):
    pass


class ServerFailed(RegistryError):
    """The registry answered with a status that nothing else names."""

    def __init__(self, sentence: str, *, registry: str = "", host: str = "", status: int = 0) -> None:
        super().__init__(sentence, registry=registry, host=host)
        self.status = status

    def again(self) -> "ServerFailed":
        return type(self)(str(self), registry=self.registry, host=self.host, status=self.status)


class MalformedAnswer(RegistryError):
    pass
