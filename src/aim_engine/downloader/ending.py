"""How every process of the downloader ends: an exit code, and after a failure one line that holds no credential."""

from collections.abc import Callable

from aim_engine.downloader import speech
from aim_engine.downloader.failures import Failure


def of(work: Callable[[], None]) -> int:
    """Do the work and return the exit code; what goes wrong is one line on standard error, whatever it is."""
    try:
        work()
    except Failure as failure:
        if str(failure):
            speech.warn(str(failure))
        return failure.code
    except MemoryError:
        speech.warn("Out of memory: the download needs more than the container's memory limit")
        return Failure.code
    except OSError as error:  # without its name: the operator takes FileNotFoundError for a source that is missing
        speech.warn(f"Error: {speech.one_line(error)}")
        return Failure.code
    except Exception as error:  # what nobody foresaw still must not print a credential
        speech.warn(f"Error: {type(error).__name__}: {speech.one_line(error)}")
        return Failure.code
    return 0
