"""The one tree of errors that talking to an API server raises.

KubeError                    one sentence for people; code, reason, retry_after where the server gave them
├── Misconfigured            kubeconfig, in-cluster files or credential plugin are unusable
├── Unreachable              no answer: refused, reset, name not found, TLS failed
│   └── Timeout              no answer in time (ours, or 504); the call may have been carried out
├── Unparsable               an answer came, but not one this program can read
├── Fenced                   a write was held back: this process no longer holds its lease
└── Refused                  the server answered with an error status
    ├── BadRequest           400
    ├── Unauthorized         401
    ├── Forbidden            403
    ├── NotFound             404
    ├── Conflict             409: another writer was faster, or owns a field
    │   └── AlreadyExists    409 on create
    ├── Gone                 410: the resource version is too old, list again
    ├── Invalid              422: the schema or a rule says no
    ├── TooManyRequests      429
    └── ServerError          5xx
"""

from typing import Any

from aim_engine.objects import Wire


class KubeError(Exception):
    """Something between us and the API server went wrong; the text is one sentence for people."""

    def __init__(self, message: str, *, code: int = 0, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        """The HTTP status, 0 if there was no answer."""
        self.reason = reason
        """The server's word for it, such as `Invalid` or `FieldManagerConflict`; empty if it said none."""
        self.retry_after = retry_after
        """Seconds the server asked us to wait."""


class Misconfigured(KubeError):
    """The way to the API server can't be read from kubeconfig, the pod's files or a credential plugin."""


class Unreachable(KubeError):
    """No answer came; whether the call was carried out is unknown unless the connection was never made."""


class Timeout(Unreachable):
    """No answer came in time; the call may have been carried out."""


class Unparsable(KubeError):
    """The answer has content that the asked type can't hold."""


class Fenced(KubeError):
    """A write was held back because this process no longer holds its lease."""


class Refused(KubeError):
    """The server answered with an error status."""


class BadRequest(Refused):
    """400."""


class Unauthorized(Refused):
    """401: the credentials are missing, wrong or expired."""


class Forbidden(Refused):
    """403: the credentials are good, the rights are not."""


class NotFound(Refused):
    """404: no such object, or no such kind."""


class Conflict(Refused):
    """409: another writer was faster, or another manager owns a field."""


class AlreadyExists(Conflict):
    """409 on create: the name is taken."""


class Gone(Refused):
    """410: the resource version is no longer kept; list again."""


class Invalid(Refused):
    """422: the schema or a validation rule refuses the object."""


class TooManyRequests(Refused):
    """429: the server asks for patience."""


class ServerError(Refused):
    """5xx: the server or something behind it failed."""


BY_CODE: dict[int, type[KubeError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
    504: Timeout,
}


class StatusDetails(Wire):
    """What a `Status` adds to its message."""

    retry_after_seconds: int = 0


class Status(Wire):
    """The body of an error answer, and of an ERROR event in a watch."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: StatusDetails | None = None


def from_status(status: Status, doing: str, *, retry_after: float | None = None) -> KubeError:
    """The error for a `Status`; `doing` says what was tried, as in "get pods team/web"."""
    kind = BY_CODE.get(status.code, ServerError if status.code >= 500 else Refused)
    if kind is Conflict and status.reason == "AlreadyExists":
        kind = AlreadyExists
    if retry_after is None and status.details and status.details.retry_after_seconds:
        retry_after = float(status.details.retry_after_seconds)
    said = status.message or status.reason or f"HTTP status {status.code}"
    options: dict[str, Any] = {"code": status.code, "reason": status.reason, "retry_after": retry_after}
    return kind(f"can't {doing}: {said}", **options)
