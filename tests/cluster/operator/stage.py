"""Operator processes that tests start, watch, freeze and kill."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.api_server import ApiServer
from tests.cluster.conftest import answers, free_port
from tests.companion import die_with_parent

DEADLINE = 180.0
GROUP = "/apis/aim.eai.amd.com/v1alpha1"
FAST = (sys.executable, "-m", "tests.fast_operator")
"""The operator with shorter durations than users get, but long enough for a machine that is busy."""
PACE = "0.3"
REAL = (str(Path(sys.executable).with_name("aim")), "operator")


class Operator:
    """One operator process; use it as a context manager, which ends it if nobody did before."""

    def __init__(
        self, kubeconfig: Path, directory: Path, *flags: str, command: tuple[str, ...] = FAST, **variables: str
    ) -> None:
        self.port = free_port()
        self.log = directory / f"operator-{uuid.uuid4().hex[:6]}.log"
        bind = f"--health-probe-bind-address=127.0.0.1:{self.port}"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, f"--kubeconfig={kubeconfig}", bind, *flags],
                stdout=output,
                stderr=output,
                env={**os.environ, "AIM_TESTS_PACE": PACE, **variables},
                preexec_fn=die_with_parent,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    @property
    def ready(self) -> bool:
        return answers(f"http://127.0.0.1:{self.port}/readyz")

    def wait_ready(self) -> Self:
        until(lambda: self.ready or self.process.poll() is not None, "the operator is ready")
        assert self.process.poll() is None, self.log.read_text()[-2000:]
        return self

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, seconds: float = DEADLINE) -> int:
        """Wait for the end of the process; return its exit code."""
        return self.process.wait(seconds)

    def lines(self, **fields: Any) -> list[dict[str, Any]]:
        """The lines of the log so far that have these fields."""
        whole = self.log.read_text().rpartition("\n")[0].splitlines()
        lines = [json.loads(line) for line in whole if line.startswith("{")]
        return [line for line in lines if all(line.get(name) == value for name, value in fields.items())]

    def wait_line(self, **fields: Any) -> dict[str, Any]:
        until(lambda: bool(self.lines(**fields)), f"the log has a line with {fields}")
        return self.lines(**fields)[0]


def until(is_so: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
    """Wait until something is so, and fail if it does not become so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"not so after {seconds:.0f} s: {what}"
        time.sleep(0.05)


def remains(is_so: Callable[[], bool], what: str, seconds: float) -> None:
    """Watch something stay so for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert is_so(), f"no longer so: {what}"
        time.sleep(0.1)


def condition(item: Any, kind: str) -> dict[str, Any]:
    conditions = item.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def config(name: str) -> dict[str, Any]:
    return aim("AIMRuntimeConfig", name, {"env": [{"name": "A", "value": "1"}]})


def artifact(name: str, **spec: Any) -> dict[str, Any]:
    return aim("AIMArtifact", name, {"sourceUri": f"hf://acme/{name}", "size": "1Gi", **spec})


def aim(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "aim.eai.amd.com/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def plural(namespace: str, kind: str) -> str:
    """The address of the objects of one of our kinds in a namespace."""
    return f"{GROUP}/namespaces/{namespace}/{kind.lower()}s"


def create(api_server: ApiServer, namespace: str, *items: dict[str, Any]) -> None:
    for item in items:
        api_server.call("POST", plural(namespace, item["kind"]), item)


def is_seen(item: Any) -> bool:
    """Whether the operator has said something of an object as it is now."""
    return item.get("status", {}).get("observedGeneration") == item["metadata"]["generation"]
