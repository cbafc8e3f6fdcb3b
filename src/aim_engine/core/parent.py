"""The AIM object for which others are made."""

import msgspec

from aim_engine.api import names
from aim_engine.core.derived_name import label_value
from aim_engine.objects import Manifest, ObjectMeta


class Parent(msgspec.Struct, frozen=True):
    """The object a pass is about, as its children need to know it."""

    kind: str
    controller: str
    """Key of its controller, such as `service-template`."""
    metadata: ObjectMeta

    @property
    def field_owner(self) -> str:
        """Under what name its children are written."""
        return names.field_owner(self.controller)

    @property
    def name_label(self) -> tuple[str, str]:
        """Key and value of the label by which its children are found."""
        return names.parent_label(self.controller), label_value(self.metadata.name) or "unnamed"

    @property
    def owner_reference(self) -> Manifest:
        return {
            "apiVersion": names.API_VERSION,
            "kind": self.kind,
            "name": self.metadata.name,
            "uid": self.metadata.uid,
            "controller": True,
        }

    def may_own(self, child: Manifest) -> bool:
        """Kubernetes collects children of the same namespace, or of a cluster-scoped parent."""
        own = self.metadata.namespace
        return not own or child.get("metadata", {}).get("namespace") == own
