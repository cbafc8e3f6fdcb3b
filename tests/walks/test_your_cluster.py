"""What pages say of their reader's cluster, done command by command, manifests applied where they stand."""

from collections.abc import Iterator

import pytest
from tests.walks import your_cluster
from tests.walks.pages import with_manifests
from tests.walks.shell import Shell

WALKS = (
    "docs/guides/caching.md",
    "docs/guides/downloading-weights.md",
    "docs/guides/private-registries.md",
    "docs/guides/air-gapped.md",
    "docs/reference/labels.md",
    "docs/troubleshooting.md",
    "docs/guides/routing.md",
    "docs/guides/autoscaling.md",
)
"""All but the first two take nothing for granted but the quickstart; troubleshooting looks at what caching made."""

pytestmark = pytest.mark.xdist_group("your cluster")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A shell at a cluster of one's own, after the quickstart."""
    with your_cluster.reader(tmp_path_factory.mktemp("reader")) as walking:
        for command in with_manifests("docs/quickstart.md", "On your cluster"):
            walking.run(command)
        yield walking


@pytest.mark.parametrize("page", WALKS)
def test_every_command_of_the_page_does_what_the_page_says(page: str, reader: Shell) -> None:
    for command in with_manifests(page):
        reader.run(command)
