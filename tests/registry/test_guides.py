"""The guides on registries: what they tell users to write is taken, and what they promise of it holds."""

import re
from pathlib import Path

import pytest

from aim_engine.registry import endpoint, mirrors, reference

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
FILES = ("private-registries.md", "air-gapped.md")
AIR_GAPPED = (GUIDES / "air-gapped.md").read_text()


def test_the_mirrors_of_the_guide_lead_where_its_table_says() -> None:
    (text,) = re.findall(r"^AIM_REGISTRY_MIRRORS=(.*)$", AIR_GAPPED, re.MULTILINE)
    (same,) = re.findall(r"name: AIM_REGISTRY_MIRRORS\n\s+value: (.*)$", AIR_GAPPED, re.MULTILINE)
    rows = re.findall(r"^\| `([^`]+)`[^|]*\| `(https?://[^`]+/v2/[^`]+)` \|$", AIR_GAPPED, re.MULTILINE)
    assert text == same
    assert len(rows) == 2
    for written, address in rows:
        wanted = reference.parse(written)
        place = endpoint.of(wanted.registry, mirrors.parse(text))
        path = f"{place.path(wanted.repository)}/manifests/{wanted.wanted}"
        assert address == f"{place.schemes[0]}://{place.host}/v2/{path}"
    assert f"`{endpoint.of('ghcr.io', mirrors.parse(text))}`" in AIR_GAPPED


@pytest.mark.parametrize("file", FILES)
def test_links_between_the_guides_lead_somewhere(file: str) -> None:
    for target, anchor in re.findall(r"\]\(([\w.-]+\.md)(?:#([\w-]+))?\)", (GUIDES / file).read_text()):
        headings = re.findall(r"^#+ (.*)$", (GUIDES / target).read_text(), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors
