"""What can go wrong with a download: one tree, one exit code per kind, one line that tells what to do.

Failure                1   anything without a kind of its own
├── UsageError         1   the program was called wrongly
├── DiskFull           1   the volume is too small, found before or while writing
├── NotFound          12   no such repository, bucket or prefix
├── ChecksumMismatch  65   what lies on the volume is not what the source has
├── NetworkFailure    69   the source can't be reached, or keeps breaking off
├── RateLimited       75   the source asks to come back later than we can wait
├── Gated             76   the repository's owner has to grant access first
├── Unauthorized      77   the credentials are wrong or missing
├── OutOfMemory      137   the process was killed for its memory
├── Stalled          137   no byte arrived for STALL_TIMEOUT seconds
└── Interrupted      143   SIGTERM

The operator reads the lines, not the codes; the words that its log inspection looks for (`Repository Not Found`,
`Cannot access gated repo`, `S3 error: 404`, `no space left on device`) therefore stay as they are.
"""


class Failure(Exception):
    """A download that did not succeed; the text is one line for people and for the operator."""

    code = 1


class UsageError(Failure):
    """The program was called with the wrong words."""


class DiskFull(Failure):
    """The volume has too little space."""


class NotFound(Failure):
    """The source does not exist, or not for these credentials."""

    code = 12


class ChecksumMismatch(Failure):
    """A file differs from the source's checksum or size."""

    code = 65


class NetworkFailure(Failure):
    """The source can't be reached or breaks off again and again."""

    code = 69


class RateLimited(Failure):
    """The source wants fewer requests."""

    code = 75

    def __init__(self, text: str, seconds: float | None = None) -> None:
        super().__init__(text)
        self.seconds = seconds
        """How long the source asks to wait, if it says so."""


class Gated(Failure):
    """The repository is gated and these credentials have no access yet."""

    code = 76


class Unauthorized(Failure):
    """The source refuses the credentials."""

    code = 77


class OutOfMemory(Failure):
    """The download process was killed for its memory."""

    code = 137


class Stalled(Failure):
    """No byte arrived for too long."""

    code = 137


class Interrupted(Failure):
    """The program was asked to stop; what was fetched stays."""

    code = 143


BY_CODE = {kind.code: kind for kind in (NotFound, ChecksumMismatch, NetworkFailure, RateLimited, Gated, Unauthorized)}
"""Which kind the exit code of a child process stands for."""
