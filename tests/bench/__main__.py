"""Measures speed and memory: `python -m tests.bench [names]`, all benchmarks if none is named."""

import importlib
import sys

BENCHMARKS = {
    "decoding": "the views that the stores keep, against plain dicts",
}
"""Name of a benchmark -> what it measures. The module `tests.bench.<name>` has a function `run` that prints a table."""


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"no benchmark is called {', '.join(unknown)}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        print(f"== {name}: {BENCHMARKS[name]}", flush=True)
        importlib.import_module(f"tests.bench.{name}").run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
