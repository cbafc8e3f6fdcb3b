"""The operator with a tenth of all its durations: `python -m tests.fast_operator --kubeconfig F …`."""

import os
import sys

from aim_engine import settings
from aim_engine.cli import operator
from aim_engine.controllers import pipeline
from aim_engine.kube.timings import Timings


def main() -> None:
    told = settings.read(sys.argv[1:], os.environ, f"test-{os.getpid()}")
    operator.run(told, Timings().scaled(0.1), pipeline.Timings().scaled(0.1))


if __name__ == "__main__":
    main()
