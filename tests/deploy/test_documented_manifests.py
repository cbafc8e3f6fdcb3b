"""Every manifest in the documentation is one that the API server takes, and every set of values one the chart takes."""

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.api_server import ApiServer
from tests.deploy.conftest import CHART, ROOT, Helm
from tests.deploy.test_on_a_cluster import APPLY, STRICT, address

PAGES = sorted([ROOT / "README.md", CHART / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^( *)```yaml\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
HERE = re.compile(r"<<'?END'?\n(.*?)^END", re.DOTALL | re.MULTILINE)


def documents(page: Path) -> list[Any]:
    """What the YAML of a page says, that inside of commands included."""
    content = page.read_text()
    blocks = [textwrap.dedent(body) for _, body in BLOCK.findall(content)] + HERE.findall(content)
    return [document for block in blocks for document in yaml.safe_load_all(block) if document]


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


MANIFESTS = [
    pytest.param(one, id=f"{named(page)}: {one['kind']} {one['metadata']['name']}")
    for page in PAGES
    for one in documents(page)
    if "apiVersion" in one
]
VALUES = [
    pytest.param(one, id=f"{named(page)}: {', '.join(one)}")
    for page in PAGES
    for one in documents(page)
    if "apiVersion" not in one and set(one) <= set(yaml.safe_load((CHART / "values.yaml").read_text()))
]


@pytest.mark.parametrize("manifest", MANIFESTS)
def test_the_api_server_takes_every_manifest(api_server: ApiServer, namespace: str, manifest: dict[str, Any]) -> None:
    placed = {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
    path = address(api_server, placed)
    if "/namespaces/" not in path:
        del placed["metadata"]["namespace"]
    status, answer = api_server.request("PATCH", f"{path}?{STRICT}", placed, content_type=APPLY)
    assert status in (200, 201), answer["message"]


@pytest.mark.parametrize("values", VALUES)
def test_the_chart_takes_every_set_of_values(helm: Helm, tmp_path: Path, values: dict[str, Any]) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    rendered = helm.call("template", str(CHART), "--kube-version", "1.28", "--values", str(file))
    assert rendered.returncode == 0, rendered.stderr


def test_nothing_else_is_shown_as_yaml() -> None:
    known = {parameter.id for parameter in (*MANIFESTS, *VALUES)}
    assert len(known) > 20
    for page in PAGES:
        for document in documents(page):
            is_image_book = list(document) == ["images"]
            is_known = "apiVersion" in document or f"{named(page)}: {', '.join(document)}" in known
            assert is_known or is_image_book, (page, document)
