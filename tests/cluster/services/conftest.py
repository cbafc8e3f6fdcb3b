"""What stories of services share."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.api_server import ApiServer
from tests.cluster.services.serving import Serving
from tests.downloader import stage


@pytest.fixture
def serving(api_server: ApiServer, namespace: str, tmp_path: Path) -> Iterator[Serving]:
    """A namespace with a model, and a hub with its weights."""
    with stage.hub(tmp_path / "hub") as hub:
        made = Serving(api_server, namespace, hub)
        made.model()
        yield made
