"""Kubeconfig files."""

import base64
from pathlib import Path

import yaml

from aim_engine.local.private_files import write_private


def write(file: Path, *, server: str, keys: Path, client: str) -> None:
    """Write a kubeconfig for `server` with which the caller is `client`, whose certificate and key lie in `keys`."""
    name = "aim-engine-local"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": server, "certificate-authority-data": _data(keys / "ca.crt")}}
        ],
        "users": [
            {
                "name": client,
                "user": {
                    "client-certificate-data": _data(keys / f"{client}.crt"),
                    "client-key-data": _data(keys / f"{client}.key"),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": client}}],
        "current-context": name,
    }
    write_private(file, yaml.safe_dump(content, sort_keys=False).encode())


def _data(file: Path) -> str:
    return base64.b64encode(file.read_bytes()).decode()
