"""The chart, rendered by the real Helm."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts.install_manifest import KUBERNETES
from tests.conftest import run

from aim_engine.local import binaries

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "aim-engine"


@dataclass(frozen=True)
class Helm:
    """Helm and the chart of this project."""

    program: Path

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Helm; whether it succeeded is for the caller to judge."""
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, check=False)

    def render(self, *settings: str, namespace: str = "aim-system") -> list[dict[str, Any]]:
        """The objects of an installation with these settings, such as `metrics.port=9443`."""
        rendered = self.template(settings, namespace)
        assert rendered.returncode == 0, rendered.stderr
        return [document for document in yaml.load_all(rendered.stdout, yaml.CSafeLoader) if document]

    def refusal(self, *settings: str) -> str:
        """Why Helm does not render the chart with these settings."""
        refused = self.template(settings)
        assert refused.returncode != 0, f"{settings} is taken"
        return refused.stderr

    def template(self, settings: Sequence[str], namespace: str = "aim-system") -> subprocess.CompletedProcess[str]:
        options = [option for setting in settings for option in ("--set-json", setting)]
        return self.call(
            *("template", "aim-engine", str(CHART), "--namespace", namespace, "--kube-version", KUBERNETES), *options
        )


@pytest.fixture(scope="session")
def helm() -> Helm:
    return Helm(run(binaries.find("helm")))


def only(objects: Sequence[dict[str, Any]], kind: str, name: str = "") -> dict[str, Any]:
    """The one object of a kind, or of a kind and name."""
    found = [one for one in objects if one["kind"] == kind and name in ("", one["metadata"]["name"])]
    assert len(found) == 1, [(one["kind"], one["metadata"]["name"]) for one in found]
    return found[0]
