"""Notices that a ConfigMap or Secret changed, by one watch of metadata for each kind, so that mounted files follow."""

import asyncio
from collections.abc import Callable

from aim_engine.kube.client import Client
from aim_engine.kube.informer import Informer
from aim_engine.kube.selection import PartialObject
from aim_engine.kube.store import Change
from aim_engine.local.node.api_server import CONFIG_MAPS, SECRETS
from aim_engine.local.node.environment import Kind, Reference

Changed = Callable[[str, Reference], None]
"""Takes the namespace and the object that changed."""


class Sources:
    """Tells of every change; what the objects hold is never kept here."""

    def __init__(self, client: Client, changed: Changed) -> None:
        self._changed = changed
        self._config_maps = Informer(client, CONFIG_MAPS, PartialObject, metadata_only=True)
        self._secrets = Informer(client, SECRETS, PartialObject, metadata_only=True)
        self._config_maps.listen(lambda change: self._tell("ConfigMap", change))
        self._secrets.listen(lambda change: self._tell("Secret", change))

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in (self._config_maps, self._secrets):
                group.create_task(informer.run(), name=informer.name)

    def _tell(self, kind: Kind, change: Change[PartialObject]) -> None:
        self._changed(change.key.namespace, Reference(kind, change.key.name))
