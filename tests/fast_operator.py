"""The operator with a tenth of its durations: `python -m tests.fast_operator --kubeconfig F …`.

Finished Jobs stay even shorter, because tests wait for the next attempt. The variable AIM_TESTS_PACE names another
share of the other durations.
"""

import dataclasses
import os
import sys
from datetime import timedelta

import msgspec
from tests.durations import shortened

from aim_engine import settings
from aim_engine.cli import operator
from aim_engine.controllers import pipeline
from aim_engine.core import discovery, downloads
from aim_engine.registry.limits import Limits

WEIGHTS = dataclasses.replace(downloads.Timings() * 0.01, again=timedelta(seconds=1))
REGISTRIES = Limits(
    request=20.0, connect=15.0, retry_pauses=(0.1, 0.3), answer_lifetime=6.0, failure_lifetime=0.5, rate_limit_pause=6.0
)
SEEN = timedelta(seconds=12)
"""What tests have to see lasts so long."""
TEMPLATES = msgspec.structs.replace(discovery.Timings() * 0.04, first_pause=SEEN, patience=SEEN, kept_for=SEEN)


def main() -> None:
    told = settings.read(sys.argv[1:], os.environ, f"test-{os.getpid()}")
    pace = float(os.environ.get("AIM_TESTS_PACE", "0.1"))
    passes = dataclasses.replace(pipeline.Timings().scaled(pace), weights=WEIGHTS, templates=TEMPLATES)
    operator.run(told, shortened(pace), passes, REGISTRIES)


if __name__ == "__main__":
    main()
