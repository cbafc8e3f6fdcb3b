"""A service as everything that decides about it takes it."""

import msgspec

from aim_engine.api import kinds
from aim_engine.api.service import AIMService, AIMServiceSpec, AIMServiceStatus
from aim_engine.objects import Manifest, ObjectMeta


class Service(msgspec.Struct, frozen=True):
    """A service, complete: the pipeline lets none through that has no spec."""

    metadata: ObjectMeta
    spec: AIMServiceSpec
    status: AIMServiceStatus
    """Blank before the first pass."""

    @property
    def manifest(self) -> Manifest:
        """The object as the API server shows it."""
        return kinds.manifest(AIMService(metadata=self.metadata, spec=self.spec, status=self.status))


def of(item: AIMService) -> Service:
    """The object, narrowed once."""
    assert item.spec is not None
    return Service(item.metadata, item.spec, item.status or AIMServiceStatus())
