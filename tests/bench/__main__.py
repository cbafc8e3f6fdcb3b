"""Measures speed and memory: `python -m tests.bench [names]`, all benchmarks if none is named."""

import importlib
import sys

BENCHMARKS = {
    "decoding": "the views that the stores keep, against plain dicts",
    "queue": "the queue of a controller with 10,000 keys",
    "informer": "an informer with 10,000 objects on a real API server",
    "downloads": "2 GiB in 8 files and 2,000 small files, against huggingface_hub and against plain copying",
    "catalogue": "models and templates from creation to Ready, with a real registry, against a bare loop",
    "toy": "a controller with two children per object on a real API server, against a bare loop with the same writes",
    "services": "300 and 1,000 services at once through the operator, against a bare loop with the same writes",
    "artifacts": "300 downloads at once through the operator on a real API server",
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
