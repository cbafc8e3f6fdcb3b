"""Renders deploy/install.yaml from the chart: `python -m scripts.install_manifest`, which is `make manifests`."""

import asyncio
import subprocess
from pathlib import Path

from aim_engine.local import binaries

DEPLOY = Path(__file__).parents[1] / "deploy"
FILE = DEPLOY / "install.yaml"
NAMESPACE = "aim-system"
KUBERNETES = "1.28"
"""The oldest that the chart is made for; a Helm that was built without its release scripts takes a still older one."""
HEAD = f"""\
# All that AIM Engine needs on a cluster: kubectl apply --server-side -f install.yaml
# Rendered from deploy/helm/aim-engine with deploy/install-values.yaml by `make manifests`; change those, not this file.
---
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    app.kubernetes.io/name: aim-engine
"""


def render(helm: Path) -> str:
    """The whole installation as one text, by this Helm."""
    values, chart = DEPLOY / "install-values.yaml", DEPLOY / "helm" / "aim-engine"
    command = [helm, "template", "aim-engine", chart, "--namespace", NAMESPACE, "--values", values]
    command += ["--kube-version", KUBERNETES]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return HEAD + "".join(f"{line}\n" for line in rendered.splitlines() if not line.startswith("# Source:"))


if __name__ == "__main__":
    FILE.write_text(render(asyncio.run(binaries.find("helm"))), encoding="utf-8")
